"""TFLite_Detection_PostProcess: decodes boxes relative to anchors, then non-max suppression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.numeric.std_heap import largest
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

BOXES, SCORES, ANCHORS = range(3)
QUANTIZED = (DType.INT8, DType.UINT8)
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class ScoreScale:
    """Dequantization of scores, with LiteRT's rounding: groups of eight as codes * scale + offset, the rest as (codes -
    zero) * scale, so that equal codes may have different scores. `shift` converts int8 codes to uint8."""

    scale: float = 1.0
    zero: int = 0
    shift: int = 0
    split: int = 0
    """Number of leading scores that are processed in groups of eight."""

    @property
    def offset(self) -> float:
        return float(np.float32(-self.zero * self.scale))

    def reals(self, values: Array) -> Floats:
        codes = values.reshape(-1).astype(np.float32) + np.float32(self.shift)
        scale = np.float32(self.scale)
        floats = (codes - np.float32(self.zero)) * scale
        floats[: self.split] = codes[: self.split] * scale + np.float32(self.offset)
        return np.asarray(floats.reshape(values.shape))


class Detection(Op):
    """Detection post-processing. Inputs: encoded boxes (y, x, height, width, each times a scale), class scores
    (possibly preceded by background), anchors. Output: one vector of box corners, classes, scores and their count,
    zero-padded. `regular`: non-max suppression per class, instead of once with each box's best class ("fast")."""

    detections: int
    """Maximum number of detected boxes; the output has room for `detections * classes_each` entries."""
    classes_each: int
    """Maximum classes per detected box; 1 if `regular`."""
    per_class: int
    """Maximum detections per class if `regular`."""
    classes: int
    regular: bool
    score_threshold: float
    overlap_threshold: float
    scales: tuple[float, float, float, float]
    kind = "TFLite_Detection_PostProcess"

    @property
    def places(self) -> int:
        return self.detections * self.classes_each

    def shapes(self, g: Graph) -> list[Shape]:
        return [(6 * self.places + 1,)]

    def work(self, g: Graph) -> int:
        """Cost of comparing each box with the selected ones, once per class or once for all."""
        boxes = self.input(g).shape[1]
        rounds = self.classes if self.regular else 1
        return 1000 * boxes * rounds * min(boxes, max(self.detections, self.per_class))

    def unsupported(self, g: Graph) -> str | None:
        boxes, scores, anchors = (self.input(g, p) for p in (BOXES, SCORES, ANCHORS))
        if boxes.dtype not in (DType.FLOAT32, *QUANTIZED):
            return f"{boxes.dtype} boxes are not supported (only float32, int8 and uint8)"
        if scores.dtype != boxes.dtype or anchors.dtype != boxes.dtype:
            return f"{boxes.dtype} boxes with {scores.dtype} scores and {anchors.dtype} anchors are not supported"
        if anchors.data is None:
            return "anchors that are computed at run time are not supported"
        for t in (boxes, scores, anchors):
            if t.dtype in QUANTIZED and (t.quant is None or t.quant.per_channel or t.scale <= 0):
                return f"tensor '{t.name}' has no per-tensor quantization"
        if np.any(self.anchors(g)[:, 2:] < 0):
            return "an anchor has a height or width below zero, for which LiteRT fails"
        return None

    def scale_of_scores(self, g: Graph) -> ScoreScale:
        t = self.input(g, SCORES)
        if t.dtype == DType.FLOAT32:
            return ScoreScale()
        shift = 128 if t.dtype == DType.INT8 else 0
        return ScoreScale(t.scale, t.zero_point + shift, shift, t.size // 8 * 8)

    def anchors(self, g: Graph) -> Floats:
        data = self.input(g, ANCHORS).data
        assert data is not None
        return real(self.input(g, ANCHORS), data)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        encoded, score_codes = values[BOXES], values[SCORES]
        assert encoded is not None and score_codes is not None
        boxes = self._decoded(real(self.input(g, BOXES), encoded)[0, :, :4], self.anchors(g))
        scores = self.scale_of_scores(g).reals(score_codes)[0, :, -self.classes :]
        detections = self._regular(boxes, scores) if self.regular else self._fast(boxes, scores)
        out = np.zeros(6 * self.places + 1, np.float32)
        corners, classes, best = out[: 4 * self.places].reshape(-1, 4), out[4 * self.places :], out[5 * self.places :]
        for place, box, label in detections:
            corners[place], classes[place], best[place] = boxes[box], label, scores[box, label]
        out[-1] = len(detections) // (1 if self.regular else self._reported)
        return [out]

    @property
    def _reported(self) -> int:
        return min(self.classes_each, self.classes)

    def _decoded(self, encoded: Floats, anchors: Floats) -> Floats:
        """Box corners (top, left, bottom, right) from encoded boxes and anchors, rounded where LiteRT rounds."""
        y, x, h, w = (encoded[:, i].astype(np.float64) / self.scales[i] for i in range(4))
        ay, ax, ah, aw = (anchors[:, i].astype(np.float64) for i in range(4))
        middle = np.stack([y * ah + ay, x * aw + ax], axis=1).astype(np.float32)
        with np.errstate(over="ignore"):
            half = np.stack([0.5 * np.exp(h) * ah, 0.5 * np.exp(w) * aw], axis=1).astype(np.float32)
        return np.concatenate([middle - half, middle + half], axis=1)

    def _fast(self, boxes: Floats, scores: Floats) -> list[tuple[int, int, int]]:
        """Fast suppression: (position in the outputs, box index, class) of each detection."""
        candidates = []
        for i, box in enumerate(self._suppressed(boxes, scores.max(axis=1), self.detections)):
            best = largest(scores[box].tolist(), self._reported) if self._reported > 1 else [int(scores[box].argmax())]
            candidates += [(self.classes_each * i + k, box, label) for k, label in enumerate(best)]
        return candidates

    def _regular(self, boxes: Floats, scores: Floats) -> list[tuple[int, int, int]]:
        kept: list[tuple[int, int]] = []
        for label in range(self.classes):
            selected = [(box, label) for box in self._suppressed(boxes, scores[:, label], self.per_class)]
            kept = sorted([*kept, *selected], key=lambda detection: -scores[detection])[: self.detections]
        return [(place, box, label) for place, (box, label) in enumerate(kept)]

    def _suppressed(self, boxes: Floats, scores: Floats, most: int) -> list[int]:
        """Non-max suppression: indices of at most `most` boxes by descending score, without those that overlap a better
        one; of equal scores the first."""
        order = np.argsort(-scores, kind="stable")
        chosen: list[int] = []
        for box in order[scores[order] >= np.float32(self.score_threshold)].tolist():
            if len(chosen) == most:
                break
            if not np.any(overlap(boxes[chosen], boxes[box]) > np.float32(self.overlap_threshold)):
                chosen.append(box)
        return chosen


def real(t: Tensor, values: Array) -> Floats:
    """Dequantize a tensor's values; float32 values stay as they are."""
    if t.dtype == DType.FLOAT32:
        return cast(Floats, values)
    return np.asarray((values.astype(np.float32) - np.float32(t.zero_point)) * np.float32(t.scale))


def overlap(boxes: Floats, one: Floats) -> Floats:
    """Intersection over union of several boxes with one box."""
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = np.maximum(boxes[:, :2], one[:2]), np.minimum(boxes[:, 2:], one[2:])
        common = np.prod(np.maximum(high - low, np.float32(0)), axis=1)
        areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
        area = np.prod(one[2:] - one[:2])
        share = common / (areas + area - common)
    return np.asarray(np.where((areas <= 0) | (area <= 0), np.float32(0), share))


def finite(values: Sequence[float]) -> bool:
    return all(map(math.isfinite, values))
