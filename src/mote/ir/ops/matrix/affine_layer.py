"""Integer layers with affine requantization: round(scale * (sum + bias + fraction)), halves to even, exactly.

An integer bias in units of input scale * weight scale cannot represent a batch normalization that was not folded before
training. Here the bias has 31 additional fraction bits, products have 64 bits, and the result is what exact arithmetic
would round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from mote.base.integers import repeat
from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, Ints, quantize_multipliers, rescale_affine, wrap32
from mote.ir.graph.ranges import Peak, Range
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.tolerance import FLOAT_TOLERANCE
from mote.ir.graph.types import DType
from mote.ir.ops.common import WindowOp, bias_values, real_scales
from mote.ir.ops.matrix.accumulators import Accumulators, Ends, parts, products, wide_parts, window_ends
from mote.ir.ops.windows.grouped_window import GroupedWindow

FRACTION_BITS = 31
BIAS, FRACTION = 2, 3
"""Input positions of the integer part and the fractional part of the bias."""
INTEGERS = (DType.INT8, DType.INT16)
SHORT_BITS = 12
SINGLE = 2.0**-24
"""Maximum relative error of rounding to float32."""


def snapped(real: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace scales by short binary fractions if they differ only by float32 rounding of the factors: exact halves
    then occur as in float32 arithmetic (0.5 is 2.5 steps of 0.2, though the float32 nearest to 0.2 is a little
    more)."""
    fraction, exponent = np.frexp(real)
    short = np.rint(np.ldexp(fraction, SHORT_BITS)) / (1 << SHORT_BITS)
    near = np.abs(short - fraction) <= SINGLE * np.abs(fraction)
    return np.where(near, np.ldexp(short, exponent), real)


@dataclass(frozen=True)
class AffineSums(Accumulators):
    """The accumulators of a layer with affine requantization, including the integer part of the bias."""

    add: Ints | None = None
    """Per channel: fractional part of the bias times the multiplier."""

    @cached_property
    def exact(self) -> NDArray[np.bool_]:
        """Mask of channels without fraction whose rounding is exact: none."""
        return np.zeros(len(self.mult), np.bool_)

    def outputs(self, x: Ints, channel: int | slice = slice(None)) -> Ints:
        assert self.add is not None
        scaled = rescale_affine(x, self.mult[channel], self.shift[channel], self.add[channel])
        return np.clip(scaled + self.zero, -128, 127)

    def some(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> AffineSums:
        assert self.real is not None and self.add is not None
        ends = self.low[which], self.high[which]
        scales = self.mult[which], self.shift[which]
        return AffineSums(*ends, *scales, self.zero, self.real[which], self.even, add=self.add[which])


class AffineLayer(Op):
    """Base of layers with affine requantization. Inputs: activations, weights, integer parts and fractional parts of
    the bias."""

    origin: int = 0
    """Offset added to rounded results: an even number, so that halves are rounded to even codes of the file."""
    limits: tuple[int, int] = (-128, 127)
    """Smallest and largest output code of the layer (fused activation)."""
    weights = 1
    channel_axis = 0

    def unsupported(self, g: Graph) -> str | None:
        x, w, y = self.input(g), self.input(g, 1), self.output(g)
        if x.dtype not in INTEGERS or y.dtype not in INTEGERS or w.dtype not in INTEGERS:
            return f"{x.dtype} input with {w.dtype} weights and {y.dtype} output is not supported"
        for t in (x, y):
            if t.quant is None or t.quant.per_channel or t.scale <= 0:
                return f"{t.dtype} tensor '{t.name}' has no per-tensor quantization"
        if w.data is None or w.quant is None or np.any(w.quant.zero_point):
            return "weights must be constant, with zero point 0"
        if self.largest(g) > INT32_MAX:
            return f"sums of up to {self.largest(g):,} do not fit 32 bits"
        return None

    def largest(self, g: Graph) -> int:
        """Upper bound of the layer's partial sums for any inputs."""
        x, w = self.input(g), self.input(g, 1)
        assert w.data is not None
        bias, of = self.bias(g), (w.data, self.channel_axis)
        if x.dtype == DType.INT8:
            return parts(*of, x.zero_point, bias)
        return wide_parts(*of, bias) + abs(x.zero_point) * wide_parts(*of, 0 * bias) // -DType.INT16.limits[0]

    def bias(self, g: Graph) -> Ints:
        """The integer parts of the bias."""
        return bias_values(self.input(g, BIAS), self.output(g).channels)

    def scales(self, g: Graph) -> tuple[Ints, Ints, Ints]:
        """Multipliers, shifts and offsets (added to the products) of all channels."""
        y = self.output(g)
        real = snapped(real_scales(self.input(g), self.input(g, 1), y, y.channels))
        mult, shift = quantize_multipliers(real)
        return mult, shift, bias_values(self.input(g, FRACTION), len(mult)) * mult >> FRACTION_BITS

    def layer_sums(self, g: Graph, ends: Ends) -> AffineSums:
        x, w, y = self.input(g), self.input(g, 1), self.output(g)
        low, high = (self.bias(g) + end for end in ends)
        mult, shift, add = self.scales(g)
        real = real_scales(x, w, y, y.channels)
        return AffineSums(low, high, mult, shift, self.origin, real, even=True, add=add)

    def sums(self, g: Graph, inputs: Range) -> AffineSums:
        """Accumulators for int8 inputs in a range, and int8 outputs."""
        raise NotImplementedError

    def products(self, g: Graph, values: Sequence[Array | None]) -> Ints:
        """Sums of products of the layer, channels last, without bias."""
        raise NotImplementedError

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        if inputs[0] is None or self.output(g).dtype != DType.INT8:
            return None
        sums = self.sums(g, inputs[0])
        return Range(*(np.clip(sums.outputs(end), *self.limits) for end in (sums.low, sums.high)))

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        largest = self.largest(g)
        return Peak(largest, largest)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return [self._finished(g, self.products(g, values))]

    def _finished(self, g: Graph, sums: Ints, more: Ints | int = 0) -> Array:
        mult, shift, add = self.scales(g)
        scaled = rescale_affine(wrap32(sums + self.bias(g)), mult, shift, add + more)
        return np.clip(scaled + self.origin, *self.limits).astype(self.output(g).dtype.numpy)

    def alternative_codes(self, g: Graph, values: Sequence[Array | None]) -> Array | None:
        """Alternative results for sums close to a half, where float runtimes may round the other way because they round
        partial sums; None if scales are powers of two."""
        mult = self.scales(g)[0]
        if not np.any(mult & (mult - 1)):
            return None
        sums = self.products(g, values)
        absolute = [None if v is None else v.astype(np.int64) for v in values]
        zero = self.input(g).zero_point
        assert absolute[0] is not None and absolute[1] is not None
        absolute[0], absolute[1] = zero + np.abs(absolute[0] - zero), np.abs(absolute[1])
        terms = self.products(g, absolute) + np.abs(self.bias(g)) + 1
        off = (FLOAT_TOLERANCE * terms * mult).astype(np.int64) + 1
        here, up, down = (self._finished(g, sums, more) for more in (0, off, -off))
        return np.where(up != here, up, down)


class AffineConv2D(GroupedWindow, AffineLayer):
    """CONV_2D, possibly grouped, on NHWC images with [out, kh, kw, in per group] weights; padded with the zero
    point."""

    def sums(self, g: Graph, inputs: Range) -> AffineSums:
        return self.layer_sums(g, self.ends(g, inputs))

    def products(self, g: Graph, values: Sequence[Array | None]) -> Ints:
        return self.window_sums(g, values).astype(np.int64)


class AffineDepthwiseConv2D(WindowOp, AffineLayer):
    """DEPTHWISE_CONV_2D with [1, kh, kw, out] weights; output channel c reads input channel c // multiplier."""

    multiplier: int = 1
    kind = "DEPTHWISE_CONV_2D"
    pads_with_zero = True
    channel_axis = 3

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g).shape
        return [(x[0], *self.spatial(g), x[3] * self.multiplier)]

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.vertical.kernel * self.horizontal.kernel

    def work(self, g: Graph) -> int:
        """Estimated cost in multiplications; more than those, as it is no matrix product in NumPy."""
        return 8 * self.macs(g)

    def sums(self, g: Graph, inputs: Range) -> AffineSums:
        x, w = self.input(g), self.input(g, 1)
        assert w.data is not None
        weights = w.data[0].astype(np.int64)
        ends = [repeat(e - x.zero_point, self.multiplier) * weights for e in (inputs.low, inputs.high)]
        return self.layer_sums(g, window_ends((np.minimum(*ends), np.maximum(*ends)), *self.present(g)))

    def products(self, g: Graph, values: Sequence[Array | None]) -> Ints:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        zero = self.input(g).zero_point
        sums = []
        for patches in self.windows(x, zero):
            each = np.repeat(patches.astype(np.int64) - zero, self.multiplier, axis=3)
            sums.append(np.einsum("nyxckl,klc->nyxc", each, w[0].astype(np.int64)))
        return np.concatenate(sums, axis=1)


class AffineFullyConnected(AffineLayer):
    """FULLY_CONNECTED with affine requantization: [.., depth] x [channels, depth]."""

    keep_dims: bool = False
    kind = "FULLY_CONNECTED"

    def shapes(self, g: Graph) -> list[Shape]:
        x, (channels, depth) = self.input(g).shape, self.input(g, 1).shape
        return [(*x[:-1], channels) if self.keep_dims else (prod(x) // depth, channels)]

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.input(g, 1).shape[1]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,) if self.input(g).shape[:-1] == self.output(g).shape[:-1] else None

    def sums(self, g: Graph, inputs: Range) -> AffineSums:
        x, w = self.input(g), self.input(g, 1)
        assert w.data is not None
        columns = np.arange(w.shape[1], dtype=np.int64) % x.channels
        if w.shape[1] % x.channels:
            columns, inputs = 0 * columns, inputs.hull
        ends = products(w.data, inputs.low[columns] - x.zero_point, inputs.high[columns] - x.zero_point)
        return self.layer_sums(g, ends)

    def products(self, g: Graph, values: Sequence[Array | None]) -> Ints:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        vectors = x.astype(np.float64) - self.input(g).zero_point
        return (vectors.reshape(-1, w.shape[1]) @ w.astype(np.float64).T).astype(np.int64).reshape(self.shapes(g)[0])
