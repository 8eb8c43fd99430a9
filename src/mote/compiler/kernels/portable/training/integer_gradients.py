"""Gradients of int8 layers with respect to their inputs: `mote_masks_s8.h`, `mote_input_gradients_s8.h` and
`mote_depthwise_multiplier_input_gradient_s8.h`."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from mote.compiler.kernels.contract import (
    INT8,
    OTHER,
    SIGNAL,
    Call,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    Refusal,
    Structs,
    View,
    signature,
)
from mote.compiler.kernels.pack.params import scale_params
from mote.compiler.kernels.portable.training.integer_steps import axis_params
from mote.ir.graph.types import DType
from mote.ir.ops.training.integer.input_gradients import (
    IntegerConvInputGradient,
    IntegerDepthwiseInputGradient,
    IntegerInputGradient,
)
from mote.ir.ops.training.integer.masks import ActivationMask, MaskedGradient, MaxPoolSpread, MaxPoolTaps


def _mask(view: View) -> Packed:
    op, shape = view.the(ActivationMask), view.input.shape
    params = {"channels": shape[-1], "low": op.low, "high": op.high}
    return Packed("activation_mask_s8", params, Entry(Call.FLAT, prod(shape[:-1])))


def _masked(view: View) -> Packed:
    shape = view.input.shape
    entry = Entry(Call.FLAT, prod(shape[:-1]), operands=(0, 1))
    return Packed("masked_gradient_s8", {"channels": shape[-1]}, entry, Needs(in_place=(0,)))


def _taps(view: View) -> Packed:
    op, (_, height, width, channels) = view.the(MaxPoolTaps), view.input.shape
    windows = {"rows": axis_params(op.vertical, height), "cols": axis_params(op.horizontal, width)}
    return Packed("max_pool_taps_s8", {**windows, "channels": channels})


def _spread(view: View) -> Packed:
    op = view.the(MaxPoolSpread)
    windows = {"rows": axis_params(op.vertical, op.size[0]), "cols": axis_params(op.horizontal, op.size[1])}
    return Packed("max_pool_spread_s8", {**windows, "channels": view.output.channels}, Entry(operands=(0, 1)))


def _of(view: View) -> Params:
    op, g = view.op, view.graph
    assert isinstance(op, IntegerInputGradient)
    return {
        "rows": axis_params(op.vertical, op.size[0]),
        "cols": axis_params(op.horizontal, op.size[1]),
        "outputs": op.given_channels(g),
        "channels": op.channels(g),
    }


def conv_input_gradient(view: View) -> Packed:
    op, g = view.the(IntegerConvInputGradient), view.graph
    ((mult,), (shift,)) = (x.tolist() for x in op.scaling(g))
    params: Params = {"of": _of(view), **scale_params(mult, shift), "factor": op.factors(g).astype(np.int16)}
    return Packed("conv_input_gradient_s8", params, Entry(operands=(0, 1)), Needs(scratch=4 * op.channels(g)))


def _depthwise(view: View) -> Packed | Refusal:
    op = view.the(IntegerDepthwiseInputGradient)
    if op.multiplier > 1:
        return Refusal("the depth multiplier is above 1")
    return _by_channel(view, "depthwise_input_gradient_s8", {})


def _depthwise_multiplier(view: View) -> Packed | Refusal:
    op = view.the(IntegerDepthwiseInputGradient)
    if op.multiplier == 1:
        return Refusal("the depth multiplier is 1")
    own: Params = {"multiplier": op.multiplier, "factor": op.factors(view.graph).astype(np.int16)}
    return _by_channel(view, MULTIPLIER, own)


def _by_channel(view: View, name: str, own: Params) -> Packed:
    """Packs a depthwise input gradient, with a scale for each input channel and scratch memory for the taps of a
    pixel."""
    op = view.the(IntegerDepthwiseInputGradient)
    mult, shift = op.scaling(view.graph)
    scales = [tuple(scale_params(*pair).values()) for pair in zip(mult.tolist(), shift.tolist(), strict=True)]
    params: Params = {"of": _of(view), "scale": Structs("mote_multiplier_t", np.array(scales, np.int64)), **own}
    scratch = 8 * op.vertical.kernel * op.horizontal.kernel
    return Packed(name, params, Entry(operands=(0, 1)), Needs(scratch=scratch))


def input_gradient_work(cycles: float) -> Callable[[View], float]:
    """Returns a cost estimate from cycles per product, plus those to rescale each element of the result."""
    return lambda view: cycles * view.op.macs(view.graph) + RESULT_CYCLES * view.output.size


RESULT_CYCLES = 20
"""Estimated cycles to rescale an accumulator."""
BITS = signature(DType.INT8, DType.UINT8)
MASKS, INPUTS, MULTIPLIER = "masks_s8", "input_gradients_s8", "depthwise_multiplier_input_gradient_s8"
KERNELS = (
    Kernel("activation_mask_s8", (ActivationMask,), BITS, _mask, MASKS, costs=OTHER, tuned=True),
    Kernel("masked_gradient_s8", (MaskedGradient,), INT8, _masked, MASKS, costs=OTHER, tuned=True),
    Kernel("max_pool_taps_s8", (MaxPoolTaps,), BITS, _taps, MASKS, costs=OTHER),
    Kernel("max_pool_spread_s8", (MaxPoolSpread,), INT8, _spread, MASKS, costs=OTHER),
    Kernel(
        "conv_input_gradient_s8",
        (IntegerConvInputGradient,),
        INT8,
        conv_input_gradient,
        INPUTS,
        costs=SIGNAL,
        work=input_gradient_work(6),
    ),
    Kernel(
        "depthwise_input_gradient_s8",
        (IntegerDepthwiseInputGradient,),
        INT8,
        _depthwise,
        INPUTS,
        costs=SIGNAL,
        work=input_gradient_work(5),
    ),
    Kernel(
        MULTIPLIER,
        (IntegerDepthwiseInputGradient,),
        INT8,
        _depthwise_multiplier,
        costs=SIGNAL,
        work=input_gradient_work(9),
    ),
)
