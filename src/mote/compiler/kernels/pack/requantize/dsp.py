"""Requantization to int8 in two DSP instructions, bit for bit as LiteRT.

LiteRT scales an accumulator by m / 2^31 / 2^s and rounds twice. Here weights are scaled by 2^t when they are packed, so
that the accumulator arrives as y = accumulator * 2^t, and the kernel computes

    r = (y * mult + (add << 32)) >> 32          SMMLA
    out = saturate(r >> shift)                  SSAT or USAT, with `shift` built into the code

For non-negative results both roundings are nested floors, which one constant `add` reproduces. Where negative results
are visible (`linear`: the activation does not clamp them), negative accumulators need a constant smaller by `fix`:

    r = (y * mult + ((add + (y < 0 ? 0 : fix)) << 32)) >> 32

`shift` is the same for a whole layer; t = shift + 1 - s absorbs the differences between its channels. A channel whose s
is too large for that is scaled as far as possible and has fewer bits of its multiplier and of `add`; an offset in the
accumulator, y = accumulator * 2^t + offset, replaces the missing bits. Such constants are searched for (`search.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.pack.requantize.search import searched
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.matrix.accumulators import Accumulators

SHIFTS = (11, 12, 10, 13, 14, 9, 15)
"""Output shifts tried for 16-bit weights, in order. All layers try the same ones, because layers with equal shifts
share code."""
LEAST_SCALE = 2
"""Smallest log2 of an accumulator scale: `fix` and `add` are only integers for scales of 4 and more."""
KEPT_SCALE = 9
"""Extra bits by which accumulators are scaled that cannot reach the layer's shift; these give finer offsets, which
replace missing bits of the multiplier."""
LOST_BITS = 22
"""Maximum number of missing multiplier bits; with more, the constants are not searched for."""


@dataclass(frozen=True)
class Narrow:
    """Requantization constants for SMMLA: one set for each channel of a layer. Accumulators of constant channels must
    be zero."""

    shift: int
    scale: Ints
    """log2 of the factor t that each channel's weights are scaled by."""
    offset: Ints
    """Added to scaled accumulators, by way of the bias."""
    mult: Ints
    add: Ints
    fix: Ints
    constant: NDArray[np.bool_]

    def constants(self, linear: bool) -> Ints:
        """The constants as a matrix with columns mult, add and, for linear outputs, fix."""
        return np.stack([self.mult, self.add, *([self.fix] if linear else [])], axis=1)

    def scaled(self, values: Ints) -> Ints:
        """Weights or accumulators [channels, ..] scaled by 2^t; zero for constant channels."""
        shape = (-1, *[1] * (values.ndim - 1))
        return np.where(self.constant.reshape(shape), 0, values << self.scale.reshape(shape))

    def biases(self, bias: Ints) -> Ints:
        """Initial accumulator of each channel."""
        return np.where(self.constant, 0, (bias << self.scale) + self.offset)

    def unsigned(self) -> Narrow:
        """The constants for the same outputs plus 128, in 0..255."""
        return replace(self, add=self.add + (128 << self.shift))


def narrow(sums: Accumulators, shift: int, most: Ints, *, fixed: bool = False) -> Narrow | None:
    """Constants for a layer whose channels can be scaled by at most 2^most, or are scaled by exactly that (`fixed`);
    None if some channel has none."""
    constant, right = sums.constant, -sums.shift
    wanted = shift + 1 - right
    room = _room(sums, most)
    finer = np.minimum(room, np.maximum(wanted + KEPT_SCALE, LEAST_SCALE))
    scale = most if fixed else np.where(wanted < LEAST_SCALE, finer, wanted)
    lost = scale - wanted
    fits = (right >= 1) & (scale >= LEAST_SCALE) & (scale <= room) & (lost >= 0) & (lost <= LOST_BITS)
    if not np.all(fits | constant):
        return None
    scale = np.where(constant, LEAST_SCALE, scale)
    fix = (1 << scale >> 1) * sums.linear
    add = (1 << scale >> 2) * (not sums.once) + (1 << (shift - 1)) + (sums.zero << shift) - fix
    rows = np.stack([0 * scale, sums.mult, add, fix], axis=1)
    others = np.flatnonzero(constant | (lost > 0) | ~sums.exact)
    constants = searched(sums.some(others), 1 << scale[others], shift)
    if constants is None:
        return None
    rows[others] = constants
    offset, mult, add, fix = rows.T
    return Narrow(shift, np.where(constant, 0, scale), offset, mult, add, fix, constant)


def widest(sums: Accumulators, weights: Ints) -> Narrow | None:
    """Constants for a layer whose weights [channels, ..] are scaled by the largest power of two that fits 16 bits."""
    largest = np.maximum(np.abs(weights).max(axis=1), 1)
    most = np.floor(np.log2(32767 / largest)).astype(np.int64)
    results = (narrow(sums, shift, most) for shift in SHIFTS)
    return next((result for result in results if result is not None), None)


def shifts(sums: Accumulators, most: Ints) -> range:
    """Candidate output shifts for a layer, best first: larger shifts lose fewer multiplier bits."""
    active = ~sums.constant
    if not active.any():
        return range(8, 9)
    right = -sums.shift[active]
    highest = int((right + _room(sums, most)[active]).min()) - 1
    lowest = int(right.max()) + LEAST_SCALE - 1 - LOST_BITS
    return range(highest, max(lowest, 6) - 1, -1)


def _room(sums: Accumulators, most: Ints) -> Ints:
    """log2 of the largest scale that does not overflow each channel's accumulator, at most `most`."""
    largest = np.maximum(np.maximum(np.abs(sums.low), np.abs(sums.high)), 1)
    return np.minimum(most, 30 - np.floor(np.log2(largest.astype(np.float64))).astype(np.int64))
