"""Cycle models: how many cycles a core takes for a basic block of instructions, and for the transition to the next.

Memory has no wait states here: `measure.profiler.waits` adds them. docs/measure/profiling.md has the rules with their
sources. Data-dependent timing that a trace does not show counts with its maximum: divisions, long multiplications on a
Cortex-M3, and loads in an IT block, as if executed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from mote.hardware.cores.instructions import Task, Timed

Block = Sequence[Timed]


@dataclass(frozen=True)
class CycleModel:
    """Timing of a core. `block`: cycles of a basic block without its transition; `join`: extra cycles between the end
    of one block and the start of another, given whether by a jump, negative if they overlap; `estimate`: no manual
    states this timing."""

    name: str
    source: str
    estimate: bool
    block: Callable[[Block], int]
    join: Callable[[Timed, Timed, bool], int]

    def between(self, before: Timed, after: Timed) -> int:
        """Extra cycles from the last instruction of a block to the first of the next."""
        return self.join(before, after, before.end != after.at)


@dataclass(frozen=True)
class CycleTable:
    """Timing of a core that executes instructions one by one. `cycles`: by task, 1 for those not listed; `words`:
    cycles of a multi-word transfer in addition to one for each word; `taken`: extra cycles for writing the program
    counter, by task, `taken_else` for others; `pairs`: extra cycles of an instruction after another."""

    cycles: Mapping[Task, int]
    words: int
    taken: Mapping[Task, int]
    taken_else: int
    pairs: Callable[[Timed, Timed], int] = field(default=lambda before, i: 0)

    def alone(self, i: Timed) -> int:
        if i.task in (Task.LOADS, Task.STORES):
            return self.words + i.words
        cycles = self.cycles.get(i.task, 1)
        if i.task == Task.STORE and not is_quick(i):
            cycles = self.cycles.get(Task.LOAD, 1)
        return max(cycles, i.words) if i.task == Task.VECTOR_MEMORY else cycles + self._more(i)

    @staticmethod
    def _more(i: Timed) -> int:
        """Extra cycles of an access for each word after the first one."""
        return i.words - 1 if i.task in (Task.LOAD, Task.STORE) and i.words > 1 else 0

    def block(self, block: Block) -> int:
        inside = sum(self.pairs(a, b) for a, b in pairwise(block))
        return inside + sum(map(self.alone, block))

    def join(self, before: Timed, after: Timed, jumped: bool) -> int:
        if jumped and before.flow.jumps:
            return self.taken.get(before.task, self.taken_else)
        return self.pairs(before, after)

    def model(self, name: str, source: str, *, estimate: bool = False) -> CycleModel:
        return CycleModel(name, source, estimate, self.block, self.join)


def is_quick(i: Timed) -> bool:
    """Whether a store leaves the pipeline at once: its address is one register plus a constant."""
    return i.task == Task.STORE and len(i.address) == 1 and not i.name.startswith("v")
