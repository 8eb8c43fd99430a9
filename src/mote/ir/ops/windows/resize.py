"""RESIZE_NEAREST_NEIGHBOR, RESIZE_BILINEAR. Source coordinates of each output row and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.ranges import Peak, Range
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.pointwise import rising

Ints = NDArray[np.int64]
ONE = 1 << 10
"""Weight 1 of the interpolation of integers, as LiteRT counts it."""
EXACT = (DType.INT8, DType.INT16)
"""The integers that are interpolated."""


def _type_problem(g: Graph, op: Op, types: tuple[DType, ...]) -> str | None:
    """Why types are not supported, or None. Pixels keep what they stand for, whatever the quantization is."""
    x, y = op.input(g), op.output(g)
    if x.dtype not in types:
        return f"{x.dtype} input is not supported (only {', '.join(types)})"
    return f"{x.dtype} input with {y.dtype} output is not supported" if y.dtype != x.dtype else None


class Resize(Op):
    """Images of another height and width."""

    size: tuple[int, int]
    align_corners: bool = False
    half_pixel_centers: bool = False

    def shapes(self, g: Graph) -> list[Shape]:
        n, _, _, channels = self.input(g).shape
        return [(n, *self.size, channels)]

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs)

    def threads(self, g: Graph) -> dict[int, Ints] | None:
        return {0: np.arange(self.output(g).channels, dtype=np.int64)}

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        height = self.input(g).shape[1]
        image, row = divmod(y, self.size[0])
        return tuple(int(ends[row]) + image * height for ends in self.rows(g, height, self.size[0]))

    def rows(self, g: Graph, size: int, out: int) -> tuple[Ints, ...]:
        """Which of the `size` input rows each of `out` output rows reads."""
        raise NotImplementedError


class ResizeNearest(Resize):
    """Every output pixel is a copy of an input pixel."""

    kind = "RESIZE_NEAREST_NEIGHBOR"

    def unsupported(self, g: Graph) -> str | None:
        return _type_problem(g, self, (*EXACT, DType.UINT8, DType.INT32, DType.BOOL, DType.FLOAT32))

    def sources(self, size: int, out: int) -> Ints:
        """The input position of each output position, in float32 as LiteRT works it out."""
        stretch = self.align_corners and out > 1
        scale = np.float32(size - 1 if stretch else size) / np.float32(out - 1 if stretch else out)
        at = (np.arange(out, dtype=np.float32) + np.float32(0.5 if self.half_pixel_centers else 0.0)) * scale
        nearest = np.floor(at + np.float32(0.5)) if self.align_corners else np.floor(at)
        return np.asarray(np.minimum(nearest, size - 1), np.int64)

    def rows(self, g: Graph, size: int, out: int) -> tuple[Ints, ...]:
        return (self.sources(size, out),)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        rows, columns = self.sources(x.shape[1], self.size[0]), self.sources(x.shape[2], self.size[1])
        return [x[:, rows][:, :, columns]]


def real_positions(op: Resize, size: int, out: int) -> NDArray[np.float32]:
    """Where each of `out` positions lies among `size` inputs, in single precision."""
    stretch = op.align_corners and out > 1
    scale = np.float32(size - 1 if stretch else size) / np.float32(out - 1 if stretch else out)
    at = np.arange(out, dtype=np.float32)
    half = np.float32(0.5)
    return np.asarray((at + half) * scale - half if op.half_pixel_centers else at * scale, np.float32)


@dataclass(frozen=True)
class Blend:
    """One axis of a linear interpolation: output i is between inputs lower[i] and lower[i] + 1, `weight[i]`
    of the way (0: it is the lower one, and the upper is not read)."""

    lower: Ints
    weight: NDArray[Any]

    @property
    def upper(self) -> Ints:
        return self.lower + (self.weight > 0)


class ResizeBilinear(Resize):
    """Every output pixel is a mean of four input pixels: of integers with 10-bit weights, rounded once."""

    kind = "RESIZE_BILINEAR"

    def unsupported(self, g: Graph) -> str | None:
        return _type_problem(g, self, (*EXACT, DType.FLOAT32))

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        """Halves are added to round."""
        if inputs[0] is None:
            return None
        total = inputs[0].farthest() * ONE * ONE
        return Peak(total, total + ONE * ONE)

    def blend(self, g: Graph, size: int, out: int) -> Blend:
        """At the edges LiteRT mixes a pixel with itself. It even reads past the last pixel where a scale that
        is rounded up leads there over many outputs; here that is the last pixel again."""
        if self.input(g).dtype in EXACT:
            at = self._positions_s8(size, out)
            lower = np.clip(at // ONE, 0, size - 1)
            weight: NDArray[Any] = at - lower * ONE
        else:
            real = real_positions(self, size, out)
            lower = np.clip(np.floor(real), 0, size - 1).astype(np.int64)
            weight = real - lower.astype(np.float32)
        return Blend(lower, np.where((weight > 0) & (lower < size - 1), weight, 0).astype(weight.dtype))

    def _positions_s8(self, size: int, out: int) -> Ints:
        stretch = self.align_corners and out > 1
        above, below = (size - 1, out - 1) if stretch else (size, out)
        scale = (ONE * above + below // 2) // below
        offset = scale // 2 - ONE // 2 if self.half_pixel_centers else 0
        return np.arange(out, dtype=np.int64) * scale + offset

    def rows(self, g: Graph, size: int, out: int) -> tuple[Ints, ...]:
        blend = self.blend(g, size, out)
        return blend.lower, blend.upper

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        exact = x.dtype != np.float32
        wide: NDArray[Any] = x.astype(np.int64 if exact else np.float64)
        one = ONE if exact else 1
        for axis, size in ((1, self.size[0]), (2, self.size[1])):
            blend = self.blend(g, x.shape[axis], size)
            weight = np.expand_dims(blend.weight, [1, 2] if axis == 1 else [1]).astype(wide.dtype)
            lower, upper = (np.take(wide, ends, axis=axis) for ends in (blend.lower, blend.upper))
            wide = lower * (one - weight) + upper * weight
        if not exact:
            return [wide.astype(np.float32)]
        return [(np.sign(wide) * ((np.abs(wide) + ONE * ONE // 2) // (ONE * ONE))).astype(x.dtype)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.evaluate(g, values)


@dataclass(frozen=True)
class RealBlend:
    """Bilinear weights in single precision, as LiteRT interpolates uint8: output i is between inputs lower[i] and
    upper[i], `weight[i]` of the way; at the edges, where both are one, the weight may be negative."""

    lower: Ints
    upper: Ints
    weight: NDArray[np.float32]


class ResizeBilinearUnsigned(Resize):
    """A uint8 image, held as int8 with values that are 128 less. Every product and every sum is rounded to single
    precision, in LiteRT's order, and the mean of the four pixels to the nearest integer."""

    kind = "RESIZE_BILINEAR"

    def unsupported(self, g: Graph) -> str | None:
        return _type_problem(g, self, (DType.INT8,))

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        """Roundings may lead beyond the pixels."""
        return None

    def blend(self, size: int, out: int) -> RealBlend:
        real = real_positions(self, size, out)
        lower, upper = (np.clip(end, 0, size - 1).astype(np.int64) for end in (np.floor(real), np.ceil(real)))
        return RealBlend(lower, upper, real - lower.astype(np.float32))

    def rows(self, g: Graph, size: int, out: int) -> tuple[Ints, ...]:
        blend = self.blend(size, out)
        return blend.lower, blend.upper

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        pixels = (x.astype(np.int16) + 128).astype(np.float32)
        rows, columns = self.blend(x.shape[1], self.size[0]), self.blend(x.shape[2], self.size[1])
        one, down, right = np.float32(1), rows.weight[:, None, None], columns.weight[:, None]
        total = np.zeros((), np.float32)
        for column, across in ((columns.lower, one - right), (columns.upper, right)):
            for row, along in ((rows.lower, one - down), (rows.upper, down)):
                total = total + pixels[:, row][:, :, column] * along * across
        rounded = np.floor(np.clip(total + np.float32(0.5), 0, 255)).astype(np.int16)
        return [(rounded - 128).astype(np.int8)]
