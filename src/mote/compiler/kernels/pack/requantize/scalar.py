"""Requantization on cores with scalar multiplication only: constants for each channel that are exact for all
accumulators, or none.

Cores with 64-bit products (Armv7-M) take the upper half,

    out = saturate(((x * mult >> 32) + add) >> shift)                                         plain
    out = saturate(((4 * x * mult >> 32) + add - (x < 0 ? fix : 0)) >> shift)                 linear

where x is an accumulator plus an offset found by a search. Cores with 32-bit products (Armv6-M) compute

    u = clamp(x, 0, most)
    out = ((u * coarse + (u * fine >> drop) + add + (u < turn ? 0 : fix)) mod 2^32) >> 24     as a signed byte

where x is the accumulator minus the last one with the lowest output. `coarse * 2^drop + fine` is one multiplier of 32
bits or more; each of the at most 255 steps of the reference bounds `add` from both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.pack.requantize.search import (
    CHOOSING,
    HIGHEST,
    LOWEST,
    Staircase,
    best_multiplier,
    search,
    staircases,
)
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.matrix.accumulators import Accumulators

MOST_LONG = 1 << 29
"""Exclusive limit for accumulators, so that four times their value fits a register."""
MOST_SHIFT = 23
"""Exclusive limit for right shifts: with larger ones the shifted zero point overflows a register."""
TOP = 24
"""Bit position of the output, which is the most significant byte of a word."""
MOST_DROP = 24
NEIGHBOURS = np.array(sorted(range(-24, 25), key=abs), np.int64)
"""Differences from the nearest multiplier that are tried, in order."""
FAR = 1 << 60
"""Stands for a missing bound."""
SIGN = 1 << 31
"""Added to a word to flip its sign bit, which subtracts 128 from its most significant byte."""


@dataclass(frozen=True)
class ScalarConstants:
    """Requantization constants of a layer's channels."""

    offset: Ints
    """Added to accumulators, by way of the bias."""
    rows: Ints
    """Constants [channels, constants] in the order in which the kernel reads them."""
    slow: NDArray[np.bool_]
    """Mask of the channels without exact constants, which a slower path requantizes."""


def long_product(sums: Accumulators) -> ScalarConstants:
    """Constants for cores with 64-bit products: mult, add, shift, and fix for linear outputs."""
    linear, right, constant = sums.linear, -sums.shift, sums.constant
    largest = np.maximum(np.abs(sums.low), np.abs(sums.high))
    fits = sums.fits & (largest < MOST_LONG)
    rows = np.zeros((len(right), 3 + linear), np.int64)
    offset, slow = 0 * right, ~constant & ~(fits & (right >= 1) & (right < MOST_SHIFT))
    rows[constant, 1] = sums.outputs(sums.low)[constant]
    active = np.flatnonzero(~constant & ~slow)
    if linear:
        shift = right[active] + 1
        add = 1 + (1 << right[active]) + (sums.zero << shift)
        rows[active] = np.stack([sums.mult[active], add, shift, 2 + 0 * shift], axis=1)
        return ScalarConstants(offset, rows, slow)
    for channel, stairs in zip(active.tolist(), staircases(sums.some(active)), strict=True):
        constants = _searched(stairs, int(sums.mult[channel]), int(right[channel]) - 1, even=sums.even)
        if constants is None:
            slow[channel] = True
        else:
            offset[channel], rows[channel] = constants
    return ScalarConstants(offset, rows, slow)


def _searched(stairs: Staircase, mult: int, shift: int, *, even: bool) -> tuple[int, tuple[int, int, int]] | None:
    """Searches offset and (mult, add, shift) of one channel; None if there are none."""
    constants = search(stairs, 1, shift, mult, linear=False)
    if constants is None and even:
        best = best_multiplier(stairs, 1, shift, mult, CHOOSING, (LOWEST, HIGHEST))
        constants = search(stairs, 1, shift, best, linear=False)
    return None if constants is None else (constants.offset, (constants.mult, constants.add, shift))


def short_product(sums: Accumulators) -> ScalarConstants:
    """Constants for cores with 32-bit products: most, coarse, fine, add, drop, and for linear outputs turn and fix."""
    linear, constant = sums.linear, sums.constant
    rows = np.zeros((len(constant), 5 + 2 * linear), np.int64)
    offset, slow = np.zeros(len(constant), np.int64), ~constant & ~sums.fits
    rows[constant, 3] = (sums.outputs(sums.low)[constant] + 128 << TOP) + SIGN
    active = np.flatnonzero(~constant & ~slow)
    for channel, stairs in zip(active.tolist(), staircases(sums.some(active)), strict=True):
        scale = float(np.ldexp(float(sums.mult[channel]), int(sums.shift[channel]) - 31))
        constants = _staircase(stairs, scale, linear=linear)
        if constants is None:
            slow[channel] = True
        else:
            offset[channel], rows[channel] = 1 - int(stairs.steps[0]), constants
    return ScalarConstants(offset, rows, slow)


def _staircase(stairs: Staircase, scale: float, *, linear: bool) -> tuple[int, ...] | None:
    """Searches the requantization constants of one channel for cores with 32-bit products; None if there are none."""
    steps = stairs.steps - (stairs.steps[0] - 1)
    most = int(steps[-1])
    drop = min(32 - most.bit_length(), MOST_DROP)
    turn = min(max(1 - int(stairs.steps[0]), 0), most + 1) if linear else 0
    words = (np.arange(len(steps) + 2, dtype=np.int64) + (stairs.first + 128)) << TOP
    mults = NEIGHBOURS[:, None] + round(scale * 2.0 ** (TOP + drop))
    reached, missed = np.append(0, steps), np.append(steps - 1, most)
    at_least, at_most = words[:-1] - (reached * mults >> drop), words[1:] - 1 - (missed * mults >> drop)
    sides = [
        (
            np.where((reached < turn) == side, at_least, -FAR).max(axis=1),
            np.where((missed < turn) == side, at_most, FAR).min(axis=1),
        )
        for side in (True, False)
    ]
    good = (mults[:, 0] > 0) & np.all([low <= high for low, high in sides], axis=0)
    if not good.any():
        return None
    best = int(np.flatnonzero(good)[0])
    coarse, fine = divmod(int(mults[best, 0]), 1 << drop)
    below, above = (_between(int(low[best]), int(high[best])) for low, high in sides)
    constants = most, coarse, fine, (below if turn else above) + SIGN, drop
    return (*constants, turn, above - below if turn else 0) if linear else constants


def _between(low: int, high: int) -> int:
    """The middle between two bounds, or the only bound if the other one is missing."""
    return low if high >= FAR else high if low <= -FAR else (low + high) // 2
