"""Matrices of recurrent layers, whose products go on in more than 8 bits: `mote_matrix_s8.h`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.graph.fixedpoint import Ints, wrap32
from mote.graph.tensor import Array
from mote.ops.common import interleave, pad_to, scale_params
from mote.ops.vector import DEPTH, four_outputs, pairs_fit
from mote.plan.kernel import Value


@dataclass(frozen=True, eq=False)
class Matrix:
    """[rows, depth] int8 weights for vectors to whose values `zero` is added, the bias of each row, and the multiplier
    and shift of the results."""

    weights: Array
    zero: int
    bias: Ints
    scale: tuple[int, int]

    @property
    def start(self) -> Ints:
        """Where sums begin."""
        return wrap32(self.zero * self.weights.astype(np.int64).sum(axis=1) + self.bias)

    @property
    def fits_pairs(self) -> bool:
        largest = np.abs(self.start) + 128 * np.abs(self.weights.astype(np.int64)).sum(axis=1)
        return pairs_fit(self.weights, int(largest.max()))

    def params(self, pairs: bool) -> dict[str, Value]:
        """`mote_matrix_s8_t`, with the weights of two rows in 16 bits or not."""
        found: dict[str, Value] = {"depth": self.weights.shape[1], **scale_params(*self.scale)}
        if not pairs:
            start = pad_to(self.start, 0, 4).astype(np.int32)
            return found | {"weights": interleave(self.weights, 4), "start": start}
        words = four_outputs(self.weights.astype(np.int64), self.start, wide=False)
        return found | {"block": words.shape[1], "weights": wrap32(words).astype(np.int32).reshape(-1)}


def widened(size: int) -> int:
    """Bytes of a vector that is widened for `pairs`."""
    return 2 * (size + -size % DEPTH)
