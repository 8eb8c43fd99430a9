"""SIGMOID and TANH of the hardware: interpolation in a sigmoid table, as LiteRT does for 16-bit operators.

Inputs represent 1.0 as 0x3000 (more than 16 bits), outputs as 0x8000."""

from __future__ import annotations

from functools import cache

import numpy as np

from mote.hardware.npu.functional.memory import Ints

STEP = 24
"""Table entries per 1.0 of input."""
ENTRIES = 256
FRACTION = 9
"""Input bits between two entries: 0x3000 is 24 entries."""


@cache
def _table() -> Ints:
    """Table of 65536 * sigmoid, shifted by half of the linear interpolation's error at each segment's middle; the last
    entry is 65535."""
    exact = 65536 / (1 + np.exp(-np.arange(0, ENTRIES + 0.5, 0.5, dtype=np.float64) / STEP))
    off = exact[1::2] - (exact[:-1:2] + exact[2::2]) / 2
    return np.append(np.rint(exact[:-1:2] + off / 2)[:-1], 0xFFFF).astype(np.int64)


def sigmoid(values: Ints) -> Ints:
    size = np.abs(values)
    above = np.where(size >> FRACTION >= ENTRIES - 1, 0x7FFF << FRACTION + 1, _between(size, FRACTION))
    half = 1 << FRACTION
    both = np.where(values >= 0, above + half, (1 << 16 + FRACTION) - above + half - 1)
    return both >> FRACTION + 1


def tanh(values: Ints) -> Ints:
    """tanh(x) as 2 sigmoid(2x) - 1."""
    size, fraction = np.abs(values), FRACTION - 1
    above = np.where(size >> fraction >= ENTRIES - 1, 0xFFFF << fraction, _between(size, fraction))
    middle, half = 1 << 15 + fraction, 1 << fraction - 1
    both = np.where(values >= 0, above - middle + half, middle - above + half - 1)
    return both >> fraction


def interpolated(values: Ints, bases: Ints, slopes: Ints, function: str) -> Ints:
    """SIGMOID or TANH by a table of 512 bases and slopes for positive and negative values, as in Ethos-U85."""
    fraction = FRACTION - (function == "TANH")
    most = (ENTRIES << fraction) - 1
    at = np.clip(values, -most, most) + (ENTRIES << fraction)
    index, rest = at >> fraction, at & (1 << fraction) - 1
    curve = (bases[index] << fraction) + slopes[index] * rest - (values < 0)
    if function == "TANH":
        return np.asarray(curve + (1 << fraction - 1) >> fraction)
    return np.asarray((1 << 14) + (curve + (1 << fraction) >> fraction + 1))


def _between(size: Ints, fraction: int) -> Ints:
    """Linear interpolation between two entries by the bits between them."""
    table, index = _table(), np.minimum(size >> fraction, ENTRIES - 2)
    rest = size & (1 << fraction) - 1
    between: Ints = (table[index] << fraction) + rest * (table[index + 1] - table[index])
    return between
