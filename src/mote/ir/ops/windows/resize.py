"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR."""

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
"""Weight 1 in fixed point (10 fraction bits) of integer interpolation, as in LiteRT."""
EXACT = (DType.INT8, DType.INT16)
"""Integer types that can be interpolated."""


def _type_problem(g: Graph, op: Op, types: tuple[DType, ...]) -> str | None:
    """Why input or output type is not supported, or None. Quantization is not checked: pixel values are not
    rescaled."""
    x, y = op.input(g), op.output(g)
    if x.dtype not in types:
        return f"{x.dtype} input is not supported (only {', '.join(types)})"
    return f"{x.dtype} input with {y.dtype} output is not supported" if y.dtype != x.dtype else None


class Resize(Op):
    """Base of operators that change height and width of images."""

    size: tuple[int, int]
    align_corners: bool = False
    half_pixel_centers: bool = False

    def shapes(self, g: Graph) -> list[Shape]:
        n, _, _, channels = self.input(g).shape
        return [(n, *self.size, channels)]

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs)

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        return {0: np.arange(self.output(g).channels, dtype=np.int64)}

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        height = self.input(g).shape[1]
        image, row = divmod(y, self.size[0])
        return tuple(int(ends[row]) + image * height for ends in self.rows(g, height, self.size[0]))

    def rows(self, g: Graph, size: int, out: int) -> tuple[Ints, ...]:
        """The indices, for each of `out` output rows, of the input rows (of `size`) that it reads."""
        raise NotImplementedError


class ResizeNearest(Resize):
    """RESIZE_NEAREST_NEIGHBOR: each output pixel is a copy of an input pixel."""

    kind = "RESIZE_NEAREST_NEIGHBOR"

    def unsupported(self, g: Graph) -> str | None:
        return _type_problem(g, self, (*EXACT, DType.UINT8, DType.INT32, DType.BOOL, DType.FLOAT32))

    def sources(self, size: int, out: int) -> Ints:
        """The input position of each output position, computed in float32 as in LiteRT."""
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
    """Source coordinate of each of `out` output positions in an input of `size`, in single precision."""
    stretch = op.align_corners and out > 1
    scale = np.float32(size - 1 if stretch else size) / np.float32(out - 1 if stretch else out)
    at = np.arange(out, dtype=np.float32)
    half = np.float32(0.5)
    return np.asarray((at + half) * scale - half if op.half_pixel_centers else at * scale, np.float32)


@dataclass(frozen=True)
class Blend:
    """One axis of a linear interpolation: output i = x[lower[i]] * (1 - weight[i]) + x[lower[i] + 1] * weight[i]; with
    weight 0 the upper input is not read."""

    lower: Ints
    weight: NDArray[Any]

    @property
    def upper(self) -> Ints:
        return self.lower + (self.weight > 0)


class ResizeBilinear(Resize):
    """RESIZE_BILINEAR: each output pixel interpolates four input pixels; integers with 10-bit weights, rounded once."""

    kind = "RESIZE_BILINEAR"

    def unsupported(self, g: Graph) -> str | None:
        return _type_problem(g, self, (*EXACT, DType.FLOAT32))

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        """Accumulator bounds, including the rounding term."""
        if inputs[0] is None:
            return None
        total = inputs[0].max_distance() * ONE * ONE
        return Peak(total, total + ONE * ONE)

    def blend(self, g: Graph, size: int, out: int) -> Blend:
        """Interpolation of one axis. At the edges a pixel is interpolated with itself, as in LiteRT; where LiteRT reads
        past the last pixel (the scale is rounded up), the last pixel is used."""
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
    """One axis of a linear interpolation in single precision, as LiteRT resizes uint8: output i is between inputs
    lower[i] and upper[i] with weight[i] for the upper; at the edges both are the same pixel, and the weight may be
    negative."""

    lower: Ints
    upper: Ints
    weight: NDArray[np.float32]


class ResizeBilinearUnsigned(Resize):
    """RESIZE_BILINEAR of uint8 images, stored as int8 (128 less). Products and sums are rounded to single precision in
    LiteRT's order, and the result to the nearest integer."""

    kind = "RESIZE_BILINEAR"

    def unsupported(self, g: Graph) -> str | None:
        return _type_problem(g, self, (DType.INT8,))

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        """None (unknown): rounding may exceed the range of the pixels."""
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
