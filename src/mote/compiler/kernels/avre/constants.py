"""Requantization constants of `mote_finish_avr_s8.h`: a 24-bit multiplier, and the right shift of the product."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Refusal
from mote.compiler.kernels.pack.requantize.search import ProductForm, Staircase, room_of, staircases
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.matrix.accumulators import Accumulators

LEAST, MORE = 24, 8
"""Smallest right shift of the product, and how much larger it may be: with a larger shift the multiplier is more
precise."""
NEIGHBOURS = (0, 1, -1, 2, -2)
MULTIPLIERS = 1 << 24
MOST = 1 << 47
"""Exclusive limit of the absolute values of products and constants."""
NOT_EXACT = Refusal("no multipliers of 24 bits give the reference's results")
Limits = tuple[int, int]


def channels(sums: Accumulators, starts: Ints, limits: Limits) -> NDArray[np.uint8] | Refusal:
    """Pack ten bytes of constants for each channel, whose sums lack their initial value (`starts`); `limits`: those of
    the activation."""
    if not sums.fits.all():
        return NOT_EXACT
    rows = []
    for stairs, mult, shift, start in zip(
        staircases(sums), sums.mult.tolist(), sums.shift.tolist(), starts.tolist(), strict=True
    ):
        row = _channel(stairs.within(*limits), mult * 2.0 ** (shift - 31), start, limits)
        if row is None:
            return NOT_EXACT
        rows.append(row)
    return np.frombuffer(b"".join(rows), np.uint8)


def _bytes(constant: int, mult: int, more: int) -> bytes:
    return (constant % (1 << 48)).to_bytes(6, "little") + mult.to_bytes(3, "little") + bytes([more])


def _channel(stairs: Staircase, scale: float, start: int, limits: Limits) -> bytes | None:
    if not len(stairs.steps):
        return _bytes(stairs.first << LEAST + MORE, 0, MORE)
    more = next((n for n in range(MORE, -1, -1) if round(scale * 2 ** (LEAST + n)) < MULTIPLIERS - 2), None)
    if more is None:
        return None
    nearest = round(scale * 2 ** (LEAST + more))
    for mult in (nearest + d for d in NEIGHBOURS if nearest + d >= 0):
        low, high = room_of(stairs, 1, 0, mult, ProductForm((), bits=LEAST + more), limits)
        constant: int = (low + high) // 2 + start * mult
        ends = (constant, *((end - start) * mult + constant for end in (stairs.low, stairs.high)))
        if low <= high and max(map(abs, ends)) < MOST:
            return _bytes(constant, mult, more)
    return None
