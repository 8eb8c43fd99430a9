"""The records of depthwise kernels: what a channel's sums are made of, and what turns them into bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mote.graph.fixedpoint import Ints, wrap32
from mote.kernels.contract import View
from mote.kernels.pack.narrow import LEAST_SCALE, Narrow, narrow, shifts
from mote.kernels.pack.params import pad_to
from mote.ops.common import bias_values, int8_range
from mote.ops.depthwise import DepthwiseConv2D
from mote.ops.sums import Sums

Weights = Literal["w16", "w8"]
"""Two bytes a weight, scaled as its channel needs, or one: these are scaled by 256, and unpacked for each row."""
WEIGHTS: tuple[Weights, ...] = ("w16", "w8")

SHIFTS = (10, 11, 9, 12, 8, 13, 14, 15)
"""The shifts that are tried first: layers that share one share the code."""
MOST_SHIFT = 22
"""Outputs shifted left by more do not fit a register."""
W8_SCALE = 8
"""Weights of 8 bits, times 2^8."""
LOST_BITS = 22
"""How many bits of a multiplier may be missing where a channel would have to be scaled by less."""
MOST_OFFSETS = 1 << 20
"""That are tried."""


@dataclass(frozen=True)
class Channels:
    """What all channels of a layer need: weights are [channels, rows, columns]."""

    weights: Ints
    bias: Ints
    sums: Sums
    found: Narrow

    @property
    def form(self) -> str:
        """Whether negative results vanish in the activation."""
        return "linear" if self.sums.linear else "relu"

    @property
    def biases(self) -> Ints:
        return self.found.biases(self.bias)

    @property
    def constants(self) -> Ints:
        """[channels, mult, add] and `fix` for linear outputs."""
        return self.found.constants(self.sums.linear)

    def with_zero(self, zero: int) -> Channels:
        """For inputs as they are, whose zero point is this."""
        return replace(self, bias=self.bias - zero * self.weights.sum(axis=(1, 2)))

    def words(self, stride: int, weights: Weights) -> Ints:
        """[channels, rows, words]: weights two to a word, (w0, w1), (w1, w2), .. for stride 1, (w0, w1), (w2, w3), ..
        for stride 2; where they have 8 bits, two of these words in one, the second in the odd bytes."""
        values = np.where(self.found.constant[:, None, None], 0, self.weights)
        if stride == 2 or values.shape[2] == 1:
            values = pad_to(values, 2, 2)
            first, second = values[:, :, 0::2], values[:, :, 1::2]
        else:
            first, second = values[:, :, :-1], values[:, :, 1:]
        if weights == "w16":
            scale = self.found.scale[:, None, None]
            return (first << scale & 0xFFFF) | second << scale << 16
        both: Ints = pad_to((first & 0xFF) | (second & 0xFF) << 16, 2, 2)
        return both[:, :, 0::2] | both[:, :, 1::2] << 8


def channels_of(view: View, weights: Weights = "w16", shift: int | None = None) -> Channels | None:
    """None where the layer's numbers do not allow it; `shift`: only this one."""
    op, y = view.the(DepthwiseConv2D), view.output
    if int8_range(op.activation, y) != (-128, 127):
        return None
    values = view.constant(1)[0].astype(np.int64).transpose(2, 0, 1)
    bias = bias_values(op.tensor(view.graph, 2), y.shape[3])
    sums = op.sums(view.graph, view.graph.ranges[op.inputs[0]])
    found = _narrowed(values, sums, weights, shift)
    return Channels(values, bias, sums, found) if found else None


def stream(*parts: Ints) -> NDArray[np.int32]:
    """Records of these parts, channels first, one after another."""
    flat = [part.reshape(len(part), -1) for part in parts]
    return wrap32(np.concatenate(flat, axis=1)).astype(np.int32).reshape(-1)


def _narrowed(values: Ints, sums: Sums, weights: Weights, shift: int | None) -> Narrow | None:
    """Constants for the first shift that has some."""
    largest = np.maximum(values, -values - 1).max(axis=(1, 2))
    sixteen = 15 - np.ceil(np.log2(largest + 1)).astype(np.int64)
    register = 30 - np.floor(np.log2(np.maximum(np.maximum(sums.high, -sums.low), 1))).astype(np.int64)
    most = np.minimum(sixteen if weights == "w16" else W8_SCALE, register)
    possible = [s for s in shifts(sums, most) if s <= MOST_SHIFT]
    tried = [*(s for s in SHIFTS if s in possible), *(s for s in possible if s not in SHIFTS)]
    results = (_constants(sums, s, most, weights) for s in (tried if shift is None else [shift]))
    return next((found for found in results if found is not None), None)


def _constants(sums: Sums, shift: int, most: Ints, weights: Weights) -> Narrow | None:
    """Constants for sums that are scaled by 2^most at most. Channels that can be scaled as `shift` wants it have them
    by construction; the others are scaled as far as they can be and have fewer bits of the multiplier."""
    value, constant, right = sums.outputs(sums.low), sums.constant, -sums.shift
    wanted = shift + 1 - right
    scale = np.where(wanted < LEAST_SCALE, most, wanted) if weights == "w16" else np.full(len(value), W8_SCALE)
    lost = scale - wanted
    if not np.all(constant | (right >= 1) & (scale <= most) & (lost >= 0) & (lost <= LOST_BITS)):
        return None
    found = np.stack([0 * value, 0 * value, (value << shift) + (1 << (shift - 1)), 0 * value])
    if np.any(plain := ~constant & (lost == 0)):
        exact = narrow(_some(sums, plain), shift, scale[plain])
        assert exact is not None
        found[:, plain] = exact.offset, exact.mult, exact.add, exact.fix
    others = np.flatnonzero(~constant & (lost > 0))
    for channel, steps in zip(others.tolist(), _steps(_some(sums, others)), strict=True):
        one = _some(sums, slice(channel, channel + 1))
        fitted = _fit(one, steps, shift, int(scale[channel]), int(lost[channel]))
        if fitted is None:
            return None
        found[:, channel] = fitted
    offset, mult, add, fix = found
    return Narrow(shift, np.where(constant, 0, scale), offset, mult, add, fix, constant)


def _some(sums: Sums, which: NDArray[Any] | slice) -> Sums:
    return replace(sums, low=sums.low[which], high=sums.high[which], mult=sums.mult[which], shift=sums.shift[which])


def _steps(sums: Sums) -> Ints:
    """[channels, 255]: the sums at which the outputs -127..127 are reached, for outputs between the first and last."""
    values = np.arange(-127, 128)[:, None]
    below, above = (np.broadcast_to(ends, (255, len(ends))) for ends in (sums.low, sums.high))
    while np.any(above - below > 1):
        middle = (below + above) // 2
        reached = sums.outputs(middle) >= values
        above, below = np.where(reached, middle, above), np.where(reached, below, middle)
    return above.T


def _fit(sums: Sums, steps: Ints, shift: int, scale: int, lost: int) -> tuple[int, int, int, int] | None:
    """A channel's offset, mult, add and fix. Every sum x at which the output becomes v, and the one before it, say how
    large (x mult << scale) + c has to be and has not to be: c = offset mult + (add << 32) lies between two bounds.
    Where it matters that what is negative stays so, offsets are below 2^scale."""
    low, high = int(sums.low[0]), int(sums.high[0])
    first, last = sums.outputs(np.array([low, high])).tolist()
    values = np.arange(first + 1, last + 1)
    steps = steps[first + 128 : last + 128]
    reached, missed = np.stack([steps, values]), np.stack([steps - 1, values])
    reached = np.append(reached, [[low], [first]], axis=1) if first > -128 else reached
    missed = np.append(missed, [[high], [last + 1]], axis=1) if last < 127 else missed
    natural = (1 << max(scale - lost, 0)) >> 1
    nearest = (int(sums.mult[0]) + (1 << lost >> 1)) >> lost
    room = min((1 << 31) - (max(high, 0) << scale), MOST_OFFSETS)
    count = 1 << scale if sums.linear else min(room, (1 << 32) // max(nearest, 1) + (16 << scale))
    for mult in (nearest, nearest + 1, max(nearest - 1, 0)):
        offsets = np.arange(count) * mult
        for fix in (natural, natural + 1, max(natural - 1, 0)) if sums.linear else (0,):
            least, most = (
                (v << 32 + shift) - (x << scale) * mult - np.where(x >= 0, fix << 32, 0) for x, v in (reached, missed)
            )
            adds = -((offsets - least.max()) >> 32)
            fits = np.flatnonzero(offsets + (adds << 32) < most.min())
            if len(fits):
                return int(fits[0]), mult, int(adds[fits[0]]), fix
    return None
