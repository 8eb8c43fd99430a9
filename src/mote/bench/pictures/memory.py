"""Memory map of a plan: contents of the arena by address and time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from mote.base.text import SHORT, cut
from mote.compiler.plan.memory.arena import most_live
from mote.compiler.plan.memory.plan_bound import bound
from mote.compiler.plan.memory.traffic import in_one, traffic
from mote.compiler.plan.plan import Buffer, Cell, Plan, Role, Step
from mote.ir.graph import Tensor


class HoldingKind(StrEnum):
    """The kind of contents of a holding."""

    TENSOR = "tensor"
    SUMS = "sums"
    SCRATCH = "scratch"


@dataclass(frozen=True)
class Holding:
    """A named block of memory: rows of a tensor, accumulators or scratch of an operator."""

    name: str
    role: HoldingKind
    cells: tuple[Cell, ...]
    buffer: Buffer | None = None
    """Buffer of the tensor; None for accumulators and scratch."""
    number: str = ""
    """Layer number of accumulators or scratch; empty for tensors."""
    short: str = ""
    """Short name of the layer that computes the tensor, or that uses the accumulators or scratch."""

    @property
    def memory(self) -> int:
        """Index of the memory that contains it."""
        return self.cells[0].memory

    @property
    def label(self) -> str:
        return self._called(self.name)

    @property
    def short_label(self) -> str:
        return self._called(self.short)

    def _called(self, name: str) -> str:
        return name if self.role is HoldingKind.TENSOR else f"{self.role} of #{self.number} {name}"

    @property
    def first(self) -> int:
        return min(c.first for c in self.cells)

    @property
    def last(self) -> int:
        return max(c.last for c in self.cells)

    @cached_property
    def peak(self) -> int:
        """Maximum live bytes at any step."""
        return most_live(self.cells)

    @property
    def stored(self) -> str:
        """How its rows are stored, in words."""
        if self.buffer is None or self.buffer.base is not None:
            return f"linear at {min(c.offset for c in self.cells):,}"
        period = ring(self.buffer.offsets)
        if period is not None:
            return f"ring of {period}"
        places = len({o for o in self.buffer.offsets if o is not None})
        return f"table, {places} places"

    @cached_property
    def boxes(self) -> tuple[LifetimeBox, ...]:
        """Its cells as boxes; adjacent cells with equal lifetimes are merged."""
        merged: list[LifetimeBox] = []
        for c in sorted(self.cells, key=lambda c: (c.first, c.last, c.offset)):
            before = merged[-1] if merged else None
            if before and (before.first, before.last, before.end) == (c.first, c.last, c.offset):
                merged[-1] = LifetimeBox(before.offset, c.end, c.first, c.last, (*before.rows, c.row))
            else:
                merged.append(LifetimeBox(c.offset, c.end, c.first, c.last, (c.row,)))
        return tuple(merged)


@dataclass(frozen=True)
class LifetimeBox:
    """Bytes `offset` to `end` - 1, live from step `first` to step `last` inclusive."""

    offset: int
    end: int
    first: int
    last: int
    rows: tuple[int, ...]


@dataclass(frozen=True)
class MemoryMap:
    """The arenas of a plan over time, one per memory. Step -1 is the caller before the run, step `steps` the caller
    after it."""

    plan: Plan

    @cached_property
    def holdings(self) -> tuple[Holding, ...]:
        """Holdings in order of first use."""
        cells: dict[tuple[object, ...], list[Cell]] = {}
        for c in self.plan.cells:
            key = ("tensor", c.tensors[0]) if c.role is Role.ROW else (c.role, self.plan.steps[c.first].ops)
            cells.setdefault(key, []).append(c)
        unsorted = [self._holding(tuple(group)) for group in cells.values()]
        return tuple(
            sorted(unsorted, key=lambda h: (h.first, h.role is HoldingKind.SCRATCH, min(c.offset for c in h.cells)))
        )

    def _holding(self, cells: tuple[Cell, ...]) -> Holding:
        c = cells[0]
        if c.role is Role.ROW:
            tensor = self.plan.graph.tensors[c.tensors[0]]
            kept = self.plan.place[tensor.id]
            return Holding(tensor.name, HoldingKind.TENSOR, cells, kept, short=self._short_name(tensor))
        step = self.plan.steps[c.first]
        op, number = self.plan.op(step), self.plan.number(step)
        return Holding(op.name, HoldingKind(c.role), cells, number=number, short=self.plan.graph.short_name(op))

    def _short_name(self, tensor: Tensor) -> str:
        """Short name of the layer that computes a tensor (with an index if it has several outputs), or the input's
        name."""
        maker = self.plan.graph.producers.get(tensor.id)
        if maker is None:
            return cut(tensor.name, SHORT)
        several = f":{maker.outputs.index(tensor.id)}" if len(maker.outputs) > 1 else ""
        return self.plan.graph.short_name(maker) + several

    @cached_property
    def live(self) -> dict[int, int]:
        """Live bytes at each step."""
        return {step: sum(n for _, n in self._shares(step)) for step in range(-1, len(self.plan.steps) + 1)}

    @property
    def peak(self) -> int:
        """Maximum live bytes at any step."""
        return max(self.live.values())

    @property
    def peak_step(self) -> int:
        return max(self.live, key=lambda step: self.live[step])

    def held(self, step: int) -> list[tuple[Holding, int]]:
        """Live bytes of each holding at a step, largest first. Bytes that a kernel overwrites in place count for its
        output."""
        total = [0] * len(self.holdings)
        for i, n in self._shares(step):
            total[i] += n
        return sorted(((h, n) for h, n in zip(self.holdings, total, strict=True) if n), key=lambda x: -x[1])

    def _shares(self, step: int) -> Iterator[tuple[int, int]]:
        """Live bytes of each holding at a step, cell by cell."""
        cells = [(c, i) for i, h in enumerate(self.holdings) for c in h.cells if c.first <= step <= c.last]
        reached = [0] * len(self.plan.arenas)
        for c, i in sorted(cells, key=lambda x: (x[0].offset, -x[0].first)):
            yield i, max(0, c.end - max(c.offset, reached[c.memory]))
            reached[c.memory] = max(reached[c.memory], c.end)

    @property
    def gap(self) -> int:
        """Bytes of the arena above the lower bound."""
        return max(self.plan.arena - self.bound, 0)

    @cached_property
    def bound(self) -> int:
        """Lower bound of the arena's bytes over all plans."""
        return bound(self.plan)

    def name(self, memory: int) -> str:
        """The name of a memory; empty where there is only one."""
        return self.plan.memories[memory].name if self.plan.memories else ""


def traffic_lines(plan: Plan) -> list[str]:
    """Lines on the traffic of each memory and estimated waits for it, if the arena spans several memories."""
    parts = traffic(plan)
    if len(parts) < 2:
        return []
    lines = [f"{t.accessed:,} bytes of {t.memory.name}" for t in parts]
    said = [f"traffic: an inference reads and writes {', '.join(lines)}"]
    slowest = in_one(parts, parts[-1].memory)
    if slowest.waits:
        waits = sum(t.waits for t in parts)
        said.append(
            f"waits for RAM: about {waits:,} cycles beside the estimate, by the {slowest.memory.name} of the target;"
            f" {slowest.waits:,} with all of the arena there"
        )
    return said


def ring(offsets: tuple[int | None, ...]) -> int | None:
    """Period of a ring buffer's row offsets; None if they are not periodic."""
    for period in range(1, len(offsets)):
        pairs = zip(offsets, offsets[period:], strict=False)
        if all(a == b or a is None or b is None for a, b in pairs):
            return period
    return None


def direction(steps: tuple[Step, ...]) -> str | None:
    """The direction in which an operator's rows are computed; None for a single step."""
    places = [s.rows.lo if s.tap is None else s.tap for s in steps]
    if len(places) == 1:
        return None
    return "down" if places[0] < places[-1] else "up"
