"""Schedule -> Plan: computes the live ranges of rows and scratch buffers, and allocates them in the tensor arena.

Example: in CONV, POOL, FULLY_CONNECTED by rows, each row of CONV is an item of its own with its live range, and its
buffer a table of offsets. FULLY_CONNECTED runs whole, so that all rows of POOL, which it reads, are one item:
contiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from mote.compiler.kernels.contract import Call, Packed, aligned
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.memory.arena import Item, LiveRange, Overlays, padding, place
from mote.compiler.plan.plan import Buffer, Cell, Plan, Role, Step
from mote.compiler.plan.scheduling.rows import RowGraph, RowStorage
from mote.compiler.plan.scheduling.schedule import Run, Schedule
from mote.compiler.plan.selection.request import Lowering
from mote.ir.graph.region import Numbers

KernelOf = Callable[[Numbers, bool], Packed]
"""Callback: the kernel of operators, whether they run whole or by rows."""
APART = 1.01
"""Rows that one step writes are contiguous, unless the arena is larger by at least this factor than with each placed
for itself, which takes a table of offsets in flash."""


@dataclass(frozen=True)
class PlacedPlan:
    """A plan with addresses, and the row graph and the schedule from which it was made."""

    rows: RowGraph
    schedule: Schedule
    plan: Plan


def arrange(
    rows: RowGraph,
    schedule: Schedule,
    kernel_of: KernelOf,
    how: Lowering,
    goal: Goal,
    *,
    bottom_up: bool = False,
) -> PlacedPlan:
    """Allocates the rows and scratch buffers of a schedule in the tensor arena, with a red zone around each if the goal
    asks for one."""
    kernels = [kernel_of(rows.works[run.node.op].ops, run.whole) for run in schedule.runs]
    arrangement = Arrangement(rows, schedule, kernels)
    if not goal.zone:
        arrangement, offsets = _smaller(arrangement, Arrangement(rows, schedule, kernels, apart=True))
    else:
        zone = aligned(goal.zone, max((item.alignment for item in arrangement.items), default=1))
        zoned = [_zoned(item, zone) for item in arrangement.items]
        offsets = [at + zone for at in place(zoned, {}, schedule.peak)]
    buffers, steps, cells = arrangement.placed(offsets, [0] * len(offsets))
    plan = Plan(rows.graph, how, goal, steps, buffers, cells, schedule.peak, bottom_up)
    return PlacedPlan(rows, schedule, plan)


def _smaller(together: Arrangement, apart: Arrangement) -> tuple[Arrangement, list[int]]:
    """The better of two arrangements, with the offsets of its items: with the rows of one step contiguous, or with each
    row apart (see APART)."""
    offsets, end, enough = _offsets(together)
    if end <= enough or len(apart.items) == len(together.items):
        return together, offsets
    other, other_end, _ = _offsets(apart)
    return (apart, other) if APART * other_end <= end else (together, offsets)


def _offsets(arrangement: Arrangement) -> tuple[list[int], int, int]:
    """The offsets of the items, the size of the arena, and the size that is good enough to try no other order."""
    items, peak = arrangement.items, arrangement.schedule.peak
    enough = peak + padding(items)
    offsets = place(items, arrangement.overlays(), peak, enough=enough)
    return offsets, max((at + item.nbytes for at, item in zip(offsets, items, strict=True)), default=0), enough


def _zoned(item: Item, zone: int) -> Item:
    """The item with red zones of `zone` bytes at both ends, which live as long as the data next to them."""
    first, last = min(p.at for p in item.ranges), max(_end(p) for p in item.ranges)
    return Item(
        tuple(
            LiveRange(
                p.at + (0 if p.at == first else zone),
                p.nbytes + zone * ((p.at == first) + (_end(p) == last)),
                p.first,
                p.last,
            )
            for p in item.ranges
        ),
        item.alignment,
    )


class Arrangement:
    """The items to allocate for a schedule (rows and scratch buffers with their live ranges), and the plan's buffers,
    steps and cells for given offsets of the items. Rows that one step writes are one item, unless `apart`."""

    def __init__(self, rows: RowGraph, schedule: Schedule, kernels: Sequence[Packed], *, apart: bool = False) -> None:
        self.rows, self.schedule, self.runs, self.kernels = rows, schedule, schedule.runs, kernels
        self.apart = apart
        self.first = dict.fromkeys(rows.resident, -1)
        self.last: dict[int, int] = {}
        for step, run in enumerate(self.runs):
            self.first.update(dict.fromkeys(run.node.writes, step))
            self.last.update(dict.fromkeys(run.node.reads, step))
        self.last.update(dict.fromkeys(rows.kept, len(self.runs)))
        self.partners: dict[int, list[int]] = {}
        """By row: the rows that may share its address, as an operator that runs whole overwrites one with the other."""
        for a, b in (pair for run in self.runs for pair in run.node.pairs):
            self.partners.setdefault(a, []).append(b)
            self.partners.setdefault(b, []).append(a)
        self.items: list[Item] = []
        self.home: dict[int, tuple[int, int, int]] = {}
        """By row: its item, the index of its live range there, and its offset in the item."""
        whole = [rows.works[run.node.op].op for run in self.runs if run.whole]
        self.touched = {rows.place[t] for op in whole for t in (*op.inputs, *op.outputs) if t in rows.place}
        """Storages of inputs and outputs of operators that run whole: their rows are contiguous."""
        self.scratch: dict[int, int] = {}
        """The item of each operator's scratch buffer, by index in `RowGraph.works`."""
        windows = [run.node.writes[0] for run, k in zip(self.runs, kernels, strict=True) if k.entry.call is Call.RING]
        storages = [rows.storages[rows.storage_of[r]] for r in windows]
        self.rings = {(storage.memory, storage.kept): n for n, storage in enumerate(storages)}
        """The number of each ring buffer, by memory and offset."""
        for i in range(len(rows.storages)):
            self._add_storage(i)
        self._add_scratch()

    def placed(
        self, offsets: Sequence[int], memory: Sequence[int]
    ) -> tuple[tuple[Buffer, ...], tuple[Step, ...], tuple[Cell, ...]]:
        """The plan's buffers, steps and cells, given the offset and the memory of each item; all items of a storage are
        in one memory."""
        buffers = tuple(self._buffer(i, offsets, memory) for i in range(len(self.rows.storages)))
        steps = tuple(self._step(i, run, buffers, offsets, memory) for i, run in enumerate(self.runs))
        cells = (*self._cells(buffers), *self._scratch_cells(offsets, memory))
        return buffers, steps, cells

    def _live_range(self, row: int) -> tuple[int, int]:
        """The steps of a row's first write and last read."""
        first = self.first[row]
        return first, max(self.last.get(row, first), first)

    def _live_ranges(self, row: int) -> list[tuple[int, int]]:
        """The live ranges of a row and of all rows that may share its address. Adjacent rows with equal ones are merged
        into one live range of their item."""
        same = [row]
        for r in same:
            same += (partner for partner in self.partners.get(r, ()) if partner not in same)
        return [self._live_range(r) for r in same if r in self.first]

    def _add_storage(self, i: int) -> None:
        storage = self.rows.storages[i]
        existing = [r for r in storage.ids if r in self.first]
        if not existing or storage.kept is not None:
            return
        if storage.linear or i in self.touched:
            self._add_contiguous(storage, existing, storage.first, storage.row_bytes)
            return
        for _, rows in groupby(existing, key=lambda r: r if self.apart else self.first[r]):
            together = list(rows)
            nbytes = aligned(storage.row_bytes) if together[1:] else storage.row_bytes
            self._add_contiguous(storage, together, together[0], nbytes)

    def _add_contiguous(self, storage: RowStorage, existing: Sequence[int], origin: int, nbytes: int) -> None:
        """Adds contiguous rows as one item: `nbytes` each, row `origin` at offset 0."""
        ranges: list[LiveRange] = []
        before: list[tuple[int, int]] = []
        for r in existing:
            at, live_ranges = (r - origin) * nbytes, self._live_ranges(r)
            if live_ranges == before and _end(ranges[-1]) == at:
                ranges[-1] = replace(ranges[-1], nbytes=ranges[-1].nbytes + nbytes)
            else:
                ranges.append(LiveRange(at, nbytes, *live_ranges[0]))
            before = live_ranges
            self.home[r] = (len(self.items), len(ranges) - 1, at)
        self.items.append(Item(tuple(ranges), storage.alignment))

    def _add_scratch(self) -> None:
        """Adds one item per operator for its scratch buffer, live only during the operator's steps."""
        steps: dict[int, list[int]] = {}
        for step, kernel in enumerate(self.kernels):
            if kernel.needs.scratch:
                steps.setdefault(self.runs[step].node.op, []).append(step)
        for op, own_steps in steps.items():
            nbytes = self.kernels[own_steps[0]].needs.scratch or 0
            self.scratch[op] = len(self.items)
            ranges = tuple(LiveRange(0, nbytes, lo, hi) for lo, hi in _spans(own_steps))
            self.items.append(Item(ranges, self.kernels[own_steps[0]].needs.alignment))

    def overlays(self) -> Overlays:
        """Live ranges that may share addresses although they overlap in time: an input row at its last read and the
        output row that overwrites it, or accumulators and the output row of their last step."""
        overlays: Overlays = {}
        for step, run in enumerate(self.runs):
            groups = [group for group in run.node.over if len(group) == len(run.node.writes)]
            matched = [pair for group in groups for pair in zip(run.node.writes, group, strict=True)]
            for w, r in (*run.node.pairs, *matched):
                (a, i, _), (b, j, _) = self.home[w], self.home[r]
                p, q = self.items[a].ranges[i], self.items[b].ranges[j]
                sums = self.kernels[step].entry.call is Call.ADDS
                if a != b and q.last == step == p.first and (p.nbytes == q.nbytes or sums):
                    overlays.setdefault((a, b), set()).add((i, j))
                    overlays.setdefault((b, a), set()).add((j, i))
        return overlays

    def _buffer(self, i: int, offsets: Sequence[int], memory: Sequence[int]) -> Buffer:
        storage = self.rows.storages[i]
        if storage.kept is not None:
            places = tuple(storage.kept + y * storage.row_bytes for y in range(storage.count))
            ring = self.rings.get((storage.memory, storage.kept))
            return Buffer(storage.tensors, storage.row_bytes, places, storage.layout, storage.memory, ring)
        homes = [self.home.get(r) for r in storage.ids]
        row_offsets = tuple(None if home is None else offsets[home[0]] + home[2] for home in homes)
        where = next((memory[home[0]] for home in homes if home is not None), 0)
        return Buffer(storage.tensors, storage.row_bytes, row_offsets, storage.layout, where)

    def _step(
        self, i: int, run: Run, buffers: tuple[Buffer, ...], offsets: Sequence[int], memory: Sequence[int]
    ) -> Step:
        work = self.rows.works[run.node.op]
        sums = self.rows.sums.get(run.node.op) if self.kernels[i].entry.call is Call.ADDS else None
        scratch = self.scratch[run.node.op] if self.kernels[i].needs.scratch else None
        return Step(
            work.ops,
            self.kernels[i],
            run.node.rows,
            run.whole,
            run.node.tap,
            None if sums is None else buffers[sums].offset,
            None if scratch is None else offsets[scratch],
            0 if sums is None else buffers[sums].memory,
            0 if scratch is None else memory[scratch],
        )

    def _cells(self, buffers: tuple[Buffer, ...]) -> list[Cell]:
        cells = []
        for storage, buffer in zip(self.rows.storages, buffers, strict=True):
            if storage.kept is not None:
                continue
            role = Role.ROW if storage.tensors else Role.SUMS
            for row, offset in enumerate(buffer.offsets):
                if offset is not None:
                    lives = self._live_range(storage.first + row)
                    cells.append(Cell(storage.tensors, row, storage.row_bytes, offset, *lives, role, buffer.memory))
        return cells

    def _scratch_cells(self, offsets: Sequence[int], memory: Sequence[int]) -> list[Cell]:
        cells = []
        for op, item in self.scratch.items():
            outputs = self.rows.works[op].op.outputs
            for live_range in self.items[item].ranges:
                where = offsets[item], live_range.first, live_range.last
                cells.append(Cell(outputs, 0, live_range.nbytes, *where, Role.SCRATCH, memory[item]))
        return cells


def _end(live_range: LiveRange) -> int:
    return live_range.at + live_range.nbytes


def _spans(steps: list[int]) -> list[tuple[int, int]]:
    """Merges ascending step numbers into intervals of consecutive steps."""
    spans: list[tuple[int, int]] = []
    for step in steps:
        if spans and spans[-1][1] == step - 1:
            spans[-1] = (spans[-1][0], step)
        else:
            spans.append((step, step))
    return spans
