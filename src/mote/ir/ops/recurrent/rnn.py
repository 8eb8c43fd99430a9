"""RNN, UNIDIRECTIONAL_SEQUENCE_RNN, and both directions of BIDIRECTIONAL_SEQUENCE_RNN."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType

INPUTS, RECURRENT, BIAS, HIDDEN = 1, 2, 3, 4
"""Input positions: input weights, recurrent weights, bias, state."""


class Rnn(Op):
    """A simple recurrent layer. Inputs: a sequence [time, batch, ..] or [batch, time, ..], or a single step [batch,
    ..]; input weights, recurrent weights, bias; the state: the last output. `backward`: the sequence is processed from
    its end. `tanh`: the activation is tanh instead of `activation`."""

    time_major: bool
    backward: bool = False
    tanh: bool = False
    activation: Activation = Activation.NONE
    kind = "UNIDIRECTIONAL_SEQUENCE_RNN"

    @property
    def updates(self) -> dict[int, int]:
        return {1: HIDDEN}

    def batch_and_time(self, g: Graph) -> tuple[int, int]:
        *lengths, _ = self.input(g).shape
        if len(lengths) == 1:
            return lengths[0], 1
        return (lengths[1], lengths[0]) if self.time_major else (lengths[0], lengths[1])

    def shapes(self, g: Graph) -> list[Shape]:
        units = self.input(g, INPUTS).shape[0]
        return [(*self.input(g).shape[:-1], units), self.input(g, HIDDEN).shape]

    def macs(self, g: Graph) -> int:
        batch, time = self.batch_and_time(g)
        return batch * time * (self.input(g, INPUTS).size + self.input(g, RECURRENT).size)

    def unsupported(self, g: Graph) -> str | None:
        x = self.input(g)
        if x.dtype != DType.FLOAT32:
            return f"{x.dtype} input is not supported (only float32)"
        for position, what in ((INPUTS, "weights"), (RECURRENT, "recurrent weights"), (BIAS, "a bias")):
            t = self.input(g, position)
            if t.dtype != DType.FLOAT32:
                return f"float32 input with {t.dtype} {what} (hybrid quantization) is not supported"
            if t.data is None:
                return f"{what} computed at run time: that is not supported"
        if self.input(g, HIDDEN).dtype != DType.FLOAT32 or self.output(g).dtype != DType.FLOAT32:
            return "a state or output other than float32 is not supported"
        return None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        out, _, h = self._steps(g, values)
        return [out, h]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        """Magnitudes of the sums (for tolerances), with the last output bounded by the activation."""
        _, sums, h = self._steps(g, values)
        return [sums, np.full_like(h, sums.max(initial=0))]

    def _steps(self, g: Graph, values: Sequence[Array | None]) -> tuple[Array, Array, Array]:
        """Outputs of all steps, their sums before the activation, and the last output."""
        x, w, r, bias, hidden = values
        assert x is not None and w is not None and r is not None and bias is not None and hidden is not None
        batch, time = self.batch_and_time(g)
        order = (time, batch) if self.time_major else (batch, time)
        by_time = x.reshape(*order, -1).astype(np.float64)
        by_time = by_time if self.time_major else by_time.swapaxes(0, 1)
        h = hidden.reshape(batch, -1).astype(np.float64)
        sums, out = np.empty((time, *h.shape)), np.empty((time, *h.shape))
        for t in reversed(range(time)) if self.backward else range(time):
            sums[t] = by_time[t] @ w.T + h @ r.T + bias
            h = np.tanh(sums[t]) if self.tanh else np.clip(sums[t], *self.activation.bounds)
            out[t] = h

        def arranged(steps: Array) -> Array:
            ordered = steps if self.time_major else steps.swapaxes(0, 1)
            return ordered.astype(np.float32).reshape(self.output(g).shape)

        return arranged(out), arranged(sums), h.astype(np.float32).reshape(hidden.shape)
