"""CONV_3D and CONV_3D_TRANSPOSE: convolutions of volumes, [images, depth, height, width, channels]."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import Axis, activation_type, clamp_float, float_bias, float_bias_problem

TAP = 10_000
"""Estimated cost of one kernel tap in the reference, in multiplications."""


class Volume(Op):
    """Base of 3D convolutions. An output row depends on one input row for each depth and height of the kernel."""

    deep: Axis
    vertical: Axis
    horizontal: Axis
    activation: Activation = Activation.NONE

    @property
    def axes(self) -> tuple[Axis, Axis, Axis]:
        return self.deep, self.vertical, self.horizontal

    @property
    def taps(self) -> int:
        """Number of input rows that an output row depends on."""
        return self.deep.kernel * self.vertical.kernel

    def positions(self, g: Graph) -> list[NDArray[np.int64]]:
        """For each axis: the input position of each tap at each output position, OUTSIDE for padding."""
        raise NotImplementedError

    def matrices(self, weights: Array) -> Array:
        """Weights as [depth, height, width, inputs, outputs]."""
        raise NotImplementedError

    def work(self, g: Graph) -> int:
        """Estimated cost in multiplications: kernel taps are computed one by one."""
        return self.macs(g) + TAP * self.taps * self.horizontal.kernel

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        _, in_deep, in_high, _, _ = self.input(g).shape
        _, deep, high, _, _ = self.output(g).shape
        image, z, row = y // (deep * high), y // high % deep, y % high
        layers, rows, _ = self.positions(g)
        pairs = product(layers[z].tolist(), rows[row].tolist())
        return tuple(OUTSIDE if OUTSIDE in at else (image * in_deep + at[0]) * in_high + at[1] for at in pairs)

    def unsupported(self, g: Graph) -> str | None:
        if problem := activation_type(g, self, dtypes=(DType.FLOAT32,)):
            return problem
        w = self.input(g, 1)
        if w.data is None or w.dtype != DType.FLOAT32:
            return f"{'computed' if w.data is None else w.dtype} weights are not supported (only float32 constants)"
        return float_bias_problem(self.tensor(g, 2), self.shapes(g)[0][-1])

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        matrices = self.matrices(w).astype(np.float64)
        positions = self.positions(g)
        sums = np.zeros(self.shapes(g)[0])
        for tap in product(*(range(axis.kernel) for axis in self.axes)):
            gathered = x.astype(np.float64)
            for axis, (taps, k) in enumerate(zip(positions, tap, strict=True), 1):
                at = taps[:, k]
                inside = (at != OUTSIDE).reshape(-1, *[1] * (4 - axis))
                gathered = np.where(inside, np.take(gathered, at, axis, mode="clip"), 0.0)
            sums += gathered @ matrices[tap]
        return [clamp_float(sums + float_bias(self.tensor(g, 2), sums.shape[-1]), self.activation)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, values)


class Conv3D(Volume):
    """CONV_3D with [depth, height, width, inputs, outputs] weights."""

    kind = "CONV_3D"

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g).shape
        sizes = (axis.size(n) for axis, n in zip(self.axes, x[1:4], strict=True))
        return [(x[0], *sizes, self.input(g, 1).shape[4])]

    def macs(self, g: Graph) -> int:
        w = self.input(g, 1)
        return self.output(g).size * (w.size // w.shape[4])

    def positions(self, g: Graph) -> list[NDArray[np.int64]]:
        return [axis.positions(n) for axis, n in zip(self.axes, self.input(g).shape[1:4], strict=True)]

    def matrices(self, weights: Array) -> Array:
        return weights


class Conv3DTranspose(Volume):
    """CONV_3D_TRANSPOSE with [depth, height, width, outputs, inputs] weights. Inputs: volumes, weights, bias (in
    another order than in the file). The axes are those of the forward convolution, from volumes of the output's `size`
    to the input's."""

    size: tuple[int, int, int]
    kind = "CONV_3D_TRANSPOSE"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).shape[0], *self.size, self.input(g, 1).shape[3])]

    def macs(self, g: Graph) -> int:
        x = self.input(g)
        return x.size // x.shape[4] * self.input(g, 1).size

    def unsupported(self, g: Graph) -> str | None:
        sizes = tuple(axis.size(n) for axis, n in zip(self.axes, self.size, strict=True))
        if sizes != self.input(g).shape[1:4]:
            return f"an output of {self.size} comes from volumes of {sizes}, not {self.input(g).shape[1:4]}"
        return super().unsupported(g)

    def positions(self, g: Graph) -> list[NDArray[np.int64]]:
        axes_positions = []
        for axis, size, total in zip(self.axes, self.input(g).shape[1:4], self.size, strict=True):
            offsets = (
                np.arange(total, dtype=np.int64)[:, None]
                + axis.before
                - np.arange(axis.kernel, dtype=np.int64) * axis.dilation
            )
            at = offsets // axis.stride
            axes_positions.append(np.where((offsets % axis.stride == 0) & (at >= 0) & (at < size), at, OUTSIDE))
        return axes_positions

    def matrices(self, weights: Array) -> Array:
        return weights.swapaxes(3, 4)
