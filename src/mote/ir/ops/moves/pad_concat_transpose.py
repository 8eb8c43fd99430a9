"""Operators that only copy elements: PAD, PADV2, TRANSPOSE, CONCATENATION, PACK.

None of them rescales: LiteRT copies quantized values as they are, and requires equal quantization for int8
concatenation. Elements are copied as bytes, so every type is supported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from weakref import WeakKeyDictionary

import numpy as np

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.ranges import Range
from mote.ir.graph.rows import OUTSIDE, inside, row_count
from mote.ir.graph.streaming import PaddingError, StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.pointwise import pointwise, rising

AXES = 6
"""Maximum number of loops of `mote_move`, after contiguous axes are merged."""
TOO_LONG = f"more than {AXES} axes that move separately are not supported"
INPUTS = 120
"""Maximum number of inputs of a `mote_join` kernel: C99 guarantees 127 parameters."""

Loop = tuple[int, int, int]
"""A copy loop: count, stride in the input and stride in the output, in bytes."""


@dataclass(frozen=True)
class CopySpan:
    """One axis of a copy: `count` elements of the input's `size`, from `begin` on with stride `step`, are copied
    contiguously to `at` in the output's `total`."""

    size: int
    begin: int
    step: int
    count: int
    at: int
    total: int

    @property
    def whole(self) -> bool:
        return self.size == self.count == self.total and self.step == 1

    def times(self, n: int) -> CopySpan:
        """This axis merged with a fully copied inner axis of `n` elements."""
        return CopySpan(self.size * n, self.begin * n, self.step, self.count * n, self.at * n, self.total * n)


WHOLE_ONE = CopySpan(1, 0, 1, 1, 0, 1)


def steps(shape: Sequence[int], width: int) -> list[int]:
    """Strides of a contiguous tensor, for elements of `width` bytes."""
    return [width * prod(shape[i + 1 :]) for i in range(len(shape))]


def merge(loops: Sequence[Loop], width: int) -> tuple[list[Loop], int]:
    """Merge contiguous loops: the fewest loops (at least one), and the number of contiguous bytes."""
    merged: list[Loop] = []
    run = width
    for size, source, target in reversed(loops):
        if size == 1:
            continue
        if not merged and source == target == run:
            run *= size
        elif merged and (source, target) == (merged[0][0] * merged[0][1], merged[0][0] * merged[0][2]):
            merged[0] = (size * merged[0][0], *merged[0][1:])
        else:
            merged.insert(0, (size, source, target))
    return merged or [(1, 0, 0)], run


def span_loops(spans: Sequence[CopySpan], width: int) -> list[Loop]:
    source, target = steps([s.size for s in spans], width), steps([s.total for s in spans], width)
    return [(s.count, s.step * i, o) for s, i, o in zip(spans, source, target, strict=True)]


@dataclass(frozen=True)
class RowCopy:
    """A copy of boxes by rows: output row y of an image is input row first + y * step."""

    images: int
    rows: CopySpan
    columns: CopySpan
    channels: CopySpan

    @property
    def first(self) -> int:
        return self.rows.begin - self.rows.at * self.rows.step

    def source(self, y: int) -> int:
        """The input row that is copied to output row y, OUTSIDE if none."""
        image, at = divmod(y, self.rows.total)
        row = inside(self.first + at * self.rows.step, self.rows.size)
        return row if row == OUTSIDE else row + image * self.rows.size


def row_copy(spans: Sequence[CopySpan]) -> RowCopy | None:
    """The copy by rows (over all axes but the last two); None if more than one of these axes is not copied fully."""
    padded = {0: [WHOLE_ONE] * 3, 1: [WHOLE_ONE, *spans, WHOLE_ONE], 2: [*spans, WHOLE_ONE]}
    *leading, columns, channels = padded.get(len(spans), spans)
    touched = [i for i, s in enumerate(leading) if not s.whole] or [0]
    k = touched[0]
    inside = prod(s.size for s in leading[k + 1 :])
    if len(touched) > 1 or (inside > 1 and leading[k].step != 1):
        return None
    return RowCopy(prod(s.size for s in leading[:k]), leading[k].times(inside), columns, channels)


_COPIES: WeakKeyDictionary[Graph, dict[Op, list[RowCopy] | None]] = WeakKeyDictionary()
"""Cache of row copies by operator, for each graph that is alive."""


class Join(Op):
    """Base of operators whose output consists of boxes of the inputs; a subclass defines the boxes."""

    def spans(self, g: Graph) -> list[list[CopySpan]]:
        """For each input: how it is copied to the output, axis by axis."""
        raise NotImplementedError

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs)

    def row_copies(self, g: Graph) -> list[RowCopy] | None:
        """The copy of each input by rows, or None if a copy is impossible by rows or the output is reshaped. Cached per
        graph: `reads` calls it for each row."""
        known = _COPIES.setdefault(g, {})
        if self not in known:
            known[self] = self._row_copies(g)
        return known[self]

    def _row_copies(self, g: Graph) -> list[RowCopy] | None:
        all_spans = self.spans(g)
        copies = [row_copy(spans) for spans in all_spans]
        if any(r is None for r in copies) or any(
            tuple(s.total for s in spans) != self.output(g).shape for spans in all_spans
        ):
            return None
        return [r for r in copies if r is not None]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        copies = self.row_copies(g)
        return None if copies is None else (copies[position].source(y),)

    def unsupported(self, g: Graph) -> str | None:
        y = self.output(g)
        for i in self.inputs:
            if g.tensors[i].dtype != y.dtype:
                return f"{g.tensors[i].dtype} input with {y.dtype} output is not supported"
        if self.row_copies(g) is None and any(too_long(span_loops(s, 1)) for s in self.spans(g)):
            return TOO_LONG
        return None


def too_long(loops: Sequence[Loop]) -> bool:
    return len(merge(loops, 1)[0]) > AXES


class Pad(Join):
    """PAD: pads with `value`; `paddings` has the elements before and after each axis."""

    paddings: tuple[tuple[int, int], ...]
    value: int | float
    kind = "PAD"

    def shapes(self, g: Graph) -> list[Shape]:
        sizes = zip(self.input(g).shape, self.paddings, strict=True)
        return [tuple(before + n + after for n, (before, after) in sizes)]

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        return (
            {0: np.arange(self.output(g).channels, dtype=np.int64)}
            if self.paddings and self.paddings[-1] == (0, 0)
            else None
        )

    def spans(self, g: Graph) -> list[list[CopySpan]]:
        sizes = zip(self.input(g).shape, self.paddings, strict=True)
        return [[CopySpan(n, 0, 1, n, before, before + n + after) for n, (before, after) in sizes]]

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        before, after = self.paddings[flows[0].axis]
        if before or after:
            raise PaddingError(f"pads {before} elements before and {after} after the window", causal=False)
        return pointwise(self, flows)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [np.pad(x, self.paddings, constant_values=self.value)]


class Concatenation(Join):
    """CONCATENATION of the inputs along `axis`."""

    axis: int
    kind = "CONCATENATION"

    def parts(self, g: Graph) -> list[Shape]:
        """The inputs' shapes with the output's rank."""
        return [g.tensors[i].shape for i in self.inputs]

    def shapes(self, g: Graph) -> list[Shape]:
        parts = self.parts(g)
        total = sum(shape[self.axis] for shape in parts)
        return [(*parts[0][: self.axis], total, *parts[0][self.axis + 1 :])]

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g):
            return problem
        if len(self.inputs) > INPUTS:
            return f"{len(self.inputs)} inputs are not supported ({INPUTS} at most): join them in groups"
        y = self.output(g)
        if y.dtype in (DType.INT8, DType.UINT8) and not all(same_steps(g.tensors[i], y) for i in self.inputs):
            return "inputs and output must have the same quantization (LiteRT's int8 kernel does not rescale)"
        return None

    def spans(self, g: Graph) -> list[list[CopySpan]]:
        copies, at = [], 0
        total = self.output(g).shape[self.axis]
        for shape in self.parts(g):
            spans = [CopySpan(n, 0, 1, n, 0, n) for n in shape]
            spans[self.axis] = CopySpan(shape[self.axis], 0, 1, shape[self.axis], at, total)
            at += shape[self.axis]
            copies.append(spans)
        return copies

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        all_flow = len(flows) == len(self.inputs)
        return pointwise(self, flows) if all_flow and flows[0].axis != self.axis else None

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        channels = np.arange(self.output(g).channels, dtype=np.int64)
        if self.axis < len(self.output(g).shape) - 1:
            return {p: channels for p, _ in self.computed(g)}
        if len(self.computed(g)) < len(self.inputs):
            return None
        sizes = [g.tensors[i].channels for i in self.inputs]
        own = [(channels - sum(sizes[:p]), size) for p, size in enumerate(sizes)]
        return {p: np.where((c >= 0) & (c < size), c, OUTSIDE) for p, (c, size) in enumerate(own)}

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return [np.concatenate([x for x in values if x is not None], axis=self.axis)]


class Pack(Concatenation):
    """PACK: stacks the inputs along a new axis."""

    kind = "PACK"

    def parts(self, g: Graph) -> list[Shape]:
        return [(*shape[: self.axis], 1, *shape[self.axis :]) for shape in super().parts(g)]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        same_rows = row_count(self.parts(g)[position]) == row_count(self.input(g, position).shape)
        return super().reads(g, position, y) if same_rows else None

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        """None if inputs are stacked on the last axis, because then all their channels are needed."""
        return None if self.axis == len(self.output(g).shape) - 1 else super().channel_sources(g)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return [np.stack([x for x in values if x is not None], axis=self.axis)]


def same_steps(a: Tensor, b: Tensor) -> bool:
    return a.quant.same_as(b.quant) if a.quant is not None else b.quant is None


class Transpose(Op):
    """TRANSPOSE: axis i of the output is axis permutation[i] of the input."""

    permutation: tuple[int, ...]
    kind = "TRANSPOSE"

    def shapes(self, g: Graph) -> list[Shape]:
        return [tuple(self.input(g).shape[i] for i in self.permutation)]

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        flow = flows[0]
        return Increment(self, flow.on(self.permutation.index(flow.axis)), {0: flow.fresh})

    def loops(self, g: Graph) -> list[Loop]:
        x, y = self.input(g), self.output(g)
        width = y.dtype.itemsize
        source, target = steps(x.shape, width), steps(y.shape, width)
        return [(y.shape[i], source[p], target[i]) for i, p in enumerate(self.permutation)]

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if x.dtype != y.dtype:
            return f"{x.dtype} input with {y.dtype} output is not supported"
        return TOO_LONG if too_long(self.loops(g)) else None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [x.transpose(self.permutation)]

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs)

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        last = self.permutation[-1] == len(self.permutation) - 1
        return {0: np.arange(self.output(g).channels, dtype=np.int64)} if last else None
