"""On-device Gaussian naive Bayes: `mote_gaussian_f32.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import FLOAT32, OTHER_F32, Entry, Kernel, Packed, View, signature
from mote.ir.graph.types import DType
from mote.ir.ops.learning.gaussian import GaussianScores, GaussianUpdate


def _update(view: View) -> Packed:
    op, counts = view.the(GaussianUpdate), view.op.input(view.graph, 5)
    params = {
        "classes": counts.size,
        "size": view.input.size,
        "most": op.most,
        "kept": 1 - 1 / op.most,
        "smoothing": op.smoothing,
    }
    return Packed("gaussian_update_f32", params, Entry(operands=(0, 1, 2, 3, 4, 5)))


def _scores(view: View) -> Packed:
    op = view.the(GaussianScores)
    params = {
        "classes": view.output.size,
        "size": view.input.size,
        "most": op.most,
        "smoothing": op.smoothing,
    }
    return Packed("gaussian_scores_f32", params, Entry(operands=(0, 1, 2, 3, 4)))


LEARNED = signature(DType.FLOAT32, DType.INT32)
KERNELS = (
    Kernel("gaussian_update_f32", (GaussianUpdate,), LEARNED, _update, "gaussian_f32", costs=OTHER_F32),
    Kernel("gaussian_scores_f32", (GaussianScores,), FLOAT32, _scores, "gaussian_f32", costs=OTHER_F32),
)
