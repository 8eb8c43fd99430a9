"""Losses of int8 models, with gradients and training steps: `mote_cross_entropy_s8.h` and
`mote_mean_squared_error_s8.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import INT8, OTHER, Entry, Kernel, Packed, Params, View, signature
from mote.ir.graph.types import DType
from mote.ir.ops.reductions.softmax import exponential_scaling
from mote.ir.ops.training.integer.losses import (
    LOSS,
    RATE,
    CrossEntropy,
    CrossEntropyGradient,
    CrossEntropyStep,
    MeanSquaredErrorGradient,
    MeanSquaredErrorStep,
)

MOST_SHIFT = 30
"""Maximum left shift, the largest that C allows for int32; larger ones would only be applied to zeros."""


def _cross_entropy(view: View) -> Params:
    op = view.op
    assert isinstance(op, CrossEntropy)
    mult, shift, radius = exponential_scaling(view.input, op.beta)
    exponentials: Params = {"depth": view.input.size, "mult": mult, "shift": min(shift, MOST_SHIFT), "radius": radius}
    return {"exp": exponentials, "bits": op.bits(view.graph)}


def _entropy_gradient(view: View) -> Packed:
    return Packed("cross_entropy_gradient_s8", _cross_entropy(view), Entry(operands=(0, 1)))


def _entropy_step(view: View) -> Packed:
    params: Params = {"of": _cross_entropy(view), "unit": float(view.the(CrossEntropyStep).unit(view.graph))}
    return Packed("cross_entropy_step_s8", params, Entry(operands=(0, 1, RATE, LOSS)))


def _error_gradient(view: View) -> Packed:
    return Packed("mean_squared_error_gradient_s8", {"size": view.input.size}, Entry(operands=(0, 1)))


def _error_step(view: View) -> Packed:
    op = view.the(MeanSquaredErrorStep)
    params: Params = {"of": {"size": view.input.size}, "unit": float(op.unit(view.graph))}
    return Packed("mean_squared_error_step_s8", params, Entry(operands=(0, 1, RATE, LOSS)))


SIZE = signature(DType.INT8, DType.INT32)
ENTROPY, ERROR = "cross_entropy", "mean_squared_error"
KERNELS = (
    Kernel(f"{ENTROPY}_gradient_s8", (CrossEntropyGradient,), INT8, _entropy_gradient, f"{ENTROPY}_s8", costs=OTHER),
    Kernel(f"{ENTROPY}_step_s8", (CrossEntropyStep,), SIZE, _entropy_step, f"{ENTROPY}_s8", costs=OTHER),
    Kernel(f"{ERROR}_gradient_s8", (MeanSquaredErrorGradient,), INT8, _error_gradient, f"{ERROR}_s8", costs=OTHER),
    Kernel(f"{ERROR}_step_s8", (MeanSquaredErrorStep,), SIZE, _error_step, f"{ERROR}_s8", costs=OTHER),
)
