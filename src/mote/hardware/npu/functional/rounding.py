"""Scaling and rounding modes of the hardware, in exact integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.hardware.npu.commands import Command
from mote.hardware.npu.functional.memory import Ints

HIGH = 31
"""Shift of the first of two rounding steps."""


def scaled(values: Ints, scale: Ints | int, shift: Ints | int, mode: str, before: int = 0) -> Ints:
    """Values * scale >> shift, rounded by mode; per-channel scales apply to the last axis. `before`: left shift assumed
    in two-step modes."""
    scales, shifts = np.asarray(scale, np.int64), np.asarray(shift, np.int64)
    largest = max(int(np.abs(values).max(initial=0)), 1) * max(int(np.abs(scales).max(initial=0)), 1)
    product: Any = (values.astype(object) if largest >= 1 << 62 else values) * scales
    if mode in DOUBLE:
        first = np.minimum(shifts, HIGH - before)
        product, shifts = half_up(product, first), shifts - first
    return rounded(product, shifts, mode)


def rounded(values: Any, shift: Any, mode: str) -> Ints:
    """Right shift with the final rounding of a mode."""
    if mode not in ROUNDINGS:
        raise MoteError(f"the round mode {mode} is not modelled", remedy="compile the model again with Vela")
    return wrapped(ROUNDINGS[mode](values, shift), 64)


def by_register(values: Ints, register: Command, *, scale: int | None = None) -> Ints:
    """Values scaled, shifted and rounded by a register of Ethos-U85."""
    factor = register["scale"] if scale is None else scale
    return scaled(values, factor, register["shift"], register.said("round_mode"), register["double"])


def wrapped(values: Any, bits: int) -> Ints:
    """Lower bits of integers as signed values."""
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
"""Two-step modes as in gemmlowp: high half of the product, then the remaining shift."""
ROUNDINGS: Mapping[str, Callable[[Any, Any], Any]] = {
    "NATURAL": half_up,
    "TRUNCATE": to_zero,
    "SYMMETRIC": half_away,
    "TRUNCATE_TO_ZERO": to_zero,
    "TRUNCATE_DOWN": down,
    **dict.fromkeys(DOUBLE, half_away),
}
"""Final rounding function by mode, except DOUBLE_ASYMMETRIC, which is unpublished."""
