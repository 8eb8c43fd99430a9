"""Non-max suppression: NON_MAX_SUPPRESSION_V4 and V5, and ONNX's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.std_heap import pop, push
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.classical.detection import Floats, overlap

BOXES, SCORES, _, OVERLAP_THRESHOLD, SCORE_THRESHOLD, SIGMA = range(6)


class Suppression(Op):
    """NON_MAX_SUPPRESSION_V4 and V5. Inputs: corners of boxes, scores, maximum number of boxes, thresholds of overlap
    and score and, in V5, sigma of soft suppression (0: none). Output: one vector of box indices, scores and their
    count, zero-padded."""

    most: int
    kind = "NON_MAX_SUPPRESSION"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(2 * self.most + 1,)]

    def work(self, g: Graph) -> int:
        return 2000 * self.input(g).shape[0] * min(self.most, self.input(g).shape[0])

    def unsupported(self, g: Graph) -> str | None:
        for position in (BOXES, SCORES, OVERLAP_THRESHOLD, SCORE_THRESHOLD, SIGMA):
            t = self.tensor(g, position)
            if t is not None and t.dtype != DType.FLOAT32:
                return f"{t.dtype} tensor '{t.name}' is not supported (only float32)"
        sigma = self.tensor(g, SIGMA)
        if sigma is not None and sigma.data is not None and sigma.data.reshape(-1)[0] < 0:
            return "a sigma below zero is not supported (nor by LiteRT)"
        return None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        boxes, initial_scores = values[BOXES], values[SCORES]
        assert boxes is not None and initial_scores is not None
        most_overlap, least, sigma = (
            np.float32(0) if (v := values[p] if p < len(values) else None) is None else v.reshape(-1)[0]
            for p in (OVERLAP_THRESHOLD, SCORE_THRESHOLD, SIGMA)
        )
        factor = np.float32(-0.5) / sigma if sigma > 0 else np.float32(0)
        corners = _corners(boxes)
        scores, compared = initial_scores.copy(), [0] * len(initial_scores)
        queue: list[int] = []
        chosen: list[int] = []
        final_scores: list[np.float32] = []

        def worse(a: int, b: int) -> bool:
            return bool(scores[a] < scores[b])

        def enter(box: int) -> None:
            queue.append(box)
            push(queue, len(queue) - 1, 0, box, worse)

        for box in range(len(initial_scores)):
            if scores[box] > least:
                enter(box)
        wanted = min(len(queue), self.most)
        while len(chosen) < wanted and queue:
            box = pop(queue, worse)
            before = scores[box]
            suppressed = False
            for share in reversed(_overlaps(corners, chosen[compared[box] :], box)):
                suppressed = bool(share >= most_overlap)
                if suppressed:
                    break
                if sigma > 0:
                    scores[box] *= np.exp(factor * share * share)
                if scores[box] <= least:
                    break
            compared[box] = len(chosen)
            if suppressed:
                continue
            if scores[box] == before:
                chosen.append(box)
                final_scores.append(before)
            if scores[box] > least:
                enter(box)
        out = np.zeros(2 * self.most + 1, np.float32)
        out[: len(chosen)] = chosen
        out[self.most : self.most + len(chosen)] = final_scores
        out[-1] = len(chosen)
        return [out]


class GreedySuppression(Op):
    """Non-max suppression of ONNX: boxes, sorted by descending score, are selected while their score is greater than
    `least`, except those whose overlap with a selected one is more than `share`. Inputs: corners of boxes, scores.
    Output: one vector of box indices, zero-padded, and their count."""

    most: int
    share: float
    least: float
    kind = "GREEDY_SUPPRESSION"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.most + 1,)]

    def work(self, g: Graph) -> int:
        return 20 * self.input(g).shape[0] * self.most

    def unsupported(self, g: Graph) -> str | None:
        for position in (BOXES, SCORES):
            t = self.input(g, position)
            if t.dtype != DType.FLOAT32:
                return f"{t.dtype} tensor '{t.name}' is not supported (only float32)"
        return None

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no such operator"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        boxes, scores = values[BOXES], values[SCORES]
        assert boxes is not None and scores is not None
        corners = _corners(boxes)
        chosen: list[int] = []
        for box in range(len(scores)):
            if len(chosen) == self.most or not scores[box] > np.float32(self.least):
                break
            if not np.any(overlap(corners[chosen], corners[box]) > np.float32(self.share)):
                chosen.append(box)
        out = np.zeros(self.most + 1, np.int32)
        out[: len(chosen)] = chosen
        out[-1] = len(chosen)
        return [out]


def _corners(boxes: Array) -> Floats:
    """Sort the corners of boxes so that the smaller coordinates come first."""
    return np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1)


def _overlaps(corners: Floats, boxes: list[int], one: int) -> list[np.float32]:
    return list(overlap(corners[boxes], corners[one]))
