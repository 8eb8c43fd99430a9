"""Requantization to int8 in vector lanes, bit for bit as the reference: the constants of `mote_lanes.h`.

Vectors have a doubling multiplication that returns the rounded high half, and shifts that round and saturate. Two
formulas give the results of the reference:

    line    y = sum * 2^scale + offset          one multiplication with addition
            p = (y * mult + 2^30) >> 31
            out = saturate((p + 2^(shift-1)) >> shift)
    twice   p = ((sum + offset) * mult + 2^30) >> 31, less one where sum + offset < 0
            out = saturate(((p + 2^(right-1)) >> right) + zero)

`line` has one scale and one shift for all channels, and includes the zero point in the offset. It works where the
reference rounds once, or where the activation clamps negative results: its constants are found by a search
(`search.py`) such that every accumulator that can occur has the reference's result. `twice` does what the reference
does, step by step: subtracting one turns the rounding shift into one that rounds ties away from zero.
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
    """Requantization formula."""

    LINE = "line"
    """One multiplication of scaled accumulators, rounded once."""
    TWICE = "twice"
    """Rounded twice, as LiteRT does."""


COUNT = {LaneForm.LINE: 2, LaneForm.TWICE: 3}
"""Number of constants for each channel."""
Limits = tuple[int, int]
INT8_LIMITS: Limits = (-128, 127)
MOST_SCALE = 14
"""Maximum log2 of the accumulator scale: larger ones leave too few bits for the multiplier."""
SCALES = 4
"""Number of scales tried, each half of the previous one."""
MOST_SHIFT = 16
"""Maximum final shift, limited by the narrowing instruction; layers with equal shifts share code."""
CONSTANT_MULT = 1 << 30
"""Multiplier of a constant channel, whose accumulators are zero."""


@dataclass(frozen=True)
class Lanes:
    """Requantization constants of a layer's channels. The kernel's weights must be zero in constant channels."""

    form: LaneForm
    scale: int
    """For LINE: log2 of the factor of accumulators."""
    shift: int
    """For LINE: final right shift."""
    zero: int
    """Zero point added at the end; 0 if the offsets include it."""
    limits: Limits
    offset: Ints
    mult: Ints
    right: Ints
    """For TWICE: right shift of each channel."""
    constant: NDArray[np.bool_]

    def constants(self, bias: Ints) -> NDArray[np.int32]:
        """[channels, 2]: initial accumulator and multiplier; for TWICE [channels, 3] with the negated shift. `bias` is
        in units of the reference's accumulators, before scaling."""
        added = bias * self.bias_factors + self.offset
        columns = [wrap32(added), self.mult, *([-self.right] if self.form is LaneForm.TWICE else [])]
        return np.stack(columns, axis=1).astype(np.int32)

    @property
    def owners(self) -> NDArray[np.int64]:
        """For each value of `constants`: 1 + channel where a bias is included, 0 for multipliers and shifts."""
        owners = np.zeros((len(self.constant), COUNT[self.form]), np.int64)
        owners[:, 0] = np.arange(1, len(owners) + 1, dtype=np.int64)
        return owners

    @property
    def bias_factors(self) -> Ints:
        """Factor from a bias to its contribution to the initial accumulator, for each channel."""
        return np.where(self.constant, 0, 1 << self.scale)

    def weights(self, values: Ints) -> Ints:
        """Weights [channels, ..] with constant channels set to zero."""
        return np.where(self.constant.reshape(-1, *[1] * (values.ndim - 1)), 0, values)


def lanes(sums: Accumulators, limits: Limits = INT8_LIMITS) -> Lanes | None:
    """Constants for a layer with outputs clamped to `limits`: LINE if possible, otherwise TWICE; None if neither is."""
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
    """Constants for rounding twice like the reference, which only depend on the scales; None if the layer needs another
    formula."""
    if sums.once or not np.all(sums.fits):
        return None
    constant, right = sums.constant, -sums.shift
    if not np.all(constant | ((right >= 1) & (right <= 31))):
        return None
    offset = np.where(constant, 4 * (sums.outputs(sums.low) - sums.zero), 0)
    mult, right = np.where(constant, CONSTANT_MULT, sums.mult), np.where(constant, 1, right)
    return Lanes(LaneForm.TWICE, 0, 0, sums.zero, limits, offset, mult, right, constant)


def lanes_params(lanes: Lanes) -> Params:
    """The fields of `mote_lanes_t`: scale, zero point, output limits, and the number of constants per channel."""
    return {
        "scale": 1 << lanes.scale,
        "zero": lanes.zero,
        "lo": lanes.limits[0],
        "hi": lanes.limits[1],
        "constants": COUNT[lanes.form],
    }
