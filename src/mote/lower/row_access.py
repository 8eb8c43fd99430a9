"""Which rows the steps of an operator compute, and which rows of its operands they read: by a formula, or listed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from mote.graph import Op, Tensor
from mote.graph.rows import OUTSIDE, row_count
from mote.plan.plan import Buffer, Plan, Step


@dataclass(frozen=True)
class Affine:
    """Which row a window's tap k reads at count n: start + n * step + k * spread, where the tensor has that row."""

    start: int
    step: int
    spread: int


def affine(samples: Iterable[tuple[int, int, int]], count: int | None = None) -> Affine | None:
    """The formula start + n * step + k * spread for samples (n, k, value); OUTSIDE stands for any value outside
    0..count-1. None where there is no such formula."""
    given = list(samples)
    known = [s for s in given if s[2] != OUTSIDE or count is None]
    if not known:
        return None
    n0, k0, v0 = known[0]
    spread = _slope([(k, v) for n, k, v in known if n == n0], 1)
    step = _slope([(n, v - (k - k0) * spread) for n, k, v in known], 0)
    formula = Affine(v0 - n0 * step - k0 * spread, step, spread)
    for n, k, v in given:
        expected = formula.start + n * step + k * spread
        if count is not None and not 0 <= expected < count:
            expected = OUTSIDE
        if expected != v:
            return None
    return formula


def _slope(points: Sequence[tuple[int, int]], default: int) -> int:
    x0, y0 = points[0]
    other = next(((x, y) for x, y in points if x != x0), None)
    return default if other is None else (other[1] - y0) // (other[0] - x0)


@dataclass(frozen=True)
class RowsOf:
    """The rows that the steps of an operator compute."""

    steps: tuple[Step, ...]

    @cached_property
    def group(self) -> int:
        """How many at once."""
        return max(s.rows.hi - s.rows.lo for s in self.steps)

    @cached_property
    def ys(self) -> list[int]:
        ys = [y for s in self.steps for y in range(s.rows.lo, s.rows.hi)]
        return ys if self.group == 1 else sorted(ys)

    @property
    def begins(self) -> list[int]:
        """The first row of each step."""
        return [s.rows.lo for s in self.steps]


@dataclass(frozen=True)
class Reading:
    """The rows of an operand that are read for each output row."""

    tensor: Tensor
    count: int
    """How many are read for an output row, at most."""
    listed: tuple[tuple[int, ...], ...]
    """Those that are read, for one output row after another."""
    formula: Affine | None

    @property
    def flat(self) -> list[int]:
        """All of `listed`, `count` for each output row."""
        return [r for rows in self.listed for r in (*rows, *[OUTSIDE] * (self.count - len(rows)))]


def window(plan: Plan, op: Op, position: int, rows: RowsOf) -> Reading:
    """What a kernel with a row function reads of an operand: the taps of a window, or what is joined."""
    tensor = op.input(plan.graph, position)
    reads = [op.reads(plan.graph, position, y) or () for y in rows.ys]
    count, have = max(map(len, reads)), row_count(tensor.shape)
    samples = [(y, k, r) for y, taken in zip(rows.ys, reads, strict=True) for k, r in enumerate(taken)]
    formula = affine(samples, have) if all(len(r) == count for r in reads) else None
    return Reading(tensor, count, tuple(reads), formula)


def windows(plan: Plan, op: Op, rows: RowsOf) -> Reading:
    """What a kernel reads that computes several rows at once: the rows under as many as it does."""
    kernel, tensor = rows.steps[0].kernel, op.input(plan.graph)
    have = row_count(tensor.shape)
    reads = [op.reads(plan.graph, 0, y) or () for y in rows.ys]
    formula = affine([(y, k, r) for y, read in zip(rows.ys, reads, strict=True) for k, r in enumerate(read)], have)
    assert formula is not None and formula.spread == 1, "kernels for several rows take plain windows only"
    return Reading(tensor, (kernel.group - 1) * formula.step + len(reads[0]), tuple(reads), formula)


def aligned_row(plan: Plan, op: Op, position: int, rows: RowsOf) -> Reading:
    """What a kernel without a row function reads of an operand: the row that each output row is made from."""
    tensor = op.input(plan.graph, position)
    reads = [(op.reads(plan.graph, position, y) or (0,))[0] for y in rows.ys]
    formula = affine([(y, 0, r) for y, r in zip(rows.ys, reads, strict=True)])
    return Reading(tensor, 1, tuple((r,) for r in reads), formula)


def added(plan: Plan, op: Op, steps: Sequence[Step]) -> tuple[list[int], Reading]:
    """The taps that are added to running sums, and the row of each."""
    tensor = op.input(plan.graph)
    taps = [s.tap for s in steps if s.tap is not None]
    read = op.reads(plan.graph, 0, 0) or tuple(range(row_count(tensor.shape)))
    formula = affine([(t, 0, read[t]) for t in taps])
    return taps, Reading(tensor, 1, tuple((read[t],) for t in taps), formula)


def view(plan: Plan, tensor: Tensor) -> Buffer:
    """The rows of a tensor; of a view of another shape, rows of that shape over the same memory."""
    buffer = plan.place[tensor.id]
    count = row_count(tensor.shape)
    if count == len(buffer.offsets):
        return buffer
    row = tensor.nbytes // count
    offsets = tuple(buffer.offset + y * row for y in range(count))
    return Buffer(buffer.tensors, row, offsets, buffer.layout, buffer.memory)
