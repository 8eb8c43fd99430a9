"""The cycle models: how many cycles a core takes for a block of instructions, and for going from one to the next.

Memory has no wait states here: `measure.profiler.waits` adds them. docs/measure/profiling.md has the rules
with their sources. What depends on data that a trace does not show is counted at its most: divisions, long
multiplications on a Cortex-M3, loads of an IT block as if executed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from mote.hardware.cores.instructions import Task, Timed

Block = Sequence[Timed]


@dataclass(frozen=True)
class CycleModel:
    """`block`: cycles of a block by itself, jumping aside. `join`: what it takes to get from the end of one to the
    start of another, given whether by a jump; less than nothing where the two overlap."""

    name: str
    source: str
    estimate: bool
    block: Callable[[Block], int]
    join: Callable[[Timed, Timed, bool], int]

    def between(self, before: Timed, after: Timed) -> int:
        """Cycles to get from the last instruction of a block to the first of the next."""
        return self.join(before, after, before.end != after.at)


@dataclass(frozen=True)
class CycleTable:
    """A core that takes one instruction after another. `cycles` by task; every task that is not there takes one.
    `words`: of transfers of several words, on top of one for each. `taken`: on top when the program counter is
    written, by task, or `taken_else`."""

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
        """For each word after the first one."""
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
    """Stores whose address is a register and a constant leave the pipeline at once."""
    return i.task == Task.STORE and len(i.address) == 1 and not i.name.startswith("v")
