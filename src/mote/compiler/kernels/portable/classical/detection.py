"""Post-processing of detection boxes and non-max suppression: `mote_detection.h`, `mote_suppression.h`,
`mote_greedy_suppression.h`. The first two compute several outputs in one tensor, which `mote_part.h` separates."""

from __future__ import annotations

from mote.compiler.kernels.contract import OTHER_F32, Entry, Instance, Kernel, Needs, Packed, Params, Signature, View
from mote.ir.graph.types import DType
from mote.ir.ops.classical.detection import BOXES, SCORES, Detection
from mote.ir.ops.classical.non_max_suppression import (
    OVERLAP_THRESHOLD,
    SCORE_THRESHOLD,
    SIGMA,
    GreedySuppression,
    Suppression,
)
from mote.ir.ops.moves.multi_output import Part

REALS = frozenset({DType.FLOAT32})
TYPES = {DType.FLOAT32: ("f32", "float"), DType.INT8: ("s8", "int8_t"), DType.UINT8: ("u8", "uint8_t")}


def _detection(view: View) -> Packed:
    op, g = view.the(Detection), view.graph
    boxes, scores = op.input(g, BOXES), op.input(g, SCORES)
    suffix, ctype = TYPES[boxes.dtype]
    quantized, score = boxes.dtype != DType.FLOAT32, op.scale_of_scores(g)
    params: Params = {
        "boxes": boxes.shape[1],
        "coordinates": boxes.shape[2],
        "columns": scores.shape[2],
        "background": scores.shape[2] - op.classes,
        "classes": op.classes,
        "told": min(op.classes_each, op.classes),
        "each": op.classes_each,
        "detections": op.detections,
        "per_class": op.per_class,
        "score_threshold": op.score_threshold,
        "overlap_threshold": op.overlap_threshold,
        "box_scale": boxes.scale if quantized else 1.0,
        "box_zero": float(boxes.zero_point) if quantized else 0.0,
        "score_scale": score.scale,
        "score_zero": float(score.zero),
        "score_shift": float(score.shift),
        "score_offset": score.offset,
        "score_split": score.split,
        **{f"{name}_scale": scale for name, scale in zip("yxhw", op.scales, strict=True)},
        "anchors": op.anchors(g),
    }
    return Packed(
        f"detection_{'regular' if op.regular else 'fast'}_{suffix}",
        params,
        Entry(operands=(BOXES, SCORES)),
        Needs(scratch=4 * _words(op, boxes.shape[1])),
        instances=(Instance("MOTE_DETECTION", (suffix, ctype)),),
    )


def _words(op: Detection, boxes: int) -> int:
    """Scratch memory in 32-bit words. Fast mode: scores and a heap of all boxes, classes with their scores. Regular
    mode: instead of classes, the detections and the boxes of a class."""
    if not op.regular:
        return 2 * boxes + 2 * op.classes
    return 2 * boxes + 4 * min(op.per_class, boxes) + 2 * op.detections


def _suppression(view: View) -> Packed:
    op, boxes = view.the(Suppression), view.input.shape[0]
    soft = len(op.inputs) > SIGMA
    operands = (BOXES, SCORES, OVERLAP_THRESHOLD, SCORE_THRESHOLD, *((SIGMA,) if soft else ()))
    name = "suppression_v5" if soft else "suppression_v4"
    return Packed(name, {"boxes": boxes, "most": op.most}, Entry(operands=operands), Needs(scratch=16 * boxes))


def _greedy(view: View) -> Packed:
    op = view.the(GreedySuppression)
    params: Params = {"boxes": view.input.shape[0], "most": op.most, "share": op.share, "least": op.least}
    return Packed("greedy_suppression_f32", params, Entry(operands=(BOXES, SCORES)))


def _part(view: View) -> Packed:
    name = "part_f32" if view.output.dtype == DType.FLOAT32 else "part_s32"
    return Packed(name, {"begin": view.the(Part).begin, "size": view.output.size})


KERNELS = (
    Kernel("detection", (Detection,), Signature(frozenset(TYPES), REALS), _detection, "detection", costs=OTHER_F32),
    Kernel("suppression", (Suppression,), Signature(REALS, REALS), _suppression, "suppression", costs=OTHER_F32),
    Kernel(
        "greedy_suppression",
        (GreedySuppression,),
        Signature(REALS, frozenset({DType.INT32})),
        _greedy,
        "greedy_suppression",
        costs=OTHER_F32,
    ),
    Kernel("part", (Part,), Signature(REALS, REALS | {DType.INT32}), _part, "part", costs=OTHER_F32),
)
