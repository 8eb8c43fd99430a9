"""Scales and roundings of the hardware, in exact integers of any size."""

from __future__ import annotations

from typing import Any

import numpy as np

from mote.npu.functional.memory import Ints

DOUBLE, TRUNCATE, NATURAL = range(3)
"""Round modes of Ethos-U55 and U65: in two steps as gemmlowp rounds, towards zero, and halves up."""
HIGH = 31
"""Bits of the first step of two."""


def scaled(values: Ints, scale: Ints | int, shift: Ints | int, mode: int) -> Ints:
    """Values times a scale, shifted right and rounded; the scales of channels are those of the last axis."""
    scales, shifts = np.asarray(scale, np.int64), np.asarray(shift, np.int64)
    largest = max(int(np.abs(values).max(initial=0)), 1) * max(int(np.abs(scales).max(initial=0)), 1)
    exact: Any = values.astype(object) if largest >= 1 << 62 else values
    product = exact * scales
    rounded = {DOUBLE: _double, TRUNCATE: _truncated, NATURAL: _natural}[mode](product, shifts)
    return wrapped(rounded, 64)


def wrapped(values: Any, bits: int) -> Ints:
    """The lower bits of numbers, as signed ones."""
    if bits == 64 and values.dtype != object:
        return np.asarray(values, np.int64)
    half = 1 << bits - 1
    return np.asarray((values + half & (1 << bits) - 1) - half, np.int64)


def halves_away(values: Any, shift: Any) -> Any:
    """Shifted right and rounded to the nearest, halves away from zero."""
    half = np.left_shift(1, shift) >> 1
    return np.where(values < 0, -(-values + half >> shift), values + half >> shift)


def _natural(product: Any, shift: Any) -> Any:
    return product + (np.left_shift(1, shift) >> 1) >> shift


def _truncated(product: Any, shift: Any) -> Any:
    return np.where(product < 0, -(-product >> shift), product >> shift)


def _double(product: Any, shift: Any) -> Any:
    """The upper bits of the product, rounded, then the rest of the shift; shifts of less bits round once."""
    first = _natural(product, np.minimum(shift, HIGH))
    return halves_away(first, np.maximum(shift - HIGH, 0))
