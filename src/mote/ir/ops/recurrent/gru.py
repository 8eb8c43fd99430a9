"""GRU: a recurrent layer with an update and a reset gate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph.tensor import Array
from mote.ir.ops.recurrent.gates import HYPERBOLIC, SIGMOID, Gate
from mote.ir.ops.recurrent.sequences import BIAS, RECURRENT, Floats, Recurrent, products


class Gru(Recurrent):
    """GRU; weights have the blocks update gate, reset gate, candidate, in this order. The reset gate multiplies the
    last output, or with `after` (ONNX's linear_before_reset) its product with the weights plus the fourth block of the
    bias."""

    gate: Gate = SIGMOID
    fresh: Gate = HYPERBOLIC
    after: bool = False
    blocks = 3
    bias_blocks = 4
    kind = "GRU_SEQUENCE"

    @property
    def gates(self) -> tuple[Gate, ...]:
        return self.gate, self.fresh

    def step(self, x: Floats, states: list[Floats], values: Sequence[Array | None]) -> list[Floats]:
        (h,) = states
        r, bias = values[RECURRENT], values[BIAS]
        assert r is not None and bias is not None
        units = h.shape[1]
        update, reset, fresh = np.split(products(values, x, h, recurrent=2 * units), 3, axis=1)
        update, reset = self.gate.of(update), self.gate.of(reset)
        candidate = r[2 * units :].T.astype(np.float64)
        recurrent_terms = reset * (h @ candidate + bias[3 * units :]) if self.after else (reset * h) @ candidate
        fresh = self.fresh.of(fresh + recurrent_terms)
        return [(1 - update) * fresh + update * h]
