"""On-device linear models, logistic and ridge regression: `mote_linear_f32.h` and `mote_ridge_f32.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import FLOAT32, OTHER_F32, Entry, Kernel, Needs, Packed, View, signature
from mote.ir.graph.types import DType
from mote.ir.ops.learning.linear import LinearScores, LogisticUpdate
from mote.ir.ops.learning.ridge import LEAST_SHARE, RidgeUpdate


def _scores(view: View) -> Packed:
    params = {"outputs": view.output.size, "size": view.input.size}
    return Packed("linear_scores_f32", params, Entry(operands=(0, 1)))


def _logistic(view: View) -> Packed:
    op, outputs = view.the(LogisticUpdate), view.op.input(view.graph, 2).shape[0]
    params = {"outputs": outputs, "size": view.input.size, "rate": op.rate, "kept": op.kept}
    return Packed("logistic_update_f32", params, Entry(operands=(0, 1, 2)), Needs(scratch=4 * outputs))


def _ridge(view: View) -> Packed:
    op, target, weights = view.the(RidgeUpdate), view.op.input(view.graph, 1), view.op.input(view.graph, 2)
    outputs, terms = weights.shape
    params = {
        "outputs": outputs,
        "size": view.input.size,
        "forgetting": op.forgetting,
        "grown": 1 / op.forgetting,
        "least": LEAST_SHARE / op.ridge,
        "most": 1 / op.ridge,
    }
    name = "ridge_label_f32" if target.dtype == DType.INT32 else "ridge_target_f32"
    return Packed(name, params, Entry(operands=(0, 1, 2, 3)), Needs(scratch=4 * (2 * terms + outputs)))


LEARNED = signature(DType.FLOAT32, DType.INT32)
KERNELS = (
    Kernel("linear_scores_f32", (LinearScores,), FLOAT32, _scores, "linear_f32", costs=OTHER_F32),
    Kernel("logistic_update_f32", (LogisticUpdate,), LEARNED, _logistic, "linear_f32", costs=OTHER_F32),
    Kernel("ridge_update_f32", (RidgeUpdate,), LEARNED, _ridge, "ridge_f32", costs=OTHER_F32),
)
