"""Training steps of int8 weights and int32 biases: the gradient of each element is summed in integers and applied
immediately, in place, so that there is no gradient tensor.

Inputs: weights or bias (a state), gradient of the output, .., step size, sample number. The state may have only some of
the layer's output channels: `first` is the index of the first of them in the gradient. With momentum or gradient
accumulation, the last input is the update accumulator, also a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints, high_mul, quantize_multipliers
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.training.integer.losses import LARGEST
from mote.ir.ops.training.integer.momentum import KEPT_BITS, Momentum, kept_share
from mote.ir.ops.training.noise import hashed
from mote.ir.ops.training.window_gradients import taps

ROOM = 30
"""Bits, besides the sign, of normalized sums and of steps."""
BIAS_LIMIT = (1 << ROOM) - 1
"""Maximum absolute value of a trained bias: sums of products plus bias still fit int32."""
MOST_SEED = 0x7FFFFFFF
MOST_SHIFT = 512
"""Shifts are clamped to this: larger ones make no difference."""
MOST_GRADIENT, MOST_PIXEL = 128, 255
"""Maximum absolute values: of an int8 gradient, and of an int8 pixel minus its zero point."""


class IntegerStep(Op):
    """Base of training steps of a state: applied per sample, or as an update accumulated over `every` samples, with
    momentum."""

    seed: int
    first: int = 0
    momentum: float = 0.0
    every: int = 1
    update_bits: ClassVar[int]
    """Additional fraction bits of the update accumulator compared with the state."""

    @property
    def has_update(self) -> bool:
        return self.momentum > 0 or self.every > 1

    @property
    def updates(self) -> dict[int, int]:
        return {0: 0, 1: len(self.inputs) - 1} if self.has_update else {0: 0}

    @property
    def update_rule(self) -> Momentum:
        """The rule by which the update accumulator changes the state."""
        return Momentum(self.every, kept_share(self.momentum), self.update_bits, ~self.seed & MOST_SEED)

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape] * len(self.updates)

    @property
    def limit(self) -> int:
        """Maximum absolute value of an element of the state."""
        raise NotImplementedError

    def channels(self, g: Graph) -> int:
        """Number of output channels that the state has."""
        raise NotImplementedError

    def positions(self, g: Graph) -> int:
        """Number of positions (pixels) of the gradient."""
        gradient = self.input(g, 1)
        return gradient.size // gradient.channels

    def peak_sum(self, g: Graph) -> int:
        """Upper bound of the absolute value of gradient sums."""
        return self.positions(g) * MOST_GRADIENT

    def left(self, g: Graph) -> int:
        """Left shift that normalizes gradient sums to ROOM bits."""
        return ROOM - self.peak_sum(g).bit_length()

    def real(self, g: Graph) -> NDArray[np.float64]:
        """Factor per channel from a gradient sum to quantization steps of the state, for a step size of 1."""
        raise NotImplementedError

    def factors(self, g: Graph) -> tuple[Ints, Ints]:
        """Mantissas and shifts from gradient sums to steps of the state, or of the update accumulator (finer, and
        averaged over several samples)."""
        real = self.real(g) * (2.0**self.update_bits / self.every if self.has_update else 1.0)
        return quantize_multipliers(np.broadcast_to(real, (self.channels(g),)))

    @property
    def size_at(self) -> int:
        """Input position of the step size; the sample number follows."""
        return len(self.inputs) - len(self.updates) - 1

    def unsupported(self, g: Graph) -> str | None:
        gradient, size, number = (self.input(g, p) for p in (1, self.size_at, self.size_at + 1))
        if not 0 <= self.first <= gradient.channels - self.channels(g):
            return f"channels {self.first} to {self.first + self.channels(g) - 1} are not all in the gradient"
        if self.left(g) < 0:
            return f"sums over {self.positions(g):,} positions do not fit 32 bits"
        if (size.dtype, size.shape, number.dtype, number.shape) != (DType.INT32, (2,), DType.INT32, (1,)):
            return "it needs the step size, int32 [2], and the sample number, int32 [1]"
        if self.has_update:
            state, update = self.input(g), self.input(g, len(self.inputs) - 1)
            if (update.dtype, update.shape) != (state.dtype, state.shape):
                return f"an update of {update.dtype} {update.shape} is not that of {state.dtype} {state.shape}"
            if not 0 <= self.update_rule.kept < 1 << KEPT_BITS:
                return f"momentum {self.momentum:g} is not supported (below 1)"
        return None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        state, number = values[0], values[self.size_at + 1]
        assert state is not None and number is not None
        if not self.has_update:
            return [self._stepped(g, values, state)]
        update = values[-1]
        assert update is not None
        whole = state.astype(np.int64), self._stepped(g, values, update).astype(np.int64)
        return [x.astype(state.dtype) for x in self.update_rule.added(*whole, int(number[0]), self.limit)]

    def _stepped(self, g: Graph, values: Sequence[Array | None], state: Array) -> Array:
        """The state, or the update accumulator, after one sample's gradient step."""
        size, number = values[self.size_at : self.size_at + 2]
        assert size is not None and number is not None
        mantissa, shift = self.factors(g)
        factor = high_mul(mantissa, int(size[0]))
        right = self.left(g) - shift - int(np.clip(size[1], -MOST_SHIFT, MOST_SHIFT))
        sums = self.sums(g, values).reshape(state.shape).astype(np.int64)
        spread = [-1 if axis == self.channel_axis else 1 for axis in range(state.ndim)]
        scaled = high_mul(sums << self.left(g), factor.reshape(spread))
        noise = hashed(int(number[0]), state.size, self.seed).reshape(state.shape)
        step = stochastic(scaled, right.reshape(spread), noise)
        before = np.clip(state.astype(np.int64), -self.limit, self.limit)
        stepped: Array = np.clip(before - step, -self.limit, self.limit).astype(state.dtype)
        return stepped

    channel_axis = 0

    def sums(self, g: Graph, values: Sequence[Array | None]) -> Array:
        """Gradient sums of the state's elements."""
        raise NotImplementedError

    def own(self, g: Graph, gradient: Array) -> Array:
        """The part of the gradient for the state's channels."""
        return gradient[..., self.first : self.first + self.channels(g)].astype(np.float64)


class BiasStep(IntegerStep):
    """BIAS_STEP: training step of a bias. Inputs: bias int32 [channels]; gradient sums int32 over `over` positions;
    step size; sample number."""

    over: int = 1
    update_bits = 8
    kind = "BIAS_STEP"

    @property
    def limit(self) -> int:
        return BIAS_LIMIT

    def channels(self, g: Graph) -> int:
        return self.input(g).size

    def positions(self, g: Graph) -> int:
        return self.over

    def real(self, g: Graph) -> NDArray[np.float64]:
        bias, sums = self.input(g), self.input(g, 1)
        assert bias.quant is not None
        return sums.scale / bias.quant.scale.astype(np.float64)

    def unsupported(self, g: Graph) -> str | None:
        bias, sums = self.input(g), self.input(g, 1)
        if bias.dtype != DType.INT32 or bias.quant is None or len(bias.shape) != 1:
            return f"a bias of {bias.dtype} {bias.shape} cannot learn (int32 of one axis, with a scale)"
        if sums.dtype != DType.INT32 or sums.quant is None or len(sums.shape) != 1:
            return f"sums of {sums.dtype} {sums.shape} are not supported (int32 of one axis, with a scale)"
        return super().unsupported(g)

    def sums(self, g: Graph, values: Sequence[Array | None]) -> Array:
        sums = values[1]
        assert sums is not None
        most = self.peak_sum(g)
        return np.clip(self.own(g, sums), -most, most)


class ConvStep(IntegerStep):
    """CONV_2D_STEP: training step of weights [out, kh, kw, in] of CONV_2D, or [out, in] of FULLY_CONNECTED (a 1x1
    window). Inputs: weights, gradient, images, step size, sample number."""

    vertical: Axis = Axis(1)
    horizontal: Axis = Axis(1)
    update_bits = 3
    kind = "CONV_2D_STEP"

    @property
    def limit(self) -> int:
        return LARGEST

    def channels(self, g: Graph) -> int:
        return self.input(g).shape[0]

    def macs(self, g: Graph) -> int:
        return self.positions(g) * self.input(g).size

    def peak_sum(self, g: Graph) -> int:
        return self.positions(g) * MOST_GRADIENT * MOST_PIXEL

    def real(self, g: Graph) -> NDArray[np.float64]:
        weights, gradient, x = (self.input(g, p) for p in range(3))
        assert weights.quant is not None
        return gradient.scale * x.scale / weights.quant.scale.astype(np.float64)

    def images(self, g: Graph) -> tuple[Shape, Shape]:
        """The shapes of a layer's input and output gradient, seen as images."""
        x, gradient = self.input(g, 2), self.input(g, 1)
        if len(x.shape) == len(gradient.shape) == 4:
            return x.shape, gradient.shape
        depth = self.input(g).shape[-1]
        return (1, x.size // depth, 1, depth), (1, self.positions(g), 1, gradient.channels)

    def unsupported(self, g: Graph) -> str | None:
        weights, gradient, x = (self.input(g, p) for p in range(3))
        if gradient.shape[0] != 1:
            return f"a gradient of {gradient.shape} is not that of one sample"
        for t in (weights, gradient, x):
            if t.dtype != DType.INT8 or t.quant is None:
                return f"{t.dtype} tensor '{t.name}' is not supported (only int8, with a scale)"
        (n, height, width, depth), outputs = self.images(g)
        sizes = self.vertical.size(height), self.horizontal.size(width)
        if (n, *sizes) != outputs[:3] or weights.size != self.elements(g, depth):
            return f"images of {(n, height, width, depth)} and weights of {weights.shape} do not give {outputs}"
        return super().unsupported(g)

    def elements(self, g: Graph, depth: int) -> int:
        """Required number of weights; -1 if the channels do not match."""
        return self.channels(g) * self.vertical.kernel * self.horizontal.kernel * depth

    def sums(self, g: Graph, values: Sequence[Array | None]) -> Array:
        _, gradient, x, *_ = values
        assert gradient is not None and x is not None
        images, outputs = self.images(g)
        pixels = x.reshape(images).astype(np.float64) - self.input(g, 2).zero_point
        own = self.own(g, gradient.reshape(outputs))
        window = taps(self.vertical, self.horizontal, *images[1:3])
        of_taps = [self.products(tap.at_inputs(pixels), tap.at_outputs(own)) for tap in window]
        return self.joined(np.array(of_taps))

    def products(self, pixels: Array, gradient: Array) -> Array:
        """Sums of products of gradient and pixels for a kernel tap, over all positions."""
        return np.asarray(gradient.reshape(-1, gradient.shape[3]).T @ pixels.reshape(-1, pixels.shape[3]))

    def joined(self, of_taps: Array) -> Array:
        """The sums of all taps in the layout of the weights."""
        return of_taps.transpose(1, 0, 2)


class DepthwiseStep(ConvStep):
    """DEPTHWISE_CONV_2D_STEP: training step of weights [1, kh, kw, out]."""

    multiplier: int = 1
    channel_axis = 3
    kind = "DEPTHWISE_CONV_2D_STEP"

    def channels(self, g: Graph) -> int:
        return self.input(g).channels

    def elements(self, g: Graph, depth: int) -> int:
        fits = self.channels(g) == self.input(g, 1).channels == depth * self.multiplier
        return self.channels(g) * self.vertical.kernel * self.horizontal.kernel if fits else -1

    def products(self, pixels: Array, gradient: Array) -> Array:
        return np.asarray((np.repeat(pixels, self.multiplier, axis=3) * gradient).sum(axis=(0, 1, 2)))

    def joined(self, of_taps: Array) -> Array:
        return of_taps


def stochastic(x: Ints, right: Ints, noise: NDArray[np.uint32]) -> Ints:
    """x / 2^right for x of at most 30 bits, stochastically rounded by `noise`; negative `right` shifts left, clamped to
    30 bits."""
    x = x >> np.clip(right - ROOM, 0, 31)
    right = np.minimum(right, ROOM)
    shift = np.maximum(right, 0)
    rounded = x + (noise.astype(np.int64) >> 32 - shift) >> shift
    left = np.clip(-right, 0, ROOM)
    most = np.int64(1) << ROOM - left
    return np.where(right > 0, rounded, np.clip(x, -most, most) << left)
