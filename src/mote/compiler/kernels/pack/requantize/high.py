"""Requantization with the high word of one product, for cores without SIMD: `mote_lanes_byte` in `mote_lanes_s8.h`.

Let q = floor(x * mult / 2^30), the high word of 4x times mult, and s the right shift. Where the reference rounds once,
its results are floor((q + 2^s) / 2^(s + 1)). Where it rounds twice, after the multiplication and after the shift, they
are floor((q + 1 + 2^s) / 2^(s + 1)) for non-negative accumulators; negative ones take an extra step, unless the
activation clamps them. The zero point is added before the shift. Accumulators are below 2^29, so that 4x fits 32 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.compiler.kernels.contract import Refusal, Structs
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, Ints
from mote.ir.ops.matrix.accumulators import Accumulators

LARGEST = 1 << 29
"""Exclusive limit for the absolute value of accumulators."""
TOO_LARGE = Refusal("four times an accumulator might not fit 32 bits")
LEFT = Refusal("a scale is 1 or more, or 1/2 and negative results can be seen")


@dataclass(frozen=True, eq=False)
class HighWords:
    """The fields of `mote_lanes_channel_t` of all channels except for the bias, and the constants of the layer."""

    mult: Ints
    add: Ints
    shift: Ints
    lo: int
    hi: int
    halves: bool
    """Whether negative results are visible and ties round away from zero."""

    @property
    def form(self) -> str:
        """Suffix of the C function `mote_lanes_byte_...` that requantizes."""
        return "halves" if self.halves else "plain"

    def structs(self, bias: Ints) -> Structs:
        return Structs("mote_lanes_channel_t", np.stack([bias, self.mult, self.add, self.shift], axis=1))


def high_words(sums: Accumulators, limits: tuple[int, int], *, idle: bool = False) -> HighWords | Refusal:
    """Constants for all accumulators that can occur, with clamping to `limits`; constant channels have a multiplier of
    0. `idle`: the kernel ignores the biases of constant channels, so that these may be of any size."""
    lo, hi = limits
    halves = not sums.once and lo < sums.zero and bool(np.any(sums.low < 0))
    constant, right = sums.constant | (sums.mult == 0), -sums.shift
    if np.any(~constant & (right < halves)):
        return LEFT
    values: Ints = np.where(sums.mult == 0, sums.zero, np.clip(sums.outputs(sums.low), lo, hi))
    shift = np.where(constant, 1, right + (not halves)).astype(np.int64)
    nudge = 0 if halves or sums.once else (right > 0).astype(np.int64)
    add = np.where(constant, 2 * values, nudge + (2 * sums.zero + 1 << np.maximum(shift - 1, 0)))
    mult = np.where(constant, 0, sums.mult)
    largest = np.where(constant & idle, 0, np.maximum(np.abs(sums.low), np.abs(sums.high)))
    if np.any(~sums.fits) or np.any(largest >= LARGEST) or np.any(2 * largest + np.abs(add) > INT32_MAX):
        return TOO_LARGE
    return HighWords(mult, add, shift, lo, hi, halves)
