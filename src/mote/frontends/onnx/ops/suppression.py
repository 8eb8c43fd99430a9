"""NonMaxSuppression with a constant largest number of boxes: as many rows as there may be results, each a batch entry,
a class and a box, and rows of -1 behind them.

Boxes are sorted by their scores first; those of equal scores keep their order, as in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise, indexing, moves, reductions
from mote.frontends.onnx.node import Key, Node, Parser
from mote.ir.graph.types import DType
from mote.ir.ops.classical.non_max_suppression import GreedySuppression

ROWS = "make its result an output of the model too: rows behind the results are -1, and end them"
PADDING = -1
"""The elements of rows behind the results."""
LOWEST = np.finfo(np.float32).min
"""The threshold of scores where there is none."""
MOST = 256
"""Limit of classes times batch entries."""


def non_max_suppression(node: Node) -> Value:
    b, boxes, scores = node.b, node.input(0), node.input(1)
    if boxes.rank != 3 or scores.rank != 3 or boxes.shape != (scores.shape[0], scores.shape[2], 4):
        raise UnsupportedNodeError(f"boxes of {boxes.shape} and scores of {scores.shape} do not fit each other")
    if scores.shape[0] * scores.shape[1] > MOST:
        raise UnsupportedNodeError(f"more than {MOST} classes are not supported")
    most = min(int(node.number(2, "the largest number of boxes")) if node.has(2) else 0, boxes.shape[1])
    if most < 1:
        raise UnsupportedNodeError("selects no boxes: the largest number of boxes is 0")
    share = np.float32(node.number(3, "the threshold of overlaps") if node.has(3) else 0)
    least = np.float32(node.number(4, "the threshold of scores") if node.has(4) else LOWEST)
    if not 0 <= share <= 1 or not np.isfinite(least):
        raise UnsupportedNodeError(f"thresholds of {share:g} and {least:g} are not supported")
    if node.scope.around is not None or not node.scope.is_output(node.call.outputs[0]):
        raise UnsupportedNodeError("the number of its results would be lost: its rows are no output of the model", ROWS)
    corners = _corners(b, boxes) if node.flag("center_point_box", False) else boxes
    rows, valid = [], []
    for entry in range(scores.shape[0]):
        own = moves.reshape(b, moves.slice_(b, corners, 0, entry, 1), boxes.shape[1:])
        for label in range(scores.shape[1]):
            one = moves.slice_(b, moves.slice_(b, scores, 0, entry, 1), 1, label, 1)
            chosen, count = _selected(b, own, moves.reshape(b, one, [boxes.shape[1]]), most, float(share), float(least))
            head = b.constant(np.tile(np.array([entry, label], np.int32), (most, 1)))
            rows.append(moves.concat(b, [head, moves.reshape(b, chosen, [most, 1])], 1))
            valid.append(elementwise.greater(b, count, b.constant(np.arange(most, dtype=np.int32))))
    many = f"{node.where} has {most * len(rows)} rows: those behind its results are {PADDING}"
    b.warnings.append(f"{many}, and what is computed from them has no meaning")
    return elementwise.cast(b, _first(b, moves.concat(b, rows, 0), moves.concat(b, valid, 0)), DType.INT64)


def _corners(b: Builder, boxes: Value) -> Value:
    """Boxes of centers, widths and heights by their corners, y first. Negative sizes are none."""
    x, y, width, height = moves.split(b, boxes, 2, [1] * 4)
    nothing, half = elementwise.scalar(b, 0.0), elementwise.scalar(b, 0.5)
    right, down = (elementwise.mul(b, elementwise.maximum(b, size, nothing), half) for size in (width, height))
    ends = (
        (elementwise.sub, y, down),
        (elementwise.sub, x, right),
        (elementwise.add, y, down),
        (elementwise.add, x, right),
    )
    return moves.concat(b, [of(b, middle, size) for of, middle, size in ends], 2)


def _selected(b: Builder, boxes: Value, scores: Value, most: int, share: float, least: float) -> tuple[Value, Value]:
    """The indices of the selected boxes of one class, and their number."""
    top, order = reductions.top_k(b, scores, scores.size)
    given = [b.plain(indexing.gather(b, boxes, 0, order)), b.plain(top)]
    made = b.op(GreedySuppression, given, (most + 1,), DType.INT32, most=most, share=share, least=least)
    chosen, count = moves.split(b, b.value(made, (most + 1,)), 0, [most, 1])
    return indexing.gather(b, order, 0, chosen), count


def _first(b: Builder, rows: Value, valid: Value) -> Value:
    """The valid rows, and rows of padding behind them."""
    size = rows.shape[0]
    ends = reductions.cumulative_sum(b, elementwise.cast(b, valid, DType.INT32), 0)
    before = elementwise.sub(b, ends, elementwise.scalar(b, 1, DType.INT32))
    places = elementwise.where(b, valid, before, elementwise.scalar(b, size, DType.INT32))
    nothing = elementwise.full(b, (size, 3), PADDING, DType.INT32)
    return indexing.scatter_nd(b, nothing, moves.reshape(b, places, [size, 1]), rows)


PARSERS: Mapping[Key, Parser] = {("", "NonMaxSuppression"): non_max_suppression}
