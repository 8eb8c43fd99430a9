"""Sums -> int8 in two instructions, exactly.

LiteRT scales a sum by m / 2^31 / 2^s and rounds twice. Where the sum arrives as y = sum * 2^t (the weights are scaled
so: t costs nothing), a kernel can do with

    r = (y * mult + (add << 32)) >> 32          SMMLA
    out = saturate(r >> shift)                  SSAT or USAT, with `shift` built into the code

For results that are not negative both roundings are nested floors, so one constant stands for both; where negative
results do not vanish in the activation (`linear`), sums below zero want a constant that is smaller by `fix`:

    r = (y * mult + ((add + (y < 0 ? 0 : fix)) << 32)) >> 32

`shift` is the same for a whole layer: t = shift + 1 - s takes up what differs between its channels. A channel whose s
is too large for that is scaled as far as it can be and has fewer bits of its multiplier and of `add`; what those cannot
say is added to the sum, y = sum * 2^t + offset. Constants are then searched for and all thresholds checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mote.graph.fixedpoint import Ints
from mote.ops.sums import Sums, thresholds

SHIFTS = (11, 12, 10, 13, 14, 9, 15)
"""The shifts that are tried for weights of 16 bits, the same for all layers: those that share one share the code."""
LEAST_SCALE = 2
"""Constants are whole numbers only where sums are scaled by 4 and more."""
KEPT_SCALE = 9
"""How much further sums are scaled that cannot be scaled to the layer's shift: finer offsets, for bits of `mult`."""
LOST_BITS = 20
"""How many bits of the multiplier may be missing before the search for constants is given up."""


@dataclass(frozen=True)
class Narrow:
    """The constants of a layer's channels. Sums of constant channels are not to be scaled but zero."""

    shift: int
    scale: Ints
    """t: the sums come times 2^t."""
    offset: Ints
    """What is added to scaled sums: goes into the bias."""
    mult: Ints
    add: Ints
    fix: Ints
    constant: NDArray[np.bool_]

    def constants(self, linear: bool) -> Ints:
        """[channels, mult, add] and `fix` for linear outputs."""
        return np.stack([self.mult, self.add, *([self.fix] if linear else [])], axis=1)

    def scaled(self, values: Ints) -> Ints:
        """Weights or sums [channels, ..] as they come; none of constant channels."""
        shape = (-1, *[1] * (values.ndim - 1))
        return np.where(self.constant.reshape(shape), 0, values << self.scale.reshape(shape))

    def biases(self, bias: Ints) -> Ints:
        """Where sums begin."""
        return np.where(self.constant, 0, (bias << self.scale) + self.offset)

    def channel(self, c: int) -> Narrow:
        """One of them alone."""
        at = slice(c, c + 1)
        rest = self.offset[at], self.mult[at], self.add[at], self.fix[at], self.constant[at]
        return Narrow(self.shift, self.scale[at], *rest)

    def unsigned(self) -> Narrow:
        """The same with outputs that are 128 more, in 0..255."""
        return replace(self, add=self.add + (128 << self.shift))

    def outputs(self, sums: Ints, *, unsigned: bool = False) -> Ints:
        """What a kernel makes of sums (channels last)."""
        y = np.where(self.constant, 0, (sums << self.scale) + self.offset)
        add = self.add + np.where(y < 0, 0, self.fix)
        r = (y * self.mult + (add << 32)) >> 32
        low, high = (0, 255) if unsigned else (-128, 127)
        found: Ints = np.clip(r >> self.shift, low, high)
        return found


def narrow(sums: Sums, shift: int, most: Ints, *, fixed: bool = False) -> Narrow | None:
    """The constants for a layer whose channels can be scaled by 2^most at most, or are scaled by just that (`fixed`);
    None where there are none."""
    constant = sums.constant
    right = -sums.shift
    wanted = shift + 1 - right
    room = _room(sums, most)
    finer = np.minimum(room, np.maximum(wanted + KEPT_SCALE, LEAST_SCALE))
    scale = most if fixed else np.where(wanted < LEAST_SCALE, finer, wanted)
    lost = scale - wanted
    fits = (right >= 1) & (scale >= LEAST_SCALE) & (scale <= room) & (lost >= 0) & (lost <= LOST_BITS)
    if not np.all(fits | constant):
        return None
    scale = np.where(constant, LEAST_SCALE, scale)
    lost = np.where(constant, 0, lost)
    exact = scale - lost
    first = np.where(exact >= 2, 1 << np.maximum(exact - 2, 0), 0) * (not sums.once)
    add = first + (1 << (shift - 1)) + (sums.zero << shift)
    fix = np.where(constant | (not sums.linear) | (exact < 1), 0, 1 << np.maximum(exact - 1, 0))
    value = sums.outputs(sums.low)
    found = Narrow(
        shift,
        np.where(constant, 0, scale),
        np.where((exact < LEAST_SCALE) & (not sums.once), (1 << (30 + scale)) // np.maximum(sums.mult, 1), 0),
        np.where(constant, 0, (sums.mult + (1 << lost >> 1)) >> lost),
        np.where(constant, (value << shift) + (1 << (shift - 1)), add - fix),
        fix,
        constant,
    )
    for channel in np.flatnonzero(lost):
        better = _search(sums, found, int(channel))
        if better is None:
            return None
        found.mult[channel], found.add[channel], found.offset[channel] = better
    return found


def widest(sums: Sums, weights: Ints) -> Narrow | None:
    """The constants for a layer whose weights [channels, ..] are scaled as far as they fit 16 bits."""
    largest = np.maximum(np.abs(weights).max(axis=1), 1)
    most = np.floor(np.log2(32767 / largest)).astype(np.int64)
    results = (narrow(sums, shift, most) for shift in SHIFTS)
    return next((found for found in results if found is not None), None)


def shifts(sums: Sums, most: Ints) -> range:
    """The shifts that are worth trying for a layer, the best first: as little as possible is lost."""
    active = ~sums.constant
    if not active.any():
        return range(8, 9)
    right = -sums.shift[active]
    highest = int((right + _room(sums, most)[active]).min()) - 1
    lowest = int(right.max()) + LEAST_SCALE - 1 - LOST_BITS
    return range(highest, max(lowest, 6) - 1, -1)


def _room(sums: Sums, most: Ints) -> Ints:
    """How far each channel's sums can be scaled before they overflow, `most` at most."""
    largest = np.maximum(np.maximum(np.abs(sums.low), np.abs(sums.high)), 1)
    return np.minimum(most, 30 - np.floor(np.log2(largest.astype(np.float64))).astype(np.int64))


def _search(sums: Sums, found: Narrow, channel: int) -> tuple[int, int, int] | None:
    """The multiplier and constants with which every threshold is where it should be."""
    low, high = int(sums.low[channel]), int(sums.high[channel])

    def outputs(x: Ints) -> Ints:
        return sums.outputs(x, slice(channel, channel + 1))

    steps = thresholds(outputs, low, high)
    around = np.unique(np.clip(np.concatenate([steps, steps - 1, [low, high, -1, 0, 1]]), low, high))
    expected = outputs(around)
    one = found.channel(channel)
    quarter = 1 << int(found.scale[channel]) >> 2
    for dm in (0, 1, -1):
        for da in (0, 1, -1):
            for do in (0, 1, -1, 2, -2, 3, -3, quarter, -quarter, 2 * quarter, -2 * quarter):
                tried = replace(one, mult=one.mult + dm, add=one.add + da, offset=one.offset + do)
                if np.array_equal(tried.outputs(around), expected):
                    return int(tried.mult[0]), int(tried.add[0]), int(tried.offset[0])
    return None
