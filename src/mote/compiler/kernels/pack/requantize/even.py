"""Constants of `mote_even.h` for layers that round results to even."""

from __future__ import annotations

import math

import numpy as np

from mote.compiler.kernels.contract import Params, Refusal, Structs, View
from mote.compiler.kernels.pack.params import channel_structs, output_params
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.graph.types import Activation, Rounding
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.matrix.round_once import once_multiplier

TO_EVEN = Refusal("results are rounded to even")
NOT_TO_EVEN = Refusal("results are not rounded to even")
BITS = 24
"""Bits of a float32 significand."""
EVEN_SHIFT = 64
"""Added to the shift of a float32 multiplier to distinguish it from an exact integer one."""
LEAST_SHIFT, MOST_SHIFT = 1, 62
"""Limits of the shift: with smaller ones every nonzero accumulator saturates int8; with larger ones every 32-bit
accumulator becomes zero."""


def rounds_to_even(view: View) -> bool:
    """Whether the operator rounds its results to even."""
    return getattr(view.op, "rounding", None) is Rounding.EVEN


def single_scale(real: float) -> tuple[int, int]:
    """Multiplier and shift of `mote_rescale_even` for a float32 scale."""
    fraction, exponent = math.frexp(real)
    shift = BITS - exponent
    return (0, LEAST_SHIFT) if shift > MOST_SHIFT else (int(math.ldexp(fraction, BITS)), max(shift, LEAST_SHIFT))


def even_sums(real: float, zero: int, limit: int) -> Accumulators:
    """The accumulators of one channel with scale `real` and absolute values up to `limit`."""
    mult, shift = once_multiplier(real, zero, limit, even=True)
    ends = np.array([limit], np.int64)
    return Accumulators(
        -ends, ends, np.array([mult], np.int64), np.array([shift], np.int64), zero, np.array([real]), even=True
    )


def even_channels(sums: Accumulators, bias: Ints) -> Structs:
    """`mote_channel_t` for each channel of `mote_requantize_even`: constants that round once where these are exact,
    otherwise the float32 scale."""
    assert sums.real is not None
    once = channel_structs(bias, sums.mult, sums.shift).rows
    scales = np.array([single_scale(real) for real in sums.real.tolist()], np.int64) + np.array(
        [0, EVEN_SHIFT], np.int64
    )
    followed = np.concatenate([wrap32(bias)[:, None], scales], axis=1)
    return Structs("mote_channel_t", np.where(sums.exact[:, None], once, followed))


def even_finish(view: View, activation: Activation, sums: Accumulators, bias: Ints) -> Params:
    """Requantization constants and output limits (`mote_finish_s8_t`) of a layer that rounds to even."""
    return {"channel": even_channels(sums, bias), "output": output_params(activation, view.output)}
