"""Input gradients of int8 convolutions from current weights: for trainable layers, and for layers whose gradient no
inference operator computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints, quantize_multipliers, rescale
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import MOST_SHIFT, Axis
from mote.ir.ops.training.integer.losses import LARGEST
from mote.ir.ops.training.integer.types import type_problem
from mote.ir.ops.training.window_gradients import taps

FACTOR_BITS = 15
"""Fraction bits of per-channel factors."""
KEPT_BITS = 4
"""Additional bits that a gradient keeps when it is multiplied by a per-channel factor."""
MOST_TERMS = 8191
"""Maximum number of products of a 12-bit gradient and an int8 weight whose sum fits 31 bits."""


class IntegerInputGradient(Op):
    """Base of int8 input gradients. Inputs: gradient int8, weights int8; output: int8 gradient of images of height and
    width `size`."""

    size: tuple[int, int]
    vertical: Axis
    horizontal: Axis

    def channels(self, g: Graph) -> int:
        """Number of channels of the images."""
        raise NotImplementedError

    def shapes(self, g: Graph) -> list[Shape]:
        return [(1, *self.size, self.channels(g))]

    def weights_scale(self, g: Graph) -> Array:
        """The weights' scale for each channel of the output's gradient."""
        w = self.input(g, 1)
        assert w.quant is not None
        return np.broadcast_to(w.quant.scale.astype(np.float64), (self.given_channels(g),))

    def given_channels(self, g: Graph) -> int:
        return self.input(g).channels

    def unsupported(self, g: Graph) -> str | None:
        gradient, w = self.input(g), self.input(g, 1)
        if problem := type_problem(g, self, DType.INT8, DType.INT8):
            return problem
        if gradient.quant is None or w.quant is None or self.output(g).quant is None:
            return "gradients and weights must have scales"
        sizes = self.vertical.size(self.size[0]), self.horizontal.size(self.size[1])
        if gradient.size != sizes[0] * sizes[1] * self.given_channels(g):
            return f"images of {self.size} do not give {gradient.shape}"
        if self.terms_of(g) > MOST_TERMS:
            return f"sums of {self.terms_of(g)} products are not supported (at most {MOST_TERMS})"
        _, shifts = self.scaling(g)
        return None if shifts.max() <= MOST_SHIFT else "the gradient's scale is too small"

    def terms_of(self, g: Graph) -> int:
        """Maximum number of products in the sum of an output element."""
        raise NotImplementedError

    def scaling(self, g: Graph) -> tuple[Ints, Ints]:
        """Multipliers and shifts that rescale sums to the output: one, or one per channel."""
        raise NotImplementedError

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        gradient, weights = values
        assert gradient is not None and weights is not None
        sums = np.zeros(self.shapes(g)[0])
        rows, columns = self.vertical.size(self.size[0]), self.horizontal.size(self.size[1])
        given = self.scaled(g, gradient.reshape(1, rows, columns, -1).astype(np.int64)).astype(np.float64)
        kernel = weights.astype(np.float64).reshape(self.kernel(g))
        for tap in taps(self.vertical, self.horizontal, *self.size):
            tap.scatter_add(sums, self.part(tap.at_outputs(given), kernel, tap.at))
        result = rescale(sums.astype(np.int64), *self.scaling(g))
        return [np.clip(result, -LARGEST, LARGEST).astype(np.int8)]

    def kernel(self, g: Graph) -> Shape:
        """The shape of the weights, including both axes of the window."""
        raise NotImplementedError

    def scaled(self, g: Graph, gradient: Ints) -> Ints:
        """The gradient as it is multiplied by the weights, with per-channel factors applied."""
        return gradient

    def part(self, gradient: Array, kernel: Array, at: tuple[int, int]) -> Array:
        """Contribution of a kernel tap to the input gradient."""
        raise NotImplementedError


def shares(scales: Array, largest: Array) -> Ints:
    """Per-channel factors: scales relative to the largest one, with FACTOR_BITS fraction bits."""
    factors: Ints = np.rint(scales / largest * ((1 << FACTOR_BITS) - 1)).astype(np.int64)
    return factors


def multiplied(gradient: Ints, factors: Ints) -> Ints:
    """Multiply the gradient of each channel by its factor; the result has KEPT_BITS more bits."""
    drop = FACTOR_BITS - KEPT_BITS
    return gradient * factors + (1 << drop - 1) >> drop


class IntegerConvInputGradient(IntegerInputGradient):
    """Input gradient of CONV_2D with weights [out, kh, kw, in], or FULLY_CONNECTED with [out, in]. Scales differ by
    output channel: gradients are multiplied by 15-bit per-channel factors first, with 4 additional bits."""

    kind = "CONV_2D_INPUT_GRADIENT_INT8"

    def channels(self, g: Graph) -> int:
        return self.input(g, 1).channels

    def kernel(self, g: Graph) -> Shape:
        return self.given_channels(g), self.vertical.kernel, self.horizontal.kernel, self.channels(g)

    def macs(self, g: Graph) -> int:
        return self.input(g).size // self.given_channels(g) * self.input(g, 1).size

    def unsupported(self, g: Graph) -> str | None:
        if self.input(g, 1).shape[0] != self.given_channels(g):
            return f"weights of {self.input(g, 1).shape} do not give {self.given_channels(g)} channels"
        return super().unsupported(g)

    def terms_of(self, g: Graph) -> int:
        return self.given_channels(g) * self.vertical.kernel * self.horizontal.kernel

    def factors(self, g: Graph) -> Ints:
        """Per-channel factors: each output channel's scale relative to the largest."""
        scales = self.weights_scale(g)
        return shares(scales, scales.max())

    def scaling(self, g: Graph) -> tuple[Ints, Ints]:
        largest = self.weights_scale(g).max()
        real = self.input(g).scale * largest / self.output(g).scale / (1 << KEPT_BITS)
        return quantize_multipliers(np.array([real]))

    def scaled(self, g: Graph, gradient: Ints) -> Ints:
        return multiplied(gradient, self.factors(g))

    def part(self, gradient: Array, kernel: Array, at: tuple[int, int]) -> Array:
        return np.asarray(gradient @ kernel[:, *at])


class IntegerDepthwiseInputGradient(IntegerInputGradient):
    """Input gradient of DEPTHWISE_CONV_2D with weights [1, kh, kw, out]: each input channel from its `multiplier`
    output channels. If there are several, gradients are multiplied by per-channel factors first, as for CONV_2D."""

    multiplier: int = 1
    kind = "DEPTHWISE_CONV_2D_INPUT_GRADIENT_INT8"

    def channels(self, g: Graph) -> int:
        return self.given_channels(g) // self.multiplier

    def kernel(self, g: Graph) -> Shape:
        return 1, self.vertical.kernel, self.horizontal.kernel, self.given_channels(g)

    def macs(self, g: Graph) -> int:
        return self.input(g).size * self.vertical.kernel * self.horizontal.kernel

    def unsupported(self, g: Graph) -> str | None:
        given = self.given_channels(g)
        if self.input(g, 1).channels != given or given % self.multiplier:
            return f"weights of {self.input(g, 1).shape} are not those of {given} channels, {self.multiplier} of each"
        return super().unsupported(g)

    def terms_of(self, g: Graph) -> int:
        return self.vertical.kernel * self.horizontal.kernel * self.multiplier

    def _by_channel(self, g: Graph) -> Array:
        """The scales of the weights, reshaped to [input channels, multiplier]."""
        return self.weights_scale(g).reshape(-1, self.multiplier)

    def factors(self, g: Graph) -> Ints:
        """Per-channel factors: each output channel's scale relative to the largest with the same input channel."""
        scales = self._by_channel(g)
        return shares(scales, scales.max(axis=1, keepdims=True)).reshape(-1)

    def scaling(self, g: Graph) -> tuple[Ints, Ints]:
        finer = 1 << KEPT_BITS if self.multiplier > 1 else 1
        return quantize_multipliers(
            self.input(g).scale * self._by_channel(g).max(axis=1) / self.output(g).scale / finer
        )

    def scaled(self, g: Graph, gradient: Ints) -> Ints:
        return multiplied(gradient, self.factors(g)) if self.multiplier > 1 else gradient

    def part(self, gradient: Array, kernel: Array, at: tuple[int, int]) -> Array:
        products = gradient * kernel[0, *at]
        return np.asarray(
            products.reshape(*products.shape[:3], products.shape[3] // self.multiplier, self.multiplier).sum(axis=4)
        )
