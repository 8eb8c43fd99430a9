"""TFLite_Detection_PostProcess, NON_MAX_SUPPRESSION_V4 and V5: one operator computes all results, others extract
them."""

from __future__ import annotations

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import Node
from mote.ir.graph import Op
from mote.ir.graph.tensor import Shape
from mote.ir.graph.types import DType
from mote.ir.ops.classical.detection import ANCHORS, BOXES, SCORES, Detection, finite
from mote.ir.ops.classical.non_max_suppression import OVERLAP_THRESHOLD, SCORE_THRESHOLD, SIGMA, Suppression
from mote.ir.ops.moves.multi_output import Part

MOST = 1 << 16
"""Limit of detections, and of classes for each."""


def detection(node: Node) -> list[Op]:
    _operands(node, (3,), 4)
    boxes, scores, anchors = (node.input(p).shape for p in (BOXES, SCORES, ANCHORS))
    if len(boxes) != 3 or boxes[0] != 1 or boxes[2] < 4 or len(scores) != 3 or scores[:2] != boxes[:2]:
        raise UnsupportedNodeError(f"boxes of the shape {boxes} and scores of {scores} do not fit each other")
    if anchors != (boxes[1], 4):
        raise UnsupportedNodeError(f"anchors of the shape {anchors} do not fit {boxes[1]} boxes")
    options = node.custom_options()
    detections, each = options.integer("max_detections"), options.integer("max_classes_per_detection")
    per_class, classes = options.integer("detections_per_class", 100), options.integer("num_classes")
    if not (1 <= detections <= MOST and 1 <= each <= MOST and per_class >= 1):
        raise UnsupportedNodeError(f"{detections} detections of {each} classes, {per_class} a class, are not supported")
    if classes < 1 or scores[2] - classes not in (0, 1):
        raise UnsupportedNodeError(f"{scores[2]} scores of a box do not fit {classes} classes")
    scales = tuple(options.real(f"{name}_scale") for name in "yxhw")
    threshold, overlap = options.real("nms_score_threshold"), options.real("nms_iou_threshold")
    if not finite((*scales, threshold)) or not all(scales) or not 0 < overlap <= 1:
        raise UnsupportedNodeError("its scales and thresholds are not supported (nor by LiteRT)")
    places = detections * each
    detector = Detection(
        **{**node.same(), "outputs": (node.inner("detections", (6 * places + 1,), DType.FLOAT32),)},
        detections=detections,
        classes_each=each,
        per_class=min(per_class, detections),
        classes=classes,
        regular=options.flag("use_regular_nms", False),
        score_threshold=threshold,
        overlap_threshold=overlap,
        scales=(scales[0], scales[1], scales[2], scales[3]),
    )
    room, used = (1, 1) if detector.regular else (each, min(each, classes))
    begins, wanted = (0, 4 * places, 5 * places, 6 * places), ((1, places, 4), (1, places), (1, places), (1,))
    ops: list[Op] = [detector]
    for i, (begin, shape, elements) in enumerate(zip(begins, wanted, (4, 1, 1, 0), strict=True)):
        part = _part(node, detector, i, begin, shape, DType.FLOAT32)
        counted = part.with_(count=node.outputs[3], each=elements * room, used=elements * used)
        ops.append(counted if elements else part)
    return ops


def suppression(node: Node) -> list[Op]:
    soft = node.code.endswith("V5")
    _operands(node, (6,) if soft else (5,), 3 if soft else 2)
    boxes, scores = node.input(BOXES).shape, node.input(SCORES).shape
    if len(boxes) != 2 or boxes[1] != 4 or scores != boxes[:1]:
        raise UnsupportedNodeError(f"boxes of the shape {boxes} and scores of {scores} do not fit each other")
    for position in (2, OVERLAP_THRESHOLD, SCORE_THRESHOLD, *((SIGMA,) if soft else ())):
        if node.input(position).size != 1:
            raise UnsupportedNodeError(
                f"input {position} has the shape {node.input(position).shape}, it must be a scalar"
            )
    (most,) = node.integers(2, "the maximum number of boxes")
    if not 1 <= most <= MOST:
        raise UnsupportedNodeError(f"{most} boxes at most are not supported")
    packed = node.inner("selected", (2 * most + 1,), DType.FLOAT32)
    suppressor = Suppression(**{**node.same(), "outputs": (packed,)}, most=most)
    parts = [(0, (most,), DType.INT32), (2 * most, (), DType.INT32)]
    if soft:
        parts.insert(1, (most, (most,), DType.FLOAT32))
    ops: list[Op] = [suppressor]
    for i, (begin, shape, dtype) in enumerate(parts):
        ops.append(_part(node, suppressor, i, begin, shape, dtype))
    return ops


def _operands(node: Node, inputs: tuple[int, ...], outputs: int) -> None:
    if len(node.inputs) not in inputs or len(node.outputs) != outputs or -1 in node.inputs:
        raise UnsupportedNodeError(
            f"has {len(node.inputs)} inputs and {len(node.outputs)} outputs, which its operator does not take"
        )


def _part(node: Node, whole: Op, output: int, begin: int, shape: Shape, dtype: DType) -> Part:
    """One of the results that an operator of the node computes together. Its shape may be dynamic in the file."""
    t = node.output(output)
    if t.dtype != dtype or (t.shape != shape and not node.is_open(output)):
        raise UnsupportedNodeError(f"output {output} is {t}, which should be {dtype} {shape}")
    return Part(inputs=whole.outputs, outputs=(t.id,), name=t.name, index=node.index, begin=begin, shape=shape)
