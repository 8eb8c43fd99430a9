"""Per-channel records of depthwise kernels: bias, packed weights and requantization constants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import View
from mote.compiler.kernels.pack.params import pad_to
from mote.compiler.kernels.pack.requantize.dsp import Narrow, narrow, shifts
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.ops.common import BIAS, bias_values, int8_range, learned
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


class Weights(StrEnum):
    """Storage format of depthwise weights."""

    W16 = "w16"
    """16 bits each, scaled by a power of two for each channel."""
    W8 = "w8"
    """8 bits each, unpacked for each window row to 16 bits, scaled by 256."""
    B8 = "b8"
    """8-bit weights with biases in a separate array, for biases that are trained on the device."""


WEIGHTS = (Weights.W16, Weights.W8)

SHIFTS = (10, 11, 9, 12, 8, 13, 14, 15)
"""Requantization shifts that are tried first: layers with equal shifts share code."""
MOST_SHIFT = 22
"""Largest requantization shift: sums scaled for a larger one overflow a register."""
MOST_STORED = 5
"""Widest window row whose 8-bit weights are stored as overlapping pairs; in wider ones each weight is stored once."""
W8_SCALE = 8
"""log2 of the factor (256) that 8-bit weights are scaled by."""


@dataclass(frozen=True)
class Channels:
    """Weights [channels, rows, columns], biases and requantization constants of all channels of a layer."""

    weights: Ints
    bias: Ints
    sums: Accumulators
    requantization: Narrow

    @property
    def form(self) -> str:
        """`relu` if the activation clips all negative results, so that requantization needs one constant less; else
        `linear`."""
        return "linear" if self.sums.linear else "relu"

    @property
    def biases(self) -> Ints:
        return self.requantization.biases(self.bias)

    @property
    def constants(self) -> Ints:
        """Requantization constants [channels, mult, add], with `fix` as a third for linear outputs."""
        return self.requantization.constants(self.sums.linear)

    def with_zero(self, zero: int) -> Channels:
        """These channels for inputs that keep their `zero` point: it is folded into the biases."""
        return replace(self, bias=self.bias - zero * self.weights.sum(axis=(1, 2), dtype=np.int64))

    def words(self, stride: int, weights: Weights) -> Ints:
        """Packed weights [channels, rows, words], two to a word: (w0, w1), (w1, w2), .. for stride 1; (w0, w1), (w2,
        w3), .. for stride 2 and for more than MOST_STORED 8-bit weights. 8-bit weights: two such words in one, the
        second in the odd bytes."""
        values = np.where(self.requantization.constant[:, None, None], 0, self.weights)
        if stride == 2 or values.shape[2] == 1 or (weights is Weights.W8 and values.shape[2] > MOST_STORED):
            values = pad_to(values, 2, 2)
            first, second = values[:, :, 0::2], values[:, :, 1::2]
        else:
            first, second = values[:, :, :-1], values[:, :, 1:]
        if weights is Weights.W16:
            scale = self.requantization.scale[:, None, None]
            return (first << scale & 0xFFFF) | second << scale << 16
        both: Ints = pad_to((first & 0xFF) | (second & 0xFF) << 16, 2, 2)
        return both[:, :, 0::2] | both[:, :, 1::2] << 8


def form_of(view: View, weights: Weights) -> Weights:
    return Weights.B8 if weights is Weights.W8 and BIAS in learned(view.graph, view.op) else weights


def channels_of(view: View, weights: Weights = Weights.W16, shift: int | None = None) -> Channels | None:
    """Weights, biases and requantization constants of the layer; None: no constants requantize it exactly. `shift`: try
    only this one."""
    op, y = view.the(DepthwiseConv2D), view.output
    if int8_range(op.activation, y) != (-128, 127):
        return None
    values = view.constant(1)[0].astype(np.int64).transpose(2, 0, 1)
    bias = bias_values(op.tensor(view.graph, 2), y.shape[3])
    sums = op.sums(view.graph, view.graph.ranges[op.inputs[0]])
    requantization = _narrowed(values, sums, weights, shift)
    return Channels(values, bias, sums, requantization) if requantization else None


def stream(*parts: Ints) -> NDArray[np.int32]:
    """Concatenate the parts of each channel to its record, and all records to one array."""
    flat = [part.reshape(len(part), -1) for part in parts]
    return wrap32(np.concatenate(flat, axis=1)).astype(np.int32).reshape(-1)


def _narrowed(values: Ints, sums: Accumulators, weights: Weights, shift: int | None) -> Narrow | None:
    """Requantization constants for the first shift that gives exact results; None: no shift does."""
    largest = np.maximum(values, -values - 1).max(axis=(1, 2))
    sixteen = 15 - np.ceil(np.log2(largest + 1)).astype(np.int64)
    most = sixteen if weights is Weights.W16 else np.full(len(values), W8_SCALE, np.int64)
    possible = [s for s in shifts(sums, most) if s <= MOST_SHIFT]
    tried = [*(s for s in SHIFTS if s in possible), *(s for s in possible if s not in SHIFTS)]
    results = (narrow(sums, s, most, fixed=weights is Weights.W8) for s in (tried if shift is None else [shift]))
    return next((result for result in results if result is not None), None)
