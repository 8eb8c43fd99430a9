"""On-device one-class scores, the distance of a value from the distribution of normal samples: `mote_one_class.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import OTHER, Entry, Instance, Kernel, Packed, Signature, View
from mote.ir.graph.types import DType
from mote.ir.ops.learning.one_class import MEASURES, OneClassScore, OneClassUpdate

TYPES = {DType.INT8: ("s8", "int8_t"), DType.INT16: ("s16", "int16_t"), DType.INT32: ("s32", "int32_t")}
SCORES = Signature(frozenset(MEASURES), frozenset({DType.INT32}))


def _update(view: View) -> Packed:
    suffix, ctype = TYPES[view.input.dtype]
    instance = Instance("MOTE_ONE_CLASS_UPDATE", (suffix, ctype))
    params = {"window": view.the(OneClassUpdate).window}
    return Packed(f"one_class_update_{suffix}", params, Entry(operands=(0, 1, 2, 3)), instances=(instance,))


def _score(view: View) -> Packed:
    suffix, ctype = TYPES[view.input.dtype]
    instance = Instance("MOTE_ONE_CLASS_SCORE", (suffix, ctype))
    params = {"floor": view.the(OneClassScore).floor}
    return Packed(f"one_class_score_{suffix}", params, Entry(operands=(0, 1, 2)), instances=(instance,))


KERNELS = (
    Kernel("one_class_update", (OneClassUpdate,), SCORES, _update, "one_class", costs=OTHER),
    Kernel("one_class_score", (OneClassScore,), SCORES, _score, "one_class", costs=OTHER),
)
