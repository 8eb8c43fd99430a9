"""Sums -> int8 in the lanes of a vector, exactly: the constants of `mote_lanes.h`.

Vectors have a doubling multiplication that keeps the high half, rounded, and shifts that round and saturate. In two
ways they give the results of the reference:

    line    y = sum * 2^scale + offset          one multiplication with addition
            p = (y * mult + 2^30) >> 31
            out = saturate((p + 2^(shift-1)) >> shift)
    twice   p = ((sum + offset) * mult + 2^30) >> 31, less one where sum + offset < 0
            out = saturate(((p + 2^(right-1)) >> right) + zero)

A `line` has a scale and a shift that are the same for all channels, and the zero point in its offset. It fits where
results are rounded once, and where negative ones vanish in the activation: its constants are then searched for
(`requantize.py`) so that every sum that can occur has the reference's result. `twice` is what the reference does, step
by step: the one less makes of a rounding shift one that rounds halves away from zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Params
from mote.compiler.kernels.pack.requantize.search import ROUNDING, searched
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.ops.matrix.accumulators import Accumulators


class LaneForm(StrEnum):
    """How sums become results."""

    LINE = "line"
    """With one multiplication of scaled sums, rounded once."""
    TWICE = "twice"
    """As LiteRT does, rounded twice."""


COUNT = {LaneForm.LINE: 2, LaneForm.TWICE: 3}
"""Constants of each channel."""
Limits = tuple[int, int]
INT8_LIMITS: Limits = (-128, 127)
MOST_SCALE = 14
"""Further scaled sums leave too few bits for the multipliers."""
SCALES = 4
"""How many scales are tried, each a bit less than the one before."""
MOST_SHIFT = 16
"""The largest shift that narrows; layers that share one share the code."""
CONSTANT_MULT = 1 << 30
"""The multiplier of a channel with one result, whose accumulators are zero."""


@dataclass(frozen=True)
class Lanes:
    """The constants of a layer's channels. Weights of constant channels are to be zero."""

    form: LaneForm
    scale: int
    """Of a line: sums are multiplied by 2^scale."""
    shift: int
    """Of a line: how far products are shifted."""
    zero: int
    """Added at the end: the zero point, where it is not in the offsets."""
    limits: Limits
    offset: Ints
    mult: Ints
    right: Ints
    """How far each channel's products are shifted, where they are rounded twice."""
    constant: NDArray[np.bool_]

    def constants(self, bias: Ints) -> NDArray[np.int32]:
        """[channels, 2]: what is added and the multiplier; for `twice` [channels, 3], with the shift as a left one.
        `bias` is in the reference's sums and not in those that arrive."""
        added = bias * self.bias_factors + self.offset
        columns = [wrap32(added), self.mult, *([-self.right] if self.form is LaneForm.TWICE else [])]
        return np.stack(columns, axis=1).astype(np.int32)

    @property
    def owners(self) -> NDArray[np.int64]:
        """As `constants`: the channel, counted from 1, where its bias is added, and 0 at its other constants."""
        owners = np.zeros((len(self.constant), COUNT[self.form]), np.int64)
        owners[:, 0] = np.arange(1, len(owners) + 1, dtype=np.int64)
        return owners

    @property
    def bias_factors(self) -> Ints:
        """The factors of biases where sums are."""
        return np.where(self.constant, 0, 1 << self.scale)

    def weights(self, values: Ints) -> Ints:
        """[channels, ..] without those of constant channels."""
        return np.where(self.constant.reshape(-1, *[1] * (values.ndim - 1)), 0, values)


def lanes(sums: Accumulators, limits: Limits = INT8_LIMITS) -> Lanes | None:
    """The constants for a layer whose outputs are cut off at the limits: a line where there is one."""
    if limits[0] >= limits[1] or not np.all(sums.fits):
        return None
    hidden = sums.once or sums.zero <= limits[0] or not sums.linear
    return (_line(sums, limits) if hidden else None) or rounded_twice(sums, limits)


def _line(sums: Accumulators, limits: Limits) -> Lanes | None:
    constant = sums.constant
    active = sums.some(~constant)
    scales = np.ldexp(np.maximum(active.mult, 1).astype(np.float64), active.shift - 31)
    ends = np.stack([active.low, active.high]) + active.zero / scales
    largest = float(np.abs(ends).max(initial=1.0)) + 2
    most = min(30 - int(np.floor(np.log2(largest))), MOST_SCALE)
    for scale in range(most, max(most - SCALES, -1), -1):
        room = scale - int(np.floor(np.log2(scales.max(initial=2.0**-20)))) - 1
        shift = min(room, MOST_SHIFT)
        rows = (
            searched(sums, np.full(len(constant), 1 << scale, np.int64), shift - 1, ROUNDING, limits)
            if shift > 0
            else None
        )
        if rows is not None:
            offset, mult = rows[:, 0], rows[:, 1]
            return Lanes(LaneForm.LINE, scale, shift, 0, limits, offset, mult, 0 * mult, constant)
    return None


def rounded_twice(sums: Accumulators, limits: Limits = INT8_LIMITS) -> Lanes | None:
    """The constants by which sums are rounded twice, as the reference does it: they depend on scales alone."""
    if sums.once or not np.all(sums.fits):
        return None
    constant, right = sums.constant, -sums.shift
    if not np.all(constant | ((right >= 1) & (right <= 31))):
        return None
    offset = np.where(constant, 4 * (sums.outputs(sums.low) - sums.zero), 0)
    mult, right = np.where(constant, CONSTANT_MULT, sums.mult), np.where(constant, 1, right)
    return Lanes(LaneForm.TWICE, 0, 0, sums.zero, limits, offset, mult, right, constant)


def lanes_params(lanes: Lanes) -> Params:
    """`mote_lanes_t`."""
    return {
        "scale": 1 << lanes.scale,
        "zero": lanes.zero,
        "lo": lanes.limits[0],
        "hi": lanes.limits[1],
        "constants": COUNT[lanes.form],
    }
