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
say is added to the sum, y = sum * 2^t + offset. Constants are then searched for (`requantize.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.pack.requantize.search import searched
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.matrix.accumulators import Accumulators

SHIFTS = (11, 12, 10, 13, 14, 9, 15)
"""The shifts that are tried for weights of 16 bits, the same for all layers: those that share one share the code."""
LEAST_SCALE = 2
"""Constants are whole numbers only where sums are scaled by 4 and more."""
KEPT_SCALE = 9
"""How much further sums are scaled that cannot be scaled to the layer's shift: finer offsets, for bits of `mult`."""
LOST_BITS = 22
"""How many bits of the multiplier may be missing before the search for constants is given up."""


@dataclass(frozen=True)
class Narrow:
    """The constants of a layer's channels. Sums of constant channels are not to be scaled but zero."""

    shift: int
    scale: Ints
    """t: the sums come times 2^t."""
    offset: Ints
    """Added to scaled accumulators: goes into the bias."""
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

    def unsigned(self) -> Narrow:
        """The constants for outputs that are 128 more, in 0..255."""
        return replace(self, add=self.add + (128 << self.shift))


def narrow(sums: Accumulators, shift: int, most: Ints, *, fixed: bool = False) -> Narrow | None:
    """The constants for a layer whose channels can be scaled by 2^most at most, or are scaled by just that (`fixed`);
    None where there are none."""
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
    """The constants for a layer whose weights [channels, ..] are scaled as far as they fit 16 bits."""
    largest = np.maximum(np.abs(weights).max(axis=1), 1)
    most = np.floor(np.log2(32767 / largest)).astype(np.int64)
    results = (narrow(sums, shift, most) for shift in SHIFTS)
    return next((result for result in results if result is not None), None)


def shifts(sums: Accumulators, most: Ints) -> range:
    """The shifts that are worth trying for a layer, the best first: as little as possible is lost."""
    active = ~sums.constant
    if not active.any():
        return range(8, 9)
    right = -sums.shift[active]
    highest = int((right + _room(sums, most)[active]).min()) - 1
    lowest = int(right.max()) + LEAST_SCALE - 1 - LOST_BITS
    return range(highest, max(lowest, 6) - 1, -1)


def _room(sums: Accumulators, most: Ints) -> Ints:
    """How far each channel's sums can be scaled before they overflow, `most` at most."""
    largest = np.maximum(np.maximum(np.abs(sums.low), np.abs(sums.high)), 1)
    return np.minimum(most, 30 - np.floor(np.log2(largest.astype(np.float64))).astype(np.int64))
