"""Costs of a function's calls, from executed basic blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum, auto
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.base.integers import weighted
from mote.bench.measure.profiler.instructions import cycle_model, disassemble
from mote.bench.measure.profiler.result import NO_WAITS, FunctionCost, Mix, Slow, share_of
from mote.bench.measure.profiler.trace import FlashLoads, Trace, calls, cut
from mote.bench.measure.profiler.waits import Waits, simulate
from mote.bench.measure.profiler.zones import zones
from mote.hardware.cores.board import Board
from mote.hardware.cores.cycles import CycleModel
from mote.hardware.cores.instructions import ACCESSES, MULTIPLIES, Timed
from mote.hardware.targets import Target
from mote.hardware.toolchain.machine_code import ElfCode

_STEP = re.compile(r"mote_step_(\d+)_\d+")


class InstructionKind(Enum):
    """Kinds of instructions that `Mix` distinguishes."""

    MULTIPLY = auto()
    MEMORY = auto()
    OTHER = auto()


Counts = list[tuple[int, int]]
"""(block, number of executions)."""
Edges = list[tuple[int, int, int]]
"""(block, next block, number of transitions)."""


@dataclass(frozen=True)
class Cost:
    """Costs of executed code; `cycles` include `waits`."""

    instructions: int = 0
    cycles: int = 0
    waits: Slow = NO_WAITS
    mix: Mix | None = None
    functions: tuple[str, ...] = ()

    @property
    def work(self) -> dict[str, float]:
        """Cycles and bytes by kind of work, as energy models need them; undistinguished cycles count as other."""
        waited = self.waits.code + self.waits.constants
        mix = self.mix or Mix(other=self.cycles - waited)
        return {**asdict(mix), "wait": waited, "flash_byte": self.waits.fetched}


@dataclass(frozen=True)
class TracedRun:
    """A completed run of a program."""

    code: ElfCode
    traced: Trace
    target: Target
    board: Board
    """The simulated board that it was linked for."""
    sections: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Start and end address by section, needed for parts with several flash memories."""
    outputs: Sequence[bytes] = ()
    """Outputs of the model, if the program is one of Mote's."""

    def region(self, entry: str) -> TracedCalls:
        """Trace of all calls of a function."""
        traced = cut(self.traced, borders(self.code))
        blocks = disassemble(self.code, traced.blocks)
        returns = {n: b[-1].end for n, b in enumerate(blocks) if b and b[-1].flow.calls}
        where = f"{self.code.elf}: {entry}"
        spans = calls(traced, self.code.functions[entry], returns, where)
        if not spans:
            said = f" (it said: {traced.said[-200:]})" if traced.said else ""
            raise MoteError("was not called", where=where, remedy=f"see why the program ended before that{said}")
        slow = simulate(blocks, traced.order, traced.loads, zones(self.target, self.board, self.code, self.sections))
        known = traced.loads is not None
        marks = dict(_marks(self.code))
        cycles = traced.cycles
        ran = (blocks, traced.order, spans, marks, slow, known, cycles, traced.loads)
        return TracedCalls(self.code, self.target, entry, *ran)


def _marks(code: ElfCode) -> list[tuple[int, int]]:
    """Addresses of marker nops with the step that each ends."""
    return [(at, int(m[1])) for at, name in code.labels if (m := _STEP.match(name))]


def borders(code: ElfCode) -> set[int]:
    """Addresses of marker nops and of the instructions after them."""
    marks = {at for at, _ in _marks(code)}
    return marks | {at + code.instruction(at).size for at in marks}


@dataclass(frozen=True)
class TracedCalls:
    """Calls of a function: `spans` are their first and last positions in the `order` of blocks."""

    code: ElfCode
    target: Target
    entry: str
    blocks: list[list[Timed]]
    order: NDArray[np.int32]
    spans: list[tuple[int, int]]
    marks: dict[int, int]
    """Step ended by the marker nop at each address."""
    slow: Waits
    loads_known: bool
    measured: NDArray[np.int64] | None = None
    """Cycles of each executed block from RTL simulation; None if modelled."""
    loads: FlashLoads | None = None
    """Loads from read-only memory; None if unknown."""

    @cached_property
    def core(self) -> CycleModel:
        return cycle_model(self.target)

    @cached_property
    def inside(self) -> list[Cost]:
        """Costs of each block in isolation, without wait states."""
        return [Cost(len(b), self.core.block(b)) for b in self.blocks]

    def cost(self) -> Cost:
        return self._sum(self.spans)

    def _sum(self, spans: Sequence[tuple[int, int]]) -> Cost:
        """Costs of all blocks in these spans, including transitions between them."""
        ran, edges = self._ran(spans), self._edges(spans)
        instructions = sum(n * self.inside[b].instructions for b, n in ran)
        cycles = sum(self._spent(spans, ran, edges).values())
        waits = Slow(*(sum(int(counts[lo:hi].sum()) for lo, hi in spans) for counts in _each(self.slow)))
        functions = {self.code.names[self.code.start(self.blocks[b][0].at)] for b, _ in ran if self.blocks[b]}
        return Cost(
            instructions,
            cycles + waits.code + waits.constants,
            waits,
            self._mix(cycles, ran, edges),
            tuple(sorted(functions)),
        )

    def _mix(self, cycles: int, ran: Counts, edges: Edges) -> Mix | None:
        """Cycles by kind of instruction; None if the decoder does not distinguish them."""
        if not self.code.machine.disassembler:
            return None
        parts = Counter[InstructionKind]()
        for b, n in ran:
            for kind, spent in self._kinds[b]:
                parts[kind] += n * spent
        for a, b, n in edges:
            before, after = self.blocks[a][-1], self.blocks[b][0]
            parts[InstructionKind.OTHER if before.end != after.at else _kind(after)] += n * self._join(a, b)
        whole = max(sum(parts.values()), 1)
        multiply, memory = (
            round(cycles * max(parts[kind], 0) / whole) for kind in (InstructionKind.MULTIPLY, InstructionKind.MEMORY)
        )
        return Mix(multiply, memory, cycles - multiply - memory)

    @cached_property
    def _kinds(self) -> list[list[tuple[InstructionKind, int]]]:
        """Cycles of each block by kind of instruction, each instruction after its predecessor."""
        block = self.core.block
        return [
            [
                *((_kind(i), block([i])) for i in instructions[:1]),
                *((_kind(i), block([before, i]) - block([before])) for before, i in pairwise(instructions)),
            ]
            for instructions in self.blocks
        ]

    def modelled(self) -> int:
        """Modelled cycles of all calls, without wait states."""
        ran, edges = self._ran(self.spans), self._edges(self.spans)
        return sum(replace(self, measured=None)._spent(self.spans, ran, edges).values())

    def _spent(self, spans: Sequence[tuple[int, int]], ran: Counts, edges: Edges) -> Counter[int]:
        """Cycles of each block including its outgoing transitions, without wait states."""
        if self.measured is not None:
            order, cycles = (np.concatenate([x[lo:hi] for lo, hi in spans]) for x in (self.order, self.measured))
            return Counter(dict(enumerate(weighted(order, cycles).astype(np.int64).tolist())))
        spent = Counter({b: n * self.inside[b].cycles for b, n in ran})
        for a, b, n in edges:
            spent[a] += n * self._join(a, b)
        return spent

    def _ran(self, spans: Sequence[tuple[int, int]]) -> Counts:
        """(block, number of executions)."""
        blocks, counts = np.unique(np.concatenate([self.order[lo:hi] for lo, hi in spans]), return_counts=True)
        return list(zip(blocks.tolist(), counts.tolist(), strict=True))

    def _edges(self, spans: Sequence[tuple[int, int]]) -> Edges:
        """(block, next block, number of transitions)."""
        size = len(self.blocks)
        parts = [self.order[lo:hi][: len(self.order) - lo - 1] for lo, hi in spans]
        nexts = [self.order[lo + 1 : hi + 1] for lo, hi in spans]
        keys = np.concatenate(parts).astype(np.int64) * size + np.concatenate(nexts)
        pairs, counts = np.unique(keys, return_counts=True)
        return [(int(k) // size, int(k) % size, int(n)) for k, n in zip(pairs, counts, strict=True)]

    def _join(self, a: int, b: int) -> int:
        return self.core.between(self.blocks[a][-1], self.blocks[b][0])

    def step_spans(self, count: int) -> list[list[tuple[int, int]]]:
        """Block ranges of each step of a build with markers, from one marker to the next; code after the last marker
        belongs to no step."""
        spans: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        of_block = np.array([self.marks.get(b[0].at, -1) for b in self.blocks], np.int32)
        for lo, hi in self.spans:
            start = lo
            steps = of_block[self.order[lo:hi]]
            for at in np.flatnonzero(steps >= 0).tolist():
                spans[steps[at]].append((start, lo + at))
                start = lo + at + 1
        return spans

    def steps(self, count: int) -> list[Cost]:
        """Costs of each step of a build with markers."""
        return [self._sum(span) if span else Cost() for span in self.step_spans(count)]

    def functions(self) -> list[FunctionCost]:
        """Costs of every executed function, most expensive first."""
        calls, instructions, cycles = Counter[int](), Counter[int](), Counter[int]()
        starts = [self.code.start(b[0].at) for b in self.blocks]
        ran, edges = self._ran(self.spans), self._edges(self.spans)
        for b, n in ran:
            instructions[starts[b]] += n * self.inside[b].instructions
        for b, n in self._spent(self.spans, ran, edges).items():
            cycles[starts[b]] += n
        for a, b, n in edges:
            if self.blocks[b][0].at == starts[b] and (self.blocks[a][-1].flow.calls or starts[a] != starts[b]):
                calls[starts[b]] += n
        calls[self.code.functions[self.entry]] += len(self.spans)
        waits = self._waits_of(np.array(starts, np.int64))
        total = sum(cycles.values()) + sum(w.code + w.constants for w in waits.values())
        names = self.code.names
        costs = []
        for f, n in cycles.items():
            slow = waits.get(f, NO_WAITS)
            n += slow.code + slow.constants
            costs.append(FunctionCost(names[f], calls[f], instructions[f], n, share_of(n, total), slow))
        return sorted(costs, key=lambda f: (-f.cycles, f.name))

    def _waits_of(self, starts: NDArray[np.int64]) -> dict[int, Slow]:
        """Wait states by function, given the function of each block."""
        own, which = np.unique(
            np.concatenate([starts[self.order[lo:hi]] for lo, hi in self.spans]), return_inverse=True
        )
        sums = [
            weighted(which, np.concatenate([counts[lo:hi] for lo, hi in self.spans]), len(own)).astype(np.int64)
            for counts in _each(self.slow)
        ]
        return {int(f): Slow(*map(int, totals)) for f, *totals in zip(own, *sums, strict=True)}


def _kind(i: Timed) -> InstructionKind:
    return (
        InstructionKind.MULTIPLY
        if i.task in MULTIPLIES
        else InstructionKind.MEMORY
        if i.task in ACCESSES
        else InstructionKind.OTHER
    )


def _each(slow: Waits) -> tuple[NDArray[np.int64], ...]:
    """Per-block arrays in the field order of `Slow`."""
    return slow.code, slow.data, slow.loaded, slow.fetched
