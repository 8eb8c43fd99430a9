"""Strided copies: BROADCAST_TO, TILE, REVERSE_V2, DEPTH_TO_SPACE, SPACE_TO_DEPTH, SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND.

Each output axis is split into one or more digits (nested loops), each with a constant stride in the input: positive,
negative or zero. Elements are copied as bytes, so every type is supported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Self

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.ranges import Range
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.moves.pad_concat_transpose import TOO_LONG, Loop, steps, too_long
from mote.ir.ops.pointwise import rising

MOST_TAPS = 32
"""Maximum number of input rows per output row; with more, the output is computed as a whole."""

Digit = tuple[int, int]
"""A loop over part of an output axis: count, and stride in the input in elements."""


@dataclass(frozen=True)
class RowWalk:
    """A strided copy by rows: output row y is copied from `taps` input rows, `spread` rows apart, of which `digits`
    determine the first."""

    digits: list[Digit]
    """Loops (digits) over the rows of the output, the last one fastest."""
    start: int
    row: int
    """Number of elements of an input row."""
    taps: int
    spread: int
    tap_step: int
    """Stride in the output between elements of successive taps."""
    inner: list[Loop]
    """Copy loops over the elements that are taken from each input row."""

    def first(self, y: int) -> int:
        """The first input row of output row y."""
        row = self.start // self.row
        for size, step in reversed(self.digits):
            y, digit = divmod(y, size)
            row += digit * self.split(step)[0]
        return row

    def split(self, step: int) -> tuple[int, int]:
        """Split a stride into (rows, elements within a row); one of them is 0."""
        return (step // self.row, 0) if step % self.row == 0 else (0, step)


class StridedOp(Op):
    """Base of strided copies; a subclass defines the digits."""

    def digits(self, g: Graph) -> list[list[Digit]]:
        """The digits (loops) of each output axis, the last one fastest."""
        raise NotImplementedError

    def start(self, g: Graph) -> int:
        """Flat index of the input element that the strided copy begins with."""
        return 0

    def loops(self, g: Graph) -> list[Loop]:
        """Copy loops over the whole output, in bytes."""
        return [(n, i * self._width(g), o * self._width(g)) for n, i, o in _loops(self.digits(g), self.output(g).shape)]

    def row_walk(self, g: Graph) -> RowWalk | None:
        """The copy by rows; None if output rows do not consist of parts of few, evenly spaced input rows."""
        shape, x = self.output(g).shape, self.input(g)
        leading = len(shape) - 2 if len(shape) > 2 else len(shape) - 1
        digits = self.digits(g)
        outer = [d for axis in digits[: max(leading, 0)] for d in axis]
        loops = _loops(digits, shape)[len(outer) :]
        row = x.size // row_count(x.shape)
        taps = [(n, i, o) for n, i, o in loops if n > 1 and i and i % row == 0]
        inner = [(n, i, o) for n, i, o in loops if not (n > 1 and i and i % row == 0)]
        inside = [(n, i) for n, i in outer if i % row] + [(n, i) for n, i, _ in inner]
        first = self.start(g) % row
        low = first + sum(min((n - 1) * i, 0) for n, i in inside)
        high = first + sum(max((n - 1) * i, 0) for n, i in inside)
        if len(taps) > 1 or low < 0 or high >= row or (taps and taps[0][0] > MOST_TAPS):
            return None
        count, step, target = taps[0] if taps else (1, 0, 0)
        return RowWalk(outer, self.start(g), row, count, step // row, target, inner)

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        walk = self.row_walk(g)
        if walk is None:
            return None
        first = walk.first(y)
        return tuple(first + k * walk.spread for k in range(walk.taps))

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if x.dtype != y.dtype:
            return f"{x.dtype} input with {y.dtype} output is not supported"
        walk = self.row_walk(g)
        return TOO_LONG if too_long(self.loops(g) if walk is None else walk.inner) else None

    def sources(self, g: Graph) -> Ints:
        """Flat input index of each output element."""
        indices = np.array(self.start(g))
        for axis in self.digits(g):
            for n, step in axis:
                indices = indices[..., None] + step * np.arange(n, dtype=np.int64)
        return indices.reshape(self.output(g).shape)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [x.reshape(-1)[self.sources(g)]]

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs)

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        """Output channel c is input channel c, if the last axis is copied unchanged; else None."""
        channels = self.output(g).channels
        last = [(n, step) for n, step in (self.digits(g) or [[]])[-1] if n > 1]
        same = last == [(channels, 1)] and self.input(g).channels == channels
        return {0: np.arange(channels, dtype=np.int64)} if same else None

    def _width(self, g: Graph) -> int:
        return self.output(g).dtype.itemsize


def _loops(digits: Sequence[Sequence[Digit]], shape: Shape) -> list[Loop]:
    """Loops of all digits, with strides in the input and in an output of that shape, in elements."""
    loops = []
    for axis, target in zip(digits, steps(shape, 1), strict=True):
        for k, (n, step) in enumerate(axis):
            loops.append((n, step, target * prod(size for size, _ in axis[k + 1 :])))
    return loops


class BroadcastTo(StridedOp):
    """BROADCAST_TO: repeats the input along axes of size 1 and new leading axes."""

    shape: Shape
    kind = "BROADCAST_TO"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def narrowed(self, g: Graph, kept: Sequence[Ints]) -> Self:
        return self.with_(shape=(*self.shape[:-1], len(kept[-1])))

    def digits(self, g: Graph) -> list[list[Digit]]:
        x = self.input(g).shape
        new = len(self.shape) - len(x)
        own = zip(self.shape[new:], x, steps(x, 1), strict=True)
        return [*([(n, 0)] for n in self.shape[:new]), *([(n, 0 if m == 1 else step)] for n, m, step in own)]


class Tile(StridedOp):
    """TILE: repeats the input `multiples[i]` times along axis i."""

    multiples: tuple[int, ...]
    kind = "TILE"

    def shapes(self, g: Graph) -> list[Shape]:
        return [tuple(n * times for n, times in zip(self.input(g).shape, self.multiples, strict=True))]

    def digits(self, g: Graph) -> list[list[Digit]]:
        x = self.input(g).shape
        return [[(times, 0), (n, step)] for n, times, step in zip(x, self.multiples, steps(x, 1), strict=True)]


class Reverse(StridedOp):
    """REVERSE_V2: reverses the input along some axes."""

    axes: tuple[int, ...]
    kind = "REVERSE_V2"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def digits(self, g: Graph) -> list[list[Digit]]:
        x = self.input(g).shape
        return [
            [(n, -step if a in self.axes else step)] for a, (n, step) in enumerate(zip(x, steps(x, 1), strict=True))
        ]

    def start(self, g: Graph) -> int:
        x = self.input(g).shape
        return sum((x[a] - 1) * steps(x, 1)[a] for a in self.axes)


class DepthToSpace(StridedOp):
    """DEPTH_TO_SPACE: the channels of each pixel become block x block pixels."""

    block: int
    kind = "DEPTH_TO_SPACE"

    def shapes(self, g: Graph) -> list[Shape]:
        n, height, width, channels = self.input(g).shape
        return [(n, height * self.block, width * self.block, channels // self.block**2)]

    def digits(self, g: Graph) -> list[list[Digit]]:
        n, height, width, _ = self.input(g).shape
        image, row, pixel, _ = steps(self.input(g).shape, 1)
        channels = self.output(g).shape[3]
        b = self.block
        return [[(n, image)], [(height, row), (b, b * channels)], [(width, pixel), (b, channels)], [(channels, 1)]]


class SpaceToDepth(StridedOp):
    """SPACE_TO_DEPTH: each block x block pixels become the channels of one pixel."""

    block: int
    kind = "SPACE_TO_DEPTH"

    def shapes(self, g: Graph) -> list[Shape]:
        n, height, width, channels = self.input(g).shape
        return [(n, height // self.block, width // self.block, channels * self.block**2)]

    def digits(self, g: Graph) -> list[list[Digit]]:
        n, height, width, channels = self.output(g).shape
        image, row, pixel, _ = steps(self.input(g).shape, 1)
        b = self.block
        return [
            [(n, image)],
            [(height, b * row)],
            [(width, b * pixel)],
            [(b, row), (b, pixel), (channels // b**2, 1)],
        ]


class SpaceToBatch(StridedOp):
    """SPACE_TO_BATCH_ND: the pixels at each position within a block become a separate image; padding is a separate
    operator before it."""

    blocks: tuple[int, ...]
    kind = "SPACE_TO_BATCH_ND"

    def shapes(self, g: Graph) -> list[Shape]:
        n, *space = self.input(g).shape
        kept = space[len(self.blocks) :]
        return [(n * prod(self.blocks), *(m // b for m, b in zip(space, self.blocks, strict=False)), *kept)]

    def digits(self, g: Graph) -> list[list[Digit]]:
        x, y = self.input(g).shape, self.output(g).shape
        step = steps(x, 1)
        last = len(self.blocks) + 1
        spaces = list(zip(self.blocks, y[1:last], step[1:last], strict=True))
        rest = list(zip(x[last:], step[last:], strict=True))
        images = [*((b, s) for b, _, s in spaces), (x[0], step[0])]
        return [images, *([(m, b * s)] for b, m, s in spaces), *([d] for d in rest)]


class BatchToSpace(StridedOp):
    """BATCH_TO_SPACE_ND: images become the pixels at each position within a block; cropping is a separate operator
    after it."""

    blocks: tuple[int, ...]
    kind = "BATCH_TO_SPACE_ND"

    def shapes(self, g: Graph) -> list[Shape]:
        n, *space = self.input(g).shape
        kept = space[len(self.blocks) :]
        return [(n // prod(self.blocks), *(m * b for m, b in zip(space, self.blocks, strict=False)), *kept)]

    def digits(self, g: Graph) -> list[list[Digit]]:
        x, n = self.input(g).shape, self.output(g).shape[0]
        step = steps(x, 1)
        last = len(self.blocks) + 1
        batches = [step[0] * n * s for s in steps(self.blocks, 1)]
        spaces = zip(x[1:last], step[1:last], self.blocks, batches, strict=True)
        rest = list(zip(x[last:], step[last:], strict=True))
        return [[(n, step[0])], *([(m, s), (b, batch)] for m, s, b, batch in spaces), *([d] for d in rest)]
