"""Recurrent layers, time step by time step, from given initial states or zeros."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from mote.base.errors import MoteError
from mote.bench.execute.torch.float32.common import Operands, Twin, Value, given, optional
from mote.ir.graph import Graph
from mote.ir.ops.recurrent.gates import Gate, GateActivation
from mote.ir.ops.recurrent.gru import Gru
from mote.ir.ops.recurrent.lstm import Lstm
from mote.ir.ops.recurrent.lstm_operands import (
    CELL,
    FORGET,
    HIDDEN,
    INPUT,
    MEMORY,
    OUTPUT,
    PEEPHOLES,
    PROJECTION,
    PROJECTION_BIAS,
)
from mote.ir.ops.recurrent.sequences import (
    BIAS,
    LENGTHS,
    RECURRENT,
    WEIGHTS,
    LstmSequence,
    Recurrent,
    RecurrentOutput,
    RnnSequence,
)
from mote.ir.ops.recurrent.sequences import PEEPHOLES as SEEN

GATES: dict[GateActivation, Callable[[Value, Gate], Value]] = {
    GateActivation.LOGISTIC: lambda x, gate: torch.sigmoid(x),
    GateActivation.TANH: lambda x, gate: torch.tanh(x),
    GateActivation.RELU: lambda x, gate: functional.relu(x),
    GateActivation.AFFINE: lambda x, gate: gate.alpha * x + gate.beta,
    GateActivation.LEAKY_RELU: lambda x, gate: functional.leaky_relu(x, gate.alpha),
    GateActivation.THRESHOLDED_RELU: lambda x, gate: functional.threshold(x, gate.alpha, 0.0),
    GateActivation.SCALED_TANH: lambda x, gate: gate.alpha * torch.tanh(gate.beta * x),
    GateActivation.HARD_SIGMOID: lambda x, gate: torch.clamp(gate.alpha * x + gate.beta, 0.0, 1.0),
    GateActivation.ELU: lambda x, gate: functional.elu(x, gate.alpha),
    GateActivation.SOFTSIGN: lambda x, gate: functional.softsign(x),
    GateActivation.SOFTPLUS: lambda x, gate: functional.softplus(x),
}


def _gate(gate: Gate, x: Value) -> Value:
    return GATES[gate.function](torch.clamp(x, -gate.clip, gate.clip) if gate.clip else x, gate)


def _steps(x: Value, time_major: bool) -> Value:
    """Sequences as [time, sequences of all samples, inputs]."""
    return (x.movedim(1, 0) if time_major else x.movedim(2, 0)).flatten(1, 2)


def _laid(out: list[Value], samples: int, time_major: bool) -> Value:
    """Outputs of all steps in the layout of the tensor."""
    whole = torch.stack([step.reshape(samples, -1, step.shape[-1]) for step in out])
    return whole.movedim(0, 1) if time_major else whole.movedim(0, 2)


def _begin(state: Value | None, like: Value, sequences: int, units: int) -> Value:
    if state is None:
        return torch.zeros((sequences, units), dtype=like.dtype, device=like.device)
    return state.reshape(-1, units).expand(sequences, units)


def sequence(g: Graph, op: Recurrent, values: Operands) -> Value:
    lengths, (_, time) = op.tensor(g, LENGTHS), op.batch_and_time(g)
    if lengths is not None and (lengths.data is None or (lengths.data < time).any()):
        raise MoteError("sequences that are shorter than their tensor cannot be trained", where=op.where)
    x, units = given(values, 0), op.units(g)
    by_time = _steps(x, op.time_major)
    states = [_begin(optional(values, p), x, by_time.shape[1], units) for p in op.states]
    out: list[Value] = []
    for step in by_time.flip(0) if op.backward else by_time:
        states = STEPS[type(op)](op, step, states, values)
        out.append(states[0])
    whole = _laid(out[::-1] if op.backward else out, x.shape[0], op.time_major)
    results = {RecurrentOutput.SEQUENCE: whole, RecurrentOutput.HIDDEN: states[0], RecurrentOutput.CELL: states[-1]}
    parts = [results[r].reshape(x.shape[0], -1) for r in op.results]
    return torch.cat(parts, 1).reshape(x.shape[0], *op.output(g).shape)


def _products(values: Operands, x: Value, h: Value, lines: int | None = None) -> Value:
    """Input products plus recurrent products for some rows of the weights, plus bias."""
    w, r, bias = given(values, WEIGHTS)[0], given(values, RECURRENT)[0], given(values, BIAS)[0]
    more = h @ r[:lines].T
    return x @ w.T + bias[: len(w)] + functional.pad(more, (0, len(w) - more.shape[1]))


def _rnn(op: RnnSequence, x: Value, states: list[Value], values: Operands) -> list[Value]:
    return [_gate(op.gate, _products(values, x, states[0]))]


def _lstm(op: LstmSequence, x: Value, states: list[Value], values: Operands) -> list[Value]:
    h, cell = states
    new, shown, kept, fresh = _products(values, x, h).chunk(4, 1)
    seen = optional(values, SEEN)
    peepholes = [0.0] * 3 if seen is None else list(seen[0].reshape(3, -1))
    new = _gate(op.gate, new + peepholes[0] * cell)
    kept = 1 - new if op.coupled else _gate(op.gate, kept + peepholes[2] * cell)
    cell = kept * cell + new * _gate(op.fresh, fresh)
    return [_gate(op.gate, shown + peepholes[1] * cell) * _gate(op.shown, cell), cell]


def _gru(op: Gru, x: Value, states: list[Value], values: Operands) -> list[Value]:
    (h,), (r, bias) = states, (given(values, RECURRENT)[0], given(values, BIAS)[0])
    units = h.shape[1]
    update, reset, fresh = _products(values, x, h, 2 * units).chunk(3, 1)
    update, reset = _gate(op.gate, update), _gate(op.gate, reset)
    candidate = r[2 * units :].T
    more = reset * (h @ candidate + bias[3 * units :]) if op.after else (reset * h) @ candidate
    return [(1 - update) * _gate(op.fresh, fresh + more) + update * h]


STEPS: dict[type, Callable[..., list[Value]]] = {RnnSequence: _rnn, LstmSequence: _lstm, Gru: _gru}
"""Step functions by recurrent operator: next states from one more input."""


def lstm(g: Graph, op: Lstm, values: Operands) -> tuple[Value, ...]:
    """TFLite's LSTM, with initial states for each sample."""
    if op.normalized:
        raise MoteError("an LSTM whose gates are normalized cannot be trained", where=op.where)
    x = given(values, 0)
    by_time = _steps(x, op.time_major)
    h, cell = (_begin(given(values, p), x, by_time.shape[1], op.input(g, p).shape[-1]) for p in (HIDDEN, MEMORY))
    out: list[Value] = []
    for step in by_time.flip(0) if op.backward else by_time:
        h, cell = _lstm_step(op, step, h, cell, values)
        out.append(h)
    whole = _laid(out[::-1] if op.backward else out, x.shape[0], op.time_major)
    states = (state.reshape(x.shape[0], *op.output(g, p).shape) for p, state in ((1, h), (2, cell)))
    return whole, *states


def _lstm_step(op: Lstm, x: Value, h: Value, cell: Value, values: Operands) -> tuple[Value, Value]:
    def gate(number: int, cell: Value) -> Value:
        w, r, bias = (given(values, first + number)[0] for first in (1, 5, 12))
        total = x @ w.T + h @ r.T + bias
        peephole = optional(values, PEEPHOLES[number]) if number in PEEPHOLES else None
        total = total if peephole is None else total + peephole[0] * cell
        return torch.tanh(total) if number == CELL else torch.sigmoid(total)

    forget = gate(FORGET, cell)
    new = gate(INPUT, cell) if INPUT in op.gates else 1 - forget
    cell = forget * cell + new * gate(CELL, cell)
    cell = torch.clamp(cell, -op.cell_clip, op.cell_clip) if op.cell_clip > 0 else cell
    shown = gate(OUTPUT, cell) * torch.tanh(cell)
    projection, bias = optional(values, PROJECTION), optional(values, PROJECTION_BIAS)
    if projection is not None:
        shown = shown @ projection[0].T + (0 if bias is None else bias[0])
        limit = op.projection_clip
        shown = torch.clamp(shown, -limit, limit) if limit > 0 else shown
    return shown, cell


TWINS: dict[type, Twin] = {Recurrent: sequence, Lstm: lstm}
