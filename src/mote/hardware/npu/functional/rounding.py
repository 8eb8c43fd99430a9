"""Scales and roundings of the hardware, in exact integers of any size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.hardware.npu.commands import Command
from mote.hardware.npu.functional.memory import Ints

HIGH = 31
"""Bits of the first of two steps."""


def scaled(values: Ints, scale: Ints | int, shift: Ints | int, mode: str, before: int = 0) -> Ints:
    """Values times a scale, shifted right and rounded as a mode says; scales of channels are those of the last axis.
    `before`: bits by which values count as shifted left where there are two steps."""
    scales, shifts = np.asarray(scale, np.int64), np.asarray(shift, np.int64)
    largest = max(int(np.abs(values).max(initial=0)), 1) * max(int(np.abs(scales).max(initial=0)), 1)
    product: Any = (values.astype(object) if largest >= 1 << 62 else values) * scales
    if mode in DOUBLE:
        first = np.minimum(shifts, HIGH - before)
        product, shifts = half_up(product, first), shifts - first
    return rounded(product, shifts, mode)


def rounded(values: Any, shift: Any, mode: str) -> Ints:
    """Values shifted right and rounded in the last or only step of a mode."""
    if mode not in ROUNDINGS:
        raise MoteError(f"the round mode {mode} is not modelled", remedy="compile the model again with Vela")
    return wrapped(ROUNDINGS[mode](values, shift), 64)


def by_register(values: Ints, register: Command, *, scale: int | None = None) -> Ints:
    """Values with the scale, shift and rounding of a register of Ethos-U85."""
    factor = register["scale"] if scale is None else scale
    return scaled(values, factor, register["shift"], register.said("round_mode"), register["double"])


def wrapped(values: Any, bits: int) -> Ints:
    """The lower bits of numbers, as signed ones."""
    if bits == 64 and values.dtype != object:
        return np.asarray(values, np.int64)
    half = 1 << bits - 1
    return np.asarray((values + half & (1 << bits) - 1) - half, np.int64)


def half_up(values: Any, shift: Any) -> Any:
    return values + (np.left_shift(1, shift) >> 1) >> shift


def half_away(values: Any, shift: Any) -> Any:
    return np.where(values < 0, -half_up(-values, shift), half_up(values, shift))


def to_zero(values: Any, shift: Any) -> Any:
    return np.where(values < 0, -(-values >> shift), values >> shift)


def down(values: Any, shift: Any) -> Any:
    return values >> shift


DOUBLE = ("DOUBLE", "DOUBLE_SYMMETRIC")
"""Modes of two steps, as gemmlowp rounds: the upper bits of the product, then the rest of the shift."""
ROUNDINGS: Mapping[str, Callable[[Any, Any], Any]] = {
    "NATURAL": half_up,
    "TRUNCATE": to_zero,
    "SYMMETRIC": half_away,
    "TRUNCATE_TO_ZERO": to_zero,
    "TRUNCATE_DOWN": down,
    **dict.fromkeys(DOUBLE, half_away),
}
"""The last or only step of each round mode, but for DOUBLE_ASYMMETRIC, of which nothing is published."""
