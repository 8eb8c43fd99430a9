"""Steps of int8 weights and int32 biases: `mote_steps_s8.h`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mote.graph.types import DType
from mote.kernels.contract import INT8, OTHER, SIGNAL, Entry, Kernel, Packed, Params, Structs, View, signature
from mote.ops.common import Axis
from mote.ops.training.integer.steps import BiasStep, ConvStep, DepthwiseStep, IntegerStep


def _step(view: View) -> Params:
    op, g = view.op, view.graph
    assert isinstance(op, IntegerStep)
    return {
        "positions": op.positions(g),
        "all": op.input(g, 1).channels,
        "first": op.first,
        "channels": op.channels(g),
        "left": op.left(g),
        "seed": op.seed,
        "factor": Structs("mote_factor_t", np.stack(op.factors(g), axis=1)),
    }


def _bias(view: View) -> Packed:
    return Packed("bias_step_s32", _step(view), Entry(operands=(1, 2, 3)))


def weights_step(view: View) -> Packed:
    op, g = view.the(ConvStep), view.graph
    (_, height, width, depth), _ = op.images(g)
    params: Params = {
        "step": _step(view),
        "rows": axis_params(op.vertical, height),
        "cols": axis_params(op.horizontal, width),
        "depth": depth,
        "zero": op.input(g, 2).zero_point,
    }
    name = "depthwise_step_s8" if isinstance(op, DepthwiseStep) else "conv_step_s8"
    return Packed(name, params, Entry(operands=(1, 2, 3, 4)))


def weights_work(cycles: float) -> Callable[[View], float]:
    """Cycles for each product, and those of each weight's step."""
    return lambda view: cycles * view.op.macs(view.graph) + WEIGHT_CYCLES * view.output.size


def axis_params(axis: Axis, size: int) -> Params:
    """Rows or columns of a window over an image."""
    window = {"taps": axis.kernel, "stride": axis.stride, "spread": axis.dilation, "pad": axis.before}
    return {"in": size, "out": axis.size(size), **window}


WEIGHT_CYCLES = 30
"""Cycles of rounding a step and subtracting it."""
WORDS = signature(DType.INT32, DType.INT32)
KERNELS = (
    Kernel("bias_step_s32", (BiasStep,), WORDS, _bias, "steps_s8", costs=OTHER),
    Kernel("depthwise_step_s8", (DepthwiseStep,), INT8, weights_step, "steps_s8", costs=OTHER),
    Kernel("conv_step_s8", (ConvStep,), INT8, weights_step, "steps_s8", costs=SIGNAL, work=weights_work(6)),
)
