"""Non-maximum suppression of a detector's boxes in quantized integers (or floats)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.features.scores import Decision

TYPES = (DType.INT8, DType.UINT8, DType.INT16, DType.FLOAT32)
OVERLAP_BITS = 15
"""Fraction bits of the overlap threshold of integer boxes."""
FIELDS = 6
"""Values per selected box in the output: class, score and four coordinates."""
NOTHING = -1
"""Class number of unused output entries, if fewer boxes are selected than the output has room for."""


class SuppressedBoxes(Decision):
    """Non-maximum suppression: up to `most` boxes with the best scores, best first. Inputs: boxes [.., n, 4] as two
    corners, or as center and size (`centers`), and scores [.., n, classes]. The class of a box is that of its highest
    score, which must exceed `above`. A box is dropped if its intersection over union with a better box of its class
    (`together`: of any class) exceeds `overlap`. Output: class (-1: none), score and the coordinates of each box as the
    model outputs them."""

    most: int
    above: float
    overlap: float
    """Threshold of intersection over union: a float, or for quantized boxes an integer in units of 2^-15."""
    centers: bool = False
    together: bool = False
    kind = "SuppressedBoxes"
    numbers = (
        ("CLASS", "the class of a box, or -1 behind the last one"),
        ("SCORE", "its score"),
        ("BOX", "the first of its four coordinates"),
    )
    noticed = "CLASS", " >= 0"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.most, FIELDS)]

    def scores(self, g: Graph) -> Tensor:
        return self.input(g, 1)

    def work(self, g: Graph) -> int:
        return 2000 * self.input(g).size // 4 * self.most

    def unsupported(self, g: Graph) -> str | None:
        boxes, scores, y = self.input(g), self.input(g, 1), self.output(g)
        wanted = DType.FLOAT32 if boxes.dtype.real else DType.INT32
        if boxes.dtype not in TYPES or scores.dtype != boxes.dtype or y.dtype != wanted:
            types = f"{boxes.dtype} boxes with {scores.dtype} scores and {y.dtype} results"
            return f"{types} are not supported (boxes and scores of one type: {', '.join(TYPES)})"
        if boxes.channels != 4 or scores.size * 4 % boxes.size:
            return f"shapes {boxes.shape} and {scores.shape} are not those of boxes [n, 4] and scores [n, classes]"
        return None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        boxes, all_scores = values
        assert boxes is not None and all_scores is not None
        coordinates = boxes.reshape(-1, 4)
        scores = all_scores.reshape(len(coordinates), -1)
        classes, best = np.zeros(len(coordinates), np.int64), scores[:, 0].copy()
        for c in range(1, scores.shape[1]):
            higher = scores[:, c] > best
            classes[higher], best[higher] = c, scores[higher, c]
        remaining = best > np.array(self.above, best.dtype)
        corners = self._corners(g, coordinates)
        selected = np.zeros((self.most, FIELDS), self.output(g).dtype.numpy)
        selected[:, 0] = NOTHING
        for line in selected:
            if not remaining.any():
                break
            box = self._first_best(best, remaining)
            line[:] = classes[box], best[box], *coordinates[box]
            remaining[box] = False
            for other in np.flatnonzero(remaining & (self.together | (classes == classes[box]))):
                remaining[other] = not self._covers(corners[box], corners[other])
        return [selected]

    @staticmethod
    def _first_best(best: Array, remaining: NDArray[np.bool_]) -> int:
        at = np.flatnonzero(remaining)
        return int(at[np.argmax(best[at])])

    def _corners(self, g: Graph, coordinates: Array) -> Array:
        """Box corners with the smaller coordinates first; doubled if boxes are given by their centers."""
        if coordinates.dtype != np.float32:
            coordinates = coordinates.astype(np.int64) - self.input(g).zero_point
        first, second = coordinates[:, :2], coordinates[:, 2:]
        if self.centers:
            middle, sizes = first + first, np.abs(second)
            return np.concatenate([middle - sizes, middle + sizes], 1)
        return np.concatenate([np.minimum(first, second), np.maximum(first, second)], 1)

    def _covers(self, one: Array, other: Array) -> bool:
        """Whether the intersection over union of two boxes exceeds the threshold."""
        sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
        if not (sides > 0).all():
            return False
        common = _area(sides)
        union = _area(one[2:] - one[:2]) + _area(other[2:] - other[:2]) - common
        if one.dtype == np.float32:
            return bool(common > np.float32(self.overlap) * union)
        return bool(common << OVERLAP_BITS > int(self.overlap) * union)


def _area(sides: Array) -> Any:
    return sides[0] * sides[1]
