"""On-device nearest class means: `mote_prototypes.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import OTHER, Entry, Kernel, Packed, View, signature
from mote.ir.graph.types import DType
from mote.ir.ops.learning.prototypes import PrototypeCosines, PrototypeScores, PrototypeUpdate


def _update(view: View) -> Packed:
    op, counts = view.the(PrototypeUpdate), view.op.input(view.graph, 3)
    params = {"classes": counts.size, "size": view.input.size, "most": op.most}
    return Packed("prototype_update", params, Entry(operands=(0, 1, 2, 3)))


def _scores(view: View) -> Packed:
    op = view.the(PrototypeScores)
    params = {"classes": view.output.size, "size": view.input.size, "most": op.most}
    return Packed("prototype_scores", params, Entry(operands=(0, 1, 2)))


def _cosines(view: View) -> Packed:
    op = view.the(PrototypeCosines)
    params = {"classes": view.output.size, "size": view.input.size, "most": op.most, "zero": op.zero}
    return Packed("prototype_cosines", params, Entry(operands=(0, 1, 2)))


CODES = signature(DType.INT8, DType.INT32)
KERNELS = (
    Kernel("prototype_update", (PrototypeUpdate,), CODES, _update, "prototypes", costs=OTHER),
    Kernel("prototype_scores", (PrototypeScores,), CODES, _scores, "prototypes", costs=OTHER),
    Kernel("prototype_cosines", (PrototypeCosines,), CODES, _cosines, "prototypes", costs=OTHER),
)
