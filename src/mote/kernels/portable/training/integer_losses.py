"""Losses of int8 models: `mote_cross_entropy_s8.h` and `mote_mean_squared_error_s8.h`."""

from __future__ import annotations

from mote.graph.types import DType
from mote.kernels.contract import INT8, OTHER, Entry, Kernel, Packed, Params, View, signature
from mote.ops.reductions.softmax import exponential_scaling
from mote.ops.training.integer.losses import (
    CrossEntropy,
    CrossEntropyGradient,
    CrossEntropyStep,
    MeanSquaredErrorGradient,
    MeanSquaredErrorStep,
)

MOST_SHIFT = 30
"""C has no larger left shift of 32 bits. Beyond it only zeros are shifted, the distances of the largest elements."""


def _cross_entropy(view: View) -> Packed:
    op, step = view.the(CrossEntropy), isinstance(view.op, CrossEntropyStep)
    mult, shift, radius = exponential_scaling(view.input, op.beta)
    exponentials: Params = {"depth": view.input.size, "mult": mult, "shift": min(shift, MOST_SHIFT), "radius": radius}
    name = "cross_entropy_step_s8" if step else "cross_entropy_gradient_s8"
    params: Params = {"exp": exponentials, "bits": op.bits(view.graph)}
    return Packed(name, params, Entry(operands=tuple(range(3 if step else 2))))


def _error_gradient(view: View) -> Packed:
    return Packed("mean_squared_error_gradient_s8", {"size": view.input.size}, Entry(operands=(0, 1)))


def _error_step(view: View) -> Packed:
    return Packed("mean_squared_error_step_s8", {"size": view.input.size}, Entry(operands=(0, 1, 2)))


SIZE = signature(DType.INT8, DType.INT32)
ERROR = "mean_squared_error"
KERNELS = (
    Kernel("cross_entropy_gradient_s8", (CrossEntropyGradient,), INT8, _cross_entropy, "cross_entropy_s8", costs=OTHER),
    Kernel("cross_entropy_step_s8", (CrossEntropyStep,), SIZE, _cross_entropy, "cross_entropy_s8", costs=OTHER),
    Kernel(f"{ERROR}_gradient_s8", (MeanSquaredErrorGradient,), INT8, _error_gradient, f"{ERROR}_s8", costs=OTHER),
    Kernel(f"{ERROR}_step_s8", (MeanSquaredErrorStep,), SIZE, _error_step, f"{ERROR}_s8", costs=OTHER),
)
