"""Requantization by the high word of one product, on cores without SIMD: `mote_lanes_byte` in `mote_lanes_s8.h`.

With q = floor(x * mult / 2^30), the high word of 4x times mult, and a right shift s, the reference's results are
floor((q + 2^s) / 2^(s + 1)) where it rounds once. Where it rounds twice, after the multiplication and after the shift,
they are floor((q + 1 + 2^s) / 2^(s + 1)) for sums that are not negative; negative ones take a step more, unless the
activation hides them. The zero point is added before the shift. No sum is 2^29 or more, so that 4x fits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.compiler.kernels.contract import Refusal, Structs
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, Ints
from mote.ir.ops.matrix.accumulators import Accumulators

LARGEST = 1 << 29
"""Sums are smaller than that."""
TOO_LARGE = Refusal("sums are too large for a high word of four times as much")
LEFT = Refusal("a scale is 1 or more, or 1/2 and negative results can be seen")


@dataclass(frozen=True, eq=False)
class HighWords:
    """`mote_lanes_channel_t` of each channel, but for its bias, and what the layer shares."""

    mult: Ints
    add: Ints
    shift: Ints
    lo: int
    hi: int
    halves: bool
    """Negative results can be seen, and their halves are rounded away from zero."""

    @property
    def form(self) -> str:
        """The name of the C function that makes bytes of sums, behind `mote_lanes_byte`."""
        return "halves" if self.halves else "plain"

    def structs(self, bias: Ints) -> Structs:
        return Structs("mote_lanes_channel_t", np.stack([bias, self.mult, self.add, self.shift], axis=1))


def high_words(sums: Accumulators, limits: tuple[int, int], *, idle: bool = False) -> HighWords | Refusal:
    """Constants for all sums that can occur, with the activation's limits; a constant channel has a factor of 0.
    `idle`: the kernel leaves the biases of such channels away, so that it does not matter how large they are."""
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
