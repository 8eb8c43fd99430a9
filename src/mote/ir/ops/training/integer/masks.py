"""Compact records of the forward pass for gradients, instead of whole tensors: which elements an activation did not
clamp (a bit each), which pixel of its window each maximum is (a byte each); and the gradients from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis, WindowOp
from mote.ir.ops.pointwise import Pointwise
from mote.ir.ops.training.integer.types import type_problem
from mote.ir.ops.training.window_gradients import taps

NO_PIXEL = 255
"""Tap index of a window without any pixel inside the image."""


def packed_shape(shape: Shape) -> Shape:
    """The shape of a mask of one bit per element: eight channels per byte."""
    return (*shape[:-1], -(-shape[-1] // 8))


class ActivationMask(Pointwise):
    """ACTIVATION_MASK: one bit per element of an int8 tensor, 1 where low < element < high. Channel c of a pixel is bit
    c % 8 of byte c // 8."""

    low: int
    high: int
    kind = "ACTIVATION_MASK"

    def shapes(self, g: Graph) -> list[Shape]:
        return [packed_shape(self.input(g).shape)]

    def unsupported(self, g: Graph) -> str | None:
        return type_problem(g, self, DType.INT8)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x = values[0]
        assert x is not None
        return [np.packbits((x > self.low) & (x < self.high), axis=-1, bitorder="little")]


class MaskedGradient(Pointwise):
    """MASKED_GRADIENT: the gradient where the mask's bit is 1, else 0. Inputs: gradient int8, mask uint8."""

    kind = "MASKED_GRADIENT"

    def unsupported(self, g: Graph) -> str | None:
        if self.input(g, 1).shape != packed_shape(self.input(g).shape):
            return f"a mask of {self.input(g, 1).shape} is not that of a gradient of {self.input(g).shape}"
        return type_problem(g, self, DType.INT8, DType.UINT8)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        gradient, mask = values
        assert gradient is not None and mask is not None
        bits = np.unpackbits(mask, axis=-1, count=gradient.shape[-1], bitorder="little")
        return [gradient * bits.astype(np.int8)]


class MaxPoolTaps(WindowOp):
    """MAX_POOL_2D_TAPS: index of the maximum within its window (row by row from the top left, the first of equals) for
    each output element of MAX_POOL_2D; 255 if the window has no pixel."""

    kind = "MAX_POOL_2D_TAPS"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).shape[0], *self.spatial(g), self.input(g).channels)]

    def work(self, g: Graph) -> int:
        return self.output(g).size * self.vertical.kernel * self.horizontal.kernel

    def unsupported(self, g: Graph) -> str | None:
        return taps_problem(self.vertical, self.horizontal) or type_problem(g, self, DType.INT8)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x = values[0]
        assert x is not None
        largest = np.full(self.shapes(g)[0], -129, np.int16)
        indices = np.full(largest.shape, NO_PIXEL, np.uint8)
        for number, tap in enumerate(taps(self.vertical, self.horizontal, *x.shape[1:3])):
            at = np.s_[:, tap.outputs[0][:, None], tap.outputs[1]]
            here = tap.at_inputs(x)
            indices[at] = np.where(here > largest[at], number, indices[at])
            largest[at] = np.maximum(here, largest[at])
        return [indices]


class MaxPoolSpread(Op):
    """MAX_POOL_2D_SPREAD: input gradient of MAX_POOL_2D: each gradient element goes to the pixel of the maximum.
    Inputs: gradient int8, taps uint8; where windows overlap, sums are clamped to int8."""

    size: tuple[int, int]
    vertical: Axis
    horizontal: Axis
    kind = "MAX_POOL_2D_SPREAD"

    def shapes(self, g: Graph) -> list[Shape]:
        n, _, _, channels = self.input(g).shape
        return [(n, *self.size, channels)]

    def work(self, g: Graph) -> int:
        return self.input(g).size * self.vertical.kernel * self.horizontal.kernel

    def unsupported(self, g: Graph) -> str | None:
        gradient, indices = self.input(g), self.input(g, 1)
        sizes = self.vertical.size(self.size[0]), self.horizontal.size(self.size[1])
        if gradient.shape != indices.shape or sizes != gradient.shape[1:3] or gradient.shape[0] != 1:
            return f"a gradient of {gradient.shape} and taps of {indices.shape} are not those of images of {self.size}"
        return taps_problem(self.vertical, self.horizontal) or type_problem(g, self, DType.INT8, DType.UINT8)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        gradient, indices = values
        assert gradient is not None and indices is not None
        sums = np.zeros(self.shapes(g)[0])
        for number, tap in enumerate(taps(self.vertical, self.horizontal, *self.size)):
            tap.scatter_add(sums, np.where(tap.at_outputs(indices) == number, tap.at_outputs(gradient), 0))
        return [np.clip(sums, -128, 127).astype(np.int8)]


def taps_problem(vertical: Axis, horizontal: Axis) -> str | None:
    """Why a window has too many taps for an index in a byte, or None."""
    count = vertical.kernel * horizontal.kernel
    return None if count <= NO_PIXEL else f"windows of {count} pixels are not supported (at most {NO_PIXEL})"
