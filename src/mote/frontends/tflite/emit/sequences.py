"""Stateless recurrent layers, unrolled: those of TFLite keep their states between inferences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mote.frontends.tflite.emit.emitter import Emitter, UnsaidError
from mote.frontends.tflite.emit.steps import Steps
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.ops.recurrent.gates import Gate, GateActivation
from mote.ir.ops.recurrent.gru import Gru
from mote.ir.ops.recurrent.sequences import (
    BIAS,
    LENGTHS,
    PEEPHOLES,
    RECURRENT,
    WEIGHTS,
    LstmSequence,
    Recurrent,
    RecurrentOutput,
    RnnSequence,
)

MOST_STEPS = 128
"""Limit of sequence steps: each is several operators of the file."""
GATES = {GateActivation.LOGISTIC: "LOGISTIC", GateActivation.TANH: "TANH", GateActivation.RELU: "RELU"}
"""TFLite operators for the activations of gates."""


class _Unrolled:
    """An unrolled layer, whose steps are matrices [batch, units]."""

    def __init__(self, e: Emitter, op: Recurrent) -> None:
        self.e, self.op, self.s = e, op, Steps(e, op)
        self.batch, self.time = op.batch_and_time(e.graph)
        self.units = op.units(e.graph)
        self.shape = (self.batch, self.units)
        self._check()

    def _check(self) -> None:
        op, graph = self.op, self.e.graph
        if self.time > MOST_STEPS:
            raise UnsaidError(f"a sequence of {self.time} steps would be as many copies of it (up to {MOST_STEPS})")
        if any(gate.clip or gate.function not in GATES for gate in op.gates):
            raise UnsaidError("one of its functions is none of LOGISTIC, TANH, RELU")
        lengths = op.tensor(graph, LENGTHS)
        if lengths is not None and (lengths.data is None or np.any(lengths.data < self.time)):
            raise UnsaidError("its sequences may be shorter than their tensor")
        if op.tensor(graph, PEEPHOLES) is not None:
            raise UnsaidError("its gates have peephole connections")

    def data(self, position: int) -> Array:
        data = self.op.input(self.e.graph, position).data
        assert data is not None
        return data

    def states(self) -> list[int]:
        """The initial states."""
        given = [self.op.inputs[p] if p < len(self.op.inputs) else ABSENT for p in self.op.states]
        return [self.s.constant(np.zeros(self.shape)) if t == ABSENT else self.e.at(t) for t in given]

    def parts(self) -> list[int]:
        """The input contributions to the gates: computed for all steps at once, then split."""
        op = self.op
        width = op.blocks * self.units
        x = op.input(self.e.graph)
        bias = self.s.constant(self.data(BIAS)[:width])
        inputs = [self.e.at(x.id), self.e.at(op.inputs[WEIGHTS]), bias]
        all_ = self.s.make("FULLY_CONNECTED", inputs, (*x.shape[:-1], width), keep_num_dims=True)
        axis, shapes = (0 if op.time_major else 1), [(self.batch, width)] * self.time
        return self.s.makes("UNPACK", [all_], shapes, num=self.time, axis=axis)

    def product(self, h: int, lines: slice, bias: Array | None = None) -> int:
        """The previous output times some rows of the recurrent weights."""
        weights = self.data(RECURRENT)[lines]
        given = [h, self.s.constant(weights), *([] if bias is None else [self.s.constant(bias)])]
        return self.s.make("FULLY_CONNECTED", [*given, *[-1] * (3 - len(given))], (self.batch, len(weights)))

    def split(self, value: int, count: int) -> list[int]:
        shapes = [self.shape] * count
        return self.s.makes("SPLIT", [self.e.ints(1), value], shapes, num_splits=count)

    def gate(self, gate: Gate, value: int) -> int:
        return self.s.make(GATES[gate.function], [value], self.shape)

    def pair(self, kind: str, a: int, b: int) -> int:
        return self.s.make(kind, [a, b], self.shape)

    def add(self, a: int, b: int, blocks: int = 1) -> int:
        return self.s.make("ADD", [a, b], (self.batch, blocks * self.units))

    def rest(self, value: int) -> int:
        """1 - gate."""
        return self.s.make("SUB", [self.s.number(1), value], self.shape)

    def finish(self, outputs: Sequence[int], states: Sequence[int]) -> None:
        """Write the wanted results: the steps in order, and the final states."""
        op, e = self.op, self.e
        axis = 0 if op.time_major else 1
        values = {RecurrentOutput.HIDDEN: states[0], **({RecurrentOutput.CELL: states[1]} if len(states) > 1 else {})}
        if op.results == (RecurrentOutput.SEQUENCE,):
            self.s.last("PACK", outputs, values_count=len(outputs), axis=axis)
            return
        if RecurrentOutput.SEQUENCE in op.results:
            shape = op.shape_of(e.graph, RecurrentOutput.SEQUENCE)
            values[RecurrentOutput.SEQUENCE] = self.s.make("PACK", outputs, shape, values_count=len(outputs), axis=axis)
        flat = [self._flat(values[r], int(np.prod(op.shape_of(e.graph, r)))) for r in op.results]
        shape = op.output(e.graph).shape
        if len(flat) > 1:
            self.s.last("CONCATENATION", flat, axis=0)
        else:
            self.s.last("RESHAPE", [flat[0], e.ints(shape)], new_shape=list(shape))

    def _flat(self, value: int, size: int) -> int:
        return self.s.make("RESHAPE", [value, self.e.ints([size])], (size,), new_shape=[size])


def recurrent(e: Emitter, op: Recurrent) -> None:
    u = _Unrolled(e, op)
    states, parts = u.states(), u.parts()
    outputs = [0] * u.time
    for i in reversed(range(u.time)) if op.backward else range(u.time):
        states = STEPS[type(op)](u, op, parts[i], states)
        outputs[i] = states[0]
    u.finish(outputs, states)


def _rnn(u: _Unrolled, op: RnnSequence, part: int, states: Sequence[int]) -> list[int]:
    return [u.gate(op.gate, u.add(part, u.product(states[0], slice(None))))]


def _lstm(u: _Unrolled, op: LstmSequence, part: int, states: Sequence[int]) -> list[int]:
    h, cell = states
    given, shown, kept, fresh = u.split(u.add(part, u.product(h, slice(None)), 4), 4)
    given = u.gate(op.gate, given)
    kept = u.rest(given) if op.coupled else u.gate(op.gate, kept)
    cell = u.add(u.pair("MUL", kept, cell), u.pair("MUL", given, u.gate(op.fresh, fresh)))
    return [u.pair("MUL", u.gate(op.gate, shown), u.gate(op.shown, cell)), cell]


def _gru(u: _Unrolled, op: Gru, part: int, states: Sequence[int]) -> list[int]:
    h, units = states[0], u.units
    update, reset, fresh = u.split(part, 3)
    more = u.split(u.product(h, slice(0, 2 * units)), 2)
    update, reset = (u.gate(op.gate, u.add(a, b)) for a, b in zip((update, reset), more, strict=True))
    lines = slice(2 * units, None)
    if op.after:
        candidate = u.pair("MUL", reset, u.product(h, lines, u.data(BIAS)[3 * units :]))
    else:
        candidate = u.product(u.pair("MUL", reset, h), lines)
    fresh = u.gate(op.fresh, u.add(fresh, candidate))
    return [u.add(u.pair("MUL", u.rest(update), fresh), u.pair("MUL", update, h))]


Step = Callable[[_Unrolled, Any, int, Sequence[int]], list[int]]
STEPS: Mapping[type[Recurrent], Step] = {RnnSequence: _rnn, LstmSequence: _lstm, Gru: _gru}
"""Functions that compute the states after one step."""
