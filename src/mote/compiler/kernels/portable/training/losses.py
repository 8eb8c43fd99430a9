"""float32 losses with their gradients: `mote_losses_f32.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import FLOAT32, OTHER_F32, Entry, Kernel, Packed, View, units_of
from mote.ir.ops.training.losses import MeanSquaredError, SoftmaxCrossEntropy


def _cross_entropy(view: View) -> Packed:
    depth = view.input.shape[-1]
    params = {
        "vectors": units_of(view.input.shape, depth),
        "depth": depth,
        "beta": view.the(SoftmaxCrossEntropy).beta,
    }
    return Packed("softmax_cross_entropy_f32", params, Entry(operands=(0, 1, 2)))


def _squared_error(view: View) -> Packed:
    return Packed("mean_squared_error_f32", {"size": view.input.size}, Entry(operands=(0, 1, 2)))


KERNELS = (
    Kernel("softmax_cross_entropy_f32", (SoftmaxCrossEntropy,), FLOAT32, _cross_entropy, "losses_f32", costs=OTHER_F32),
    Kernel("mean_squared_error_f32", (MeanSquaredError,), FLOAT32, _squared_error, "losses_f32", costs=OTHER_F32),
)
