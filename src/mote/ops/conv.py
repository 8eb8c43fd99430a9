"""CONV_2D."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.graph import Graph, Op
from mote.graph.fixedpoint import Ints, rescale, wrap32
from mote.graph.ranges import Range
from mote.graph.rows import OUTSIDE
from mote.graph.tensor import Array, Shape
from mote.graph.types import Activation, DType
from mote.ops import gemm
from mote.ops.coding import CODED, lower_coded
from mote.ops.common import (
    Axis,
    WindowOp,
    bias_values,
    channel_scales,
    channel_structs,
    clamp_float,
    float_bias,
    float_range,
    int8_range,
    interleave,
    output_params,
    weight_problem,
)
from mote.ops.narrow import Sums
from mote.ops.sums import layer_range, layer_sums, products, window_ends
from mote.ops.vector import Matrix
from mote.ops.winograd import FORMS, lower_winograd
from mote.plan.kernel import Call, Kernel, Layout, Lowering, Structs, Value, units_of

Rescale = Callable[[Ints, Ints, Ints], Ints]


@dataclass(frozen=True, kw_only=True)
class Conv2D(WindowOp):
    """Convolution of NHWC images with [out, kh, kw, in] weights; padding holds the zero point."""

    activation: Activation = Activation.NONE
    kind = "CONV_2D"
    pads_with_zero = True

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).shape[0], *self.spatial(g), self.input(g, 1).shape[0])]

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.depth(g)

    def depth(self, g: Graph) -> int:
        return self.input(g, 1).size // self.input(g, 1).shape[0]

    def unsupported(self, g: Graph) -> str | None:
        if problem := weight_problem(g, self):
            return problem
        groups = self.input(g).shape[3] / self.input(g, 1).shape[3]
        return None if groups == 1 else f"grouped convolution ({groups:g} groups) is not supported"

    def columns(self, g: Graph) -> Ints | None:
        """The input's channel that each index of the weights' last axis belongs to."""
        return np.arange(self.input(g).channels)

    def sums(self, g: Graph, inputs: Range) -> Sums:
        x, w = self.input(g), self.input(g, 1)
        assert w.data is not None
        ends = products(w.data, inputs.low - x.zero_point, inputs.high - x.zero_point)
        low, high = (taps.transpose(1, 2, 0) for taps in ends)
        return layer_sums(g, self, window_ends((low, high), *self.present(g)))

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return layer_range(g, self, self.activation, self.sums(g, inputs[0])) if inputs[0] else None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        zero = self.input(g).zero_point
        patches = self.windows(x, zero).astype(np.float64) - zero
        n, height, width = patches.shape[:3]
        columns = patches.transpose(0, 1, 2, 4, 5, 3).reshape(n * height * width, -1)
        sums = columns @ w.reshape(w.shape[0], -1).astype(np.float64).T
        return [finish(g, self, sums, self.activation).reshape(self.output(g).shape)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, values)

    def lower(self, g: Graph, how: Lowering) -> Kernel:
        if self.input(g).dtype == DType.FLOAT32:
            return self._lower_float(g)
        if self.adds(g, how):
            return self._lower_adds(g)
        y, vectors = self.output(g).shape, {"gemm": self.gemm(g)}
        if self.pointwise:
            pixels = units_of(y, y[3])
            return Kernel("pointwise_s8", vectors, Call.FLAT, pixels, lanes=2, family="pointwise", dsp=True)
        return Kernel(
            "conv2d_s8",
            {"patch": self.patch(g), **vectors},
            Call.ROWS,
            row="conv2d_s8_row",
            scratch=2 * self.depth(g),
            taps=self.vertical.kernel,
            lanes=2,
            family="conv2d",
            dsp=True,
        )

    def variants(self, g: Graph, how: Lowering) -> list[Kernel]:
        lean = [] if how.writes.planar else [self.lower(g, how)]
        if "dsp" not in how.features or self.output(g).dtype != DType.INT8:
            return lean
        found = [kernel for weights in gemm.WEIGHTS for kernel in gemm.lower(g, self, how, weights)]
        tiled = filter(None, (lower_winograd(g, self, how, form) for form in FORMS))
        return [*lean, *found, *tiled, *self._vectors(g, how)]

    def _vectors(self, g: Graph, how: Lowering) -> list[Kernel]:
        """A matrix times a vector for each pixel, where a row has few and no window crosses the edge of the image."""
        y, v, h = self.output(g), self.vertical, self.horizontal
        padded = v.before or v.after or h.before or h.after
        plain = int8_range(self.activation, y) == (-128, 127) and not how.writes.planar
        if padded or not plain or h.dilation > 1 or y.shape[2] > (2 if self.pointwise else 1):
            return []
        w = self.input(g, 1)
        assert w.data is not None
        channels = self.gemm(g)["channel"]
        assert isinstance(channels, Structs)
        matrix = Matrix(w.data.reshape(w.shape[0], -1), channels.rows, self.sums(g, g.ranges[self.inputs[0]]))
        if self.pointwise:
            return [k for wide in (False, True) for k in matrix.kernels(units_of(y.shape, y.shape[3]), wide=wide)]
        window = self.window_params(g)["rows"]
        return [k for wide in (False, True) for k in matrix.by_rows(window, v.kernel, wide=wide)]

    def coded(self, g: Graph, how: Lowering) -> list[Kernel]:
        bases = [k for k in self.kernels(g, how) if k.family in CODED]
        return [kernel for base in bases for kernel in lower_coded(base, self.output(g).shape)]

    @property
    def pointwise(self) -> bool:
        return self.vertical == self.horizontal == Axis(1)

    def writes(self, g: Graph, how: Lowering, layout: Layout) -> bool:
        return bool(self.kernels(g, replace(how, writes=layout)))

    def _lower_adds(self, g: Graph) -> Kernel:
        """Row by row into running sums. Where no column is padding a row of the window is one long tap, else each of
        its columns is one, with a share of its own in what the input's zero point adds."""
        x, w, y, h = self.input(g), self.input(g, 1), self.output(g), self.horizontal
        assert w.data is not None
        inside = [r != OUTSIDE for r in self.reads(g, 0, 0) or ()]
        whole = h.dilation == 1 and not h.before and not h.after
        taps = w.data.astype(np.int64).reshape(*w.shape[:2], 1 if whole else w.shape[2], -1)
        fold = -x.zero_point * taps[:, inside].sum(axis=(1, 3))
        channels = self._channels(g, bias_values(self.tensor(g, 2), w.shape[0]) + (fold[:, 0] if whole else 0))
        cols = self.window_params(g)["cols"]
        assert isinstance(cols, dict)
        params: dict[str, Value] = {
            "cols": cols | {"taps": 1} if whole else cols,
            "in_channels": x.shape[3],
            "depth": taps.shape[3],
            "channels": w.shape[0],
            "output": output_params(self.activation, y, channels),
            "weights": np.concatenate([interleave(taps[:, k, t], 2) for k, t in np.ndindex(taps.shape[1:3])]),
            "channel": channels,
            "fold": 0 if whole or not fold.any() else np.ascontiguousarray(wrap32(fold.T), np.int32),
        }
        return Kernel("conv2d_add_s8", params, Call.ADDS, sums=4 * y.size, dsp=True)

    def patch(self, g: Graph) -> dict[str, Value]:
        """`mote_patch_t`."""
        x = self.input(g)
        return {**self.window_params(g), "in_channels": x.shape[3], "in_zero": x.zero_point}

    def gemm(self, g: Graph) -> dict[str, Value]:
        """`mote_gemm_s8_t`: the input's zero point is folded into the bias."""
        x, w, y = self.input(g), self.input(g, 1), self.output(g)
        assert w.data is not None
        matrix = w.data.reshape(w.shape[0], -1).astype(np.int64)
        bias = bias_values(self.tensor(g, 2), w.shape[0]) - x.zero_point * matrix.sum(axis=1)
        channels = self._channels(g, bias)
        return {
            "depth": self.depth(g),
            "channels": w.shape[0],
            "pixel": y.shape[3],
            "output": output_params(self.activation, y, channels),
            "weights": interleave(matrix, 2),
            "channel": channels,
        }

    def _channels(self, g: Graph, bias: NDArray[np.int64]) -> Structs:
        """`mote_channel_t`. A channel without weights is a constant, whatever its bias and scale: a small one, so that
        sums stay small."""
        w = self.input(g, 1)
        assert w.data is not None
        mult, shift = channel_scales(self.input(g), w, self.output(g), w.shape[0])
        constant = np.clip(rescale(bias, mult, shift), -1024, 1023)
        used = w.data.reshape(w.shape[0], -1).any(axis=1)
        return channel_structs(
            np.where(used, bias, 4 * constant), np.where(used, mult, 1 << 30), np.where(used, shift, -1)
        )

    def _lower_float(self, g: Graph) -> Kernel:
        x, w = self.input(g), self.input(g, 1)
        assert w.data is not None
        low, high = float_range(self.activation)
        params = {
            **self.window_params(g),
            "in_channels": x.shape[3],
            "out_channels": w.shape[0],
            "low": low,
            "high": high,
            "weights": w.data,
            "bias": float_bias(self.tensor(g, 2), w.shape[0]),
        }
        return Kernel("conv2d_f32", params, Call.ROWS, row="conv2d_f32_row", taps=self.vertical.kernel)


def finish(
    g: Graph, op: Op, sums: NDArray[np.float64], activation: Activation, scale: Rescale = rescale
) -> NDArray[Any]:
    """Sums of products (channels last) -> the layer's output: bias, requantization, activation."""
    x, w, y = op.input(g), op.input(g, 1), op.output(g)
    channels = sums.shape[-1]
    if y.dtype == DType.FLOAT32:
        return clamp_float(sums + float_bias(op.tensor(g, 2), channels), activation)
    total = wrap32(sums.astype(np.int64) + bias_values(op.tensor(g, 2), channels))
    scaled = scale(total, *channel_scales(x, w, y, channels)) + y.zero_point
    return np.clip(scaled, *int8_range(activation, y)).astype(np.int8)
