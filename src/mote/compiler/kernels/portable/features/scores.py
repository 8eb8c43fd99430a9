"""Post-processing of scores over time, and decisions based on them: `mote_scores.h`, `mote_anomaly.h` and
`mote_nms.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import (
    OTHER,
    OTHER_F32,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Signature,
    View,
)
from mote.ir.graph.types import DType
from mote.ir.ops.features.anomaly import CODES, AnomalyScore
from mote.ir.ops.features.boxes import OVERLAP_BITS, SuppressedBoxes
from mote.ir.ops.features.scores import WEIGHT_BITS, BestClass, Detect, ExponentialAverage, MovingAverage, Threshold

TYPES = {
    DType.INT8: ("s8", "int8_t"),
    DType.UINT8: ("u8", "uint8_t"),
    DType.INT16: ("s16", "int16_t"),
    DType.INT32: ("s32", "int32_t"),
    DType.FLOAT32: ("f32", "float"),
}
MODEL_CODES = frozenset(CODES)
CODED = MODEL_CODES | {DType.INT32}
REALS = frozenset({DType.FLOAT32})
NUMBERS = frozenset({DType.INT32})


def _moving_average(view: View) -> Packed:
    op, (suffix, ctype) = view.the(MovingAverage), TYPES[view.input.dtype]
    params: Params = {"count": op.count, "size": view.input.size}
    if view.input.dtype.real:
        return Packed("moving_average_f32", {**params, "share": 1 / op.count}, Entry(operands=(0, 1, 2)))
    instance = Instance("MOTE_MOVING_AVERAGE", (suffix, ctype))
    return Packed(f"moving_average_{suffix}", params, Entry(operands=(0, 1, 2)), instances=(instance,))


def _exponential_average(view: View) -> Packed:
    op, (suffix, ctype) = view.the(ExponentialAverage), TYPES[view.input.dtype]
    params: Params = {"size": view.input.size}
    if view.input.dtype.real:
        share = op.weight / (1 << WEIGHT_BITS)
        return Packed("exponential_average_f32", {**params, "share": share}, Entry(operands=(0, 1)))
    params |= {"zero": view.input.zero_point, "fraction": op.fraction, "weight": op.weight}
    instance = Instance("MOTE_EXPONENTIAL_AVERAGE", (suffix, ctype))
    return Packed(f"exponential_average_{suffix}", params, Entry(operands=(0, 1)), instances=(instance,))


def _decision(view: View, name: str, params: Params, entry: Entry) -> Packed:
    suffix, ctype = TYPES[view.input.dtype]
    instance = Instance(f"MOTE_{name.upper()}", (suffix, ctype, TYPES[view.output.dtype][1]))
    return Packed(f"{name}_{suffix}", params, entry, instances=(instance,))


def _detect(view: View) -> Packed:
    op = view.the(Detect)
    params: Params = {
        "place": op.place,
        "hold": op.hold,
        "refractory": op.refractory,
        "least": op.least,
        "window": op.window,
        "above": op.above,
        "release": op.release,
    }
    return _decision(view, "detect", params, Entry(operands=(0, 1)))


def _best_class(view: View) -> Packed:
    op = view.the(BestClass)
    params: Params = {
        "size": view.input.size,
        "refractory": op.refractory,
        "background": op.background,
        "above": op.above,
    }
    return _decision(view, "best_class", params, Entry(operands=(0, 1)))


def _threshold(view: View) -> Packed:
    return _decision(view, "threshold", {"above": view.the(Threshold).above}, Entry(Call.FLAT, view.input.size))


def _anomaly(view: View) -> Packed:
    op, given = view.the(AnomalyScore), view.op.input(view.graph, 1)
    if view.input.dtype.real:
        params: Params = {"size": view.input.size, "share": 1 / view.input.size}
        return Packed("anomaly_f32", params, Entry(operands=(0, 1)))
    how = op.arithmetic(view.graph)
    (after, output_type), (before, input_type) = TYPES[view.input.dtype], TYPES[given.dtype]
    params = {
        "size": view.input.size,
        "output_zero": view.input.zero_point,
        "output_factor": how.output_factor,
        "input_zero": given.zero_point,
        "input_factor": how.input_factor,
        "narrow": how.narrow,
        "shift": how.shift,
    }
    name = f"anomaly_{after}_{before}"
    instance = Instance("MOTE_ANOMALY", (name, output_type, input_type))
    return Packed(name, params, Entry(operands=(0, 1)), instances=(instance,))


def _nms(view: View) -> Packed:
    op, boxes, (suffix, ctype) = view.the(SuppressedBoxes), view.input, TYPES[view.input.dtype]
    count, real = boxes.size // 4, boxes.dtype.real
    params: Params = {
        "boxes": count,
        "classes": op.input(view.graph, 1).size // count,
        "most": op.most,
        "centers": int(op.centers),
        "together": int(op.together),
        "zero": 0 if real else boxes.zero_point,
        "above": op.above,
        "share": op.overlap,
        "whole": 1 if real else 1 << OVERLAP_BITS,
    }
    arguments = (suffix, ctype, "float", "float", "float") if real else (suffix, ctype, "int32_t", "int32_t", "int64_t")
    instance = Instance("MOTE_NMS", arguments)
    needs = Needs(scratch=8 * count)
    return Packed(f"nms_{suffix}", params, Entry(operands=(0, 1)), needs, instances=(instance,))


KERNELS = tuple(
    Kernel(f"{name}{end}", (kind,), Signature(types, results), pack, header, costs=costs)
    for name, kind, taken, pack, header in (
        ("moving_average", MovingAverage, MODEL_CODES, _moving_average, "scores"),
        ("exponential_average", ExponentialAverage, MODEL_CODES, _exponential_average, "scores"),
        ("detect", Detect, CODED, _detect, "scores"),
        ("best_class", BestClass, CODED, _best_class, "scores"),
        ("threshold", Threshold, CODED, _threshold, "scores"),
        ("anomaly", AnomalyScore, MODEL_CODES, _anomaly, "anomaly"),
        ("nms", SuppressedBoxes, MODEL_CODES, _nms, "nms"),
    )
    for end, types, results, costs in (("", taken, NUMBERS, OTHER), ("_f32", REALS, REALS, OTHER_F32))
)
