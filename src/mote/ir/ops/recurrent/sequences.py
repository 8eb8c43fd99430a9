"""Recurrent layers over whole sequences, as in ONNX: each inference starts with states given as inputs, or zeros, and
can output the final states. `lstm.py` and `rnn.py` have TensorFlow Lite's layers, whose states persist; `gru.py` has
GRU."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum, auto
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.recurrent.gates import HYPERBOLIC, SIGMOID, Gate

WEIGHTS, RECURRENT, BIAS, LENGTHS, HIDDEN, CELL = 1, 2, 3, 4, 5, 6
"""Input positions: input weights, recurrent weights, bias, sequence lengths, initial states. The last three may be
absent."""
STEP = 20_000
"""Estimated cost of one time step in the reference, in multiplications."""

Floats = NDArray[np.float64]


class RecurrentOutput(StrEnum):
    """Results of a recurrent layer: outputs of all steps, final output, final cells."""

    SEQUENCE = auto()
    HIDDEN = auto()
    CELL = auto()


class Recurrent(Op):
    """Base of ONNX's recurrent layers. Inputs: a sequence [time, batch, inputs] or [batch, time, inputs], then those at
    the positions above. The output is the single requested result, or several, flattened and concatenated. Outputs
    after the end of a shorter sequence are zeros."""

    time_major: bool
    backward: bool = False
    results: tuple[RecurrentOutput, ...] = (RecurrentOutput.SEQUENCE,)
    blocks: ClassVar[int]
    """Number of gates of the layer: their weight matrices are stacked vertically."""
    states: ClassVar[tuple[int, ...]] = (HIDDEN,)
    bias_blocks: ClassVar[int]

    @property
    def gates(self) -> tuple[Gate, ...]:
        """Activation functions, in the order of the C kernel's parameters."""
        raise NotImplementedError

    def step(self, x: Floats, states: list[Floats], values: Sequence[Array | None]) -> list[Floats]:
        """One time step of all sequences: the new states."""
        raise NotImplementedError

    def batch_and_time(self, g: Graph) -> tuple[int, int]:
        first, second, _ = self.input(g).shape
        return (second, first) if self.time_major else (first, second)

    def units(self, g: Graph) -> int:
        return self.input(g, RECURRENT).shape[1]

    def shape_of(self, g: Graph, result: RecurrentOutput) -> Shape:
        batch, _ = self.batch_and_time(g)
        return (
            (*self.input(g).shape[:-1], self.units(g)) if result == RecurrentOutput.SEQUENCE else (batch, self.units(g))
        )

    def begins(self, g: Graph) -> dict[RecurrentOutput, int]:
        """Offset of each result in the output."""
        offsets, at = {}, 0
        for result in self.results:
            offsets[result] = at
            at += int(np.prod(self.shape_of(g, result)))
        return offsets

    def shapes(self, g: Graph) -> list[Shape]:
        shapes = [self.shape_of(g, result) for result in self.results]
        return shapes if len(shapes) == 1 else [(sum(int(np.prod(shape)) for shape in shapes),)]

    def macs(self, g: Graph) -> int:
        batch, time = self.batch_and_time(g)
        return batch * time * (self.input(g, WEIGHTS).size + self.input(g, RECURRENT).size)

    def work(self, g: Graph) -> int:
        """Estimated cost in multiplications: time steps are sequential."""
        return self.macs(g) + STEP * self.batch_and_time(g)[1]

    def given(self, g: Graph) -> list[int]:
        """Positions of the optional inputs (lengths, initial states) that are present."""
        return [p for p in (LENGTHS, *self.states) if self.tensor(g, p) is not None]

    def unsupported(self, g: Graph) -> str | None:
        """Why types or shapes are not supported, or None. Kernels take lengths and states only together, and require
        them for other activation functions than the default ones."""
        units, inputs, given = self.units(g), self.input(g).shape[-1], len(self.given(g))
        if given not in (0 if all(gate.usual for gate in self.gates) else -1, 1 + len(self.states)):
            return "lengths and states must be given together, and always with activations other than sigmoid and tanh"
        wanted = {
            WEIGHTS: (self.blocks * units, inputs),
            RECURRENT: (self.blocks * units, units),
            BIAS: (self.bias_blocks * units,),
        }
        for position, shape in wanted.items():
            t = self.input(g, position)
            if t.data is None or t.dtype != DType.FLOAT32 or t.shape != shape:
                has = f"{'computed ' if t.data is None else ''}{t.dtype} {t.shape}"
                return f"weights or a bias of {has}: only float32 constants of {shape} are supported"
        batch, _ = self.batch_and_time(g)
        for position in self.given(g):
            t = self.input(g, position)
            kind, shape = (DType.INT32, (batch,)) if position == LENGTHS else (DType.FLOAT32, (batch, units))
            if (t.dtype, t.shape) != (kind, shape):
                return f"lengths or a state of {t.dtype} {t.shape}: only {kind} {shape} is supported"
        types = self.input(g).dtype, self.output(g).dtype
        return None if types == (DType.FLOAT32, DType.FLOAT32) else f"{types[0]} is not supported (only float32)"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x = values[0]
        assert x is not None
        batch, time = self.batch_and_time(g)
        by_time = (x if self.time_major else x.swapaxes(0, 1)).astype(np.float64)
        lengths = (
            np.full(batch, time, np.int64)
            if (given := self._value(values, LENGTHS)) is None
            else np.clip(given, 0, time)
        )
        states = [self._begin(values, p, batch, self.units(g)) for p in self.states]
        out = np.zeros((time, batch, self.units(g)))
        for i in range(time):
            on = np.flatnonzero(i < lengths)
            at = lengths[on] - 1 - i if self.backward else np.full(on.size, i, np.int64)
            after = self.step(by_time[at, on], [s[on] for s in states], values)
            for state, new in zip(states, after, strict=True):
                state[on] = new
            out[at, on] = after[0]
        results = {
            RecurrentOutput.SEQUENCE: out if self.time_major else out.swapaxes(0, 1),
            RecurrentOutput.HIDDEN: states[0],
        }
        results |= {RecurrentOutput.CELL: states[1]} if len(states) > 1 else {}
        return [np.concatenate([results[r].reshape(-1) for r in self.results]).astype(np.float32)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        """Magnitudes (for tolerances): sums of products are bounded by rows of absolute weights; activation functions
        are not much steeper than 1, so that results are about as exact as the largest sum."""
        x, w, r, bias = values[:4]
        assert x is not None and w is not None and r is not None and bias is not None
        initial = [float(v.max(initial=0)) for p in self.states if (v := self._value(values, p)) is not None]
        state = max([1.0, *initial])
        sums = float(x.max(initial=0)) * w.sum(axis=1).max() + state * r.sum(axis=1).max() + bias.max()
        return [np.full(self.output(g).shape, max(state, sums), np.float32)]

    def _value(self, values: Sequence[Array | None], position: int) -> Array | None:
        return values[position] if position < len(values) and self.inputs[position] != ABSENT else None

    def _begin(self, values: Sequence[Array | None], position: int, batch: int, units: int) -> Floats:
        given = self._value(values, position)
        return np.zeros((batch, units)) if given is None else given.astype(np.float64)


def products(values: Sequence[Array | None], x: Floats, h: Floats, *, recurrent: int | None = None) -> Floats:
    """Gate inputs: input weights times x plus bias, plus recurrent weights times h for the first `recurrent` rows
    (None: all)."""
    w, r, bias = values[WEIGHTS], values[RECURRENT], values[BIAS]
    assert w is not None and r is not None and bias is not None
    gates = x @ w.T.astype(np.float64) + bias[: len(w)]
    lines = len(r) if recurrent is None else recurrent
    gates[:, :lines] += h @ r[:lines].T.astype(np.float64)
    return gates


class RnnSequence(Recurrent):
    """RNN: h = f(W x + R h + b)."""

    gate: Gate = HYPERBOLIC
    blocks = bias_blocks = 1
    kind = "RNN_SEQUENCE"

    @property
    def gates(self) -> tuple[Gate, ...]:
        return (self.gate,)

    def step(self, x: Floats, states: list[Floats], values: Sequence[Array | None]) -> list[Floats]:
        return [self.gate.of(products(values, x, states[0]))]


PEEPHOLES = 7
"""Input position of an LSTM's peephole weights, which may be absent."""


class LstmSequence(Recurrent):
    """LSTM; weights have the blocks input gate, output gate, forget gate, cell candidate, in this order; peepholes
    those of the first three. If `coupled`, the forget gate is 1 minus the input gate."""

    gate: Gate = SIGMOID
    fresh: Gate = HYPERBOLIC
    shown: Gate = HYPERBOLIC
    coupled: bool = False
    blocks = bias_blocks = 4
    states = (HIDDEN, CELL)
    kind = "LSTM_SEQUENCE"

    @property
    def gates(self) -> tuple[Gate, ...]:
        return self.gate, self.fresh, self.shown

    def unsupported(self, g: Graph) -> str | None:
        peepholes = self.tensor(g, PEEPHOLES)
        if peepholes is not None and (peepholes.data is None or peepholes.shape != (3 * self.units(g),)):
            return f"peephole weights of {peepholes.shape}: only constants of {(3 * self.units(g),)} are supported"
        return super().unsupported(g)

    def step(self, x: Floats, states: list[Floats], values: Sequence[Array | None]) -> list[Floats]:
        h, cell = states
        input_gate, output_gate, forget_gate, candidate = np.split(products(values, x, h), 4, axis=1)
        weights = self._value(values, PEEPHOLES)
        peepholes = np.zeros((3, 1)) if weights is None else weights.reshape(3, -1).astype(np.float64)
        input_gate = self.gate.of(input_gate + peepholes[0] * cell)
        forget_gate = 1 - input_gate if self.coupled else self.gate.of(forget_gate + peepholes[2] * cell)
        cell = forget_gate * cell + input_gate * self.fresh.of(candidate)
        return [self.gate.of(output_gate + peepholes[1] * cell) * self.shown.of(cell), cell]
