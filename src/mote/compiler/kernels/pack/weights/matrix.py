"""Weight matrices of recurrent layers, whose products are not requantized to int8: `mote_matrix_s8.h`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.compiler.kernels.contract import Params
from mote.compiler.kernels.pack.params import interleave, pad_to, scale_params
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.graph.tensor import Array


@dataclass(frozen=True, eq=False)
class Matrix:
    """Weight matrix [rows, depth] of int8 with the bias of each row; `zero` is added to every input value, and `scale`
    is the multiplier and shift of the results."""

    weights: Array
    zero: int
    bias: Ints
    scale: tuple[int, int]

    @property
    def start(self) -> Ints:
        """Initial accumulators: biases with the input offset folded in."""
        return wrap32(self.zero * self.weights.astype(np.int64).sum(axis=1) + self.bias)

    def params(self) -> Params:
        """The fields of `mote_matrix_s8_t`, with weights interleaved in blocks of four rows."""
        start = pad_to(self.start, 0, 4).astype(np.int32)
        return {**self.sizes, "weights": interleave(self.weights, 4), "start": start}

    @property
    def sizes(self) -> Params:
        """The fields that do not depend on the weight order."""
        return {"depth": self.weights.shape[1], **scale_params(*self.scale)}
