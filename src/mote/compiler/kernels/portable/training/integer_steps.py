"""Optimizer steps for int8 weights and int32 biases: `mote_steps_s8.h`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import numpy as np

from mote.compiler.kernels.contract import (
    INT8,
    OTHER,
    SIGNAL,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    Structs,
    View,
    signature,
)
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.training.integer.steps import BiasStep, ConvStep, DepthwiseStep, IntegerStep


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
    return with_momentum(view, "bias", "s32", _step(view))


def with_momentum(view: View, name: str, suffix: str, params: Params, scratch: int | None = None) -> Packed:
    """Packs an optimizer step, with momentum if the operator keeps an update tensor."""
    op = view.op
    assert isinstance(op, IntegerStep)
    entry, needs = Entry(operands=tuple(range(1, len(op.inputs)))), Needs(scratch)
    if not op.has_update:
        return Packed(f"{name}_step_{suffix}", params, entry, needs)
    momentum: Params = {"size": view.output.size, **asdict(op.update_rule)}
    return Packed(f"{name}_momentum_{suffix}", {"of": params, "momentum": momentum}, entry, needs)


def _weights(view: View) -> Packed:
    name = "depthwise" if isinstance(view.op, DepthwiseStep) else "conv"
    return with_momentum(view, name, "s8", weights_step(view))


def weights_step(view: View) -> Params:
    op, g = view.the(ConvStep), view.graph
    (_, height, width, depth), _ = op.images(g)
    return {
        "step": _step(view),
        "rows": axis_params(op.vertical, height),
        "cols": axis_params(op.horizontal, width),
        "depth": depth,
        "zero": op.input(g, 2).zero_point,
    }


def weights_work(cycles: float) -> Callable[[View], float]:
    """Returns a cost estimate from cycles per product, plus those to update each weight."""
    return lambda view: cycles * view.op.macs(view.graph) + WEIGHT_CYCLES * view.output.size


def axis_params(axis: Axis, size: int) -> Params:
    """Window parameters along one axis: input and output size, taps, stride, dilation, padding."""
    window = {"taps": axis.kernel, "stride": axis.stride, "spread": axis.dilation, "pad": axis.before}
    return {"in": size, "out": axis.size(size), **window}


def span(axis: Axis, size: int) -> int:
    """Number of rows or columns that all windows together cover."""
    return (axis.size(size) - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1


WEIGHT_CYCLES = 30
"""Estimated cycles to round and subtract a step."""
WORDS = signature(DType.INT32, DType.INT32)
KERNELS = (
    Kernel("bias_step_s32", (BiasStep,), WORDS, _bias, "steps_s8", costs=OTHER),
    Kernel("depthwise_step_s8", (DepthwiseStep,), INT8, _weights, "steps_s8", costs=OTHER),
    Kernel("conv_step_s8", (ConvStep,), INT8, _weights, "steps_s8", costs=SIGNAL, work=weights_work(6)),
)
