"""On-device k-nearest neighbors: `mote_neighbors.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import OTHER, Entry, Kernel, Needs, Packed, View, signature
from mote.ir.graph.types import DType
from mote.ir.ops.learning.neighbors import KnnScores, KnnUpdate

CODES = signature(DType.INT8, DType.INT32)


def _update(view: View) -> Packed:
    op, labels = view.the(KnnUpdate), view.op.input(view.graph, 3)
    params = {"classes": op.classes, "capacity": labels.size, "size": view.input.size}
    return Packed("knn_update", params, Entry(operands=(0, 1, 2, 3, 4)))


def _scores(view: View) -> Packed:
    op, labels = view.the(KnnScores), view.op.input(view.graph, 2)
    params = {
        "classes": op.classes,
        "capacity": labels.size,
        "size": view.input.size,
        "neighbors": op.neighbors,
    }
    return Packed("knn_scores", params, Entry(operands=(0, 1, 2)), Needs(scratch=8 * op.neighbors))


KERNELS = (
    Kernel("knn_update", (KnnUpdate,), CODES, _update, "neighbors", costs=OTHER),
    Kernel("knn_scores", (KnnScores,), CODES, _scores, "neighbors", costs=OTHER),
)
