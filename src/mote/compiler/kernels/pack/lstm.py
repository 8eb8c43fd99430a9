"""Parameters shared by the kernels of UNIDIRECTIONAL_SEQUENCE_LSTM, portable ones and those of instruction sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mote.compiler.kernels.contract import Entry, Needs, Packed, Params, View
from mote.compiler.kernels.pack.params import scale_params
from mote.compiler.kernels.pack.weights.matrix import Matrix
from mote.ir.ops.recurrent.lstm import LstmLayer
from mote.ir.ops.recurrent.lstm_operands import HIDDEN, INPUT, MEMORY, NAMES, OUTPUT, PEEPHOLES, PROJECTION

OPERANDS = (0, HIDDEN, MEMORY)
"""Operand positions that kernels take as pointers: input sequence, hidden state, cell state."""


def lstm_cells(view: View) -> int:
    return view.op.input(view.graph, 1 + OUTPUT).shape[0]


def lstm_sizes(view: View) -> Params:
    """Size fields at the start of all LSTM kernel structs."""
    op = view.the(LstmLayer)
    batch, time = op.batch_and_time(view.graph)
    inputs, outputs = view.input.shape[-1], view.output.shape[-1]
    in_batch, in_time = (inputs, batch * inputs) if op.time_major else (time * inputs, inputs)
    out_batch, out_time = (outputs, batch * outputs) if op.time_major else (time * outputs, outputs)
    return {
        "batch": batch,
        "time": time,
        "cells": lstm_cells(view),
        "outputs": outputs,
        "in_batch": in_batch,
        "in_time": in_time,
        "out_batch": out_batch,
        "out_time": out_time,
        "coupled": int(INPUT not in op.gates),
    }


def lstm_matrices(view: View) -> dict[int, Matrix]:
    """The integer weight matrices of an LSTM, by input position."""
    op, g = view.the(LstmLayer), view.graph
    matrices = {}
    for position in op.matrices(g):
        zero, bias = op.matrix_start(g, position)
        matrices[position] = Matrix(view.constant(position), -zero, bias, op.matrix_scale(g, position))
    return matrices


@dataclass(frozen=True)
class LstmCycles:
    """Cycles of the int8 kernels on a Cortex-M4, fitted to layers run in the emulator: of a time step, of a block of
    four rows and `depth` inputs, of the sums of four rows, of an activation, of which vectors compute `lanes` at once,
    and of a value of a gate that is normalized."""

    depth: int
    step: float
    block: float
    rows: float
    activation: float
    normalized: float
    lanes: int = 1

    def __call__(self, view: View) -> float:
        op, cells = view.the(LstmLayer), lstm_cells(view)
        shapes = [view.op.input(view.graph, position).shape for position in op.matrices(view.graph)]
        blocks = sum(-(-rows // 4) * -(-depth // self.depth) for rows, depth in shapes)
        activations = (len(op.gates) + 1) * -(-cells // self.lanes) * self.lanes
        each = self.step + self.block * blocks + self.rows * sum(-(-rows // 4) for rows, _ in shapes)
        each += self.activation * activations + self.normalized * op.normalized * len(op.gates) * cells
        return math.prod(op.batch_and_time(view.graph)) * each


def lstm_begin(view: View) -> int:
    """Bytes of hidden and cell state of one sequence, if these are not states of the model."""
    return 4 * (-(-view.output.shape[-1] // 4) + -(-lstm_cells(view) // 2))


def lstm(view: View, name: str, matrices: Mapping[int, Params], more: int = 0) -> Packed:
    """Packs the int8 kernel with `matrices` already in its own order; `more`: extra scratch memory in bytes."""
    op = view.the(LstmLayer)
    params: Params = {
        **lstm_sizes(view),
        **_cell_params(view, projected=PROJECTION in matrices),
        "gate": {NAMES[number]: _gate(view, number, matrices) for number in op.gates},
    }
    if PROJECTION in matrices:
        params |= _projection(view, matrices[PROJECTION])
    room = (7 if PROJECTION in matrices else 6) * lstm_cells(view) + more
    return Packed(name, params, Entry(operands=OPERANDS), Needs(scratch=room))


def _cell_params(view: View, *, projected: bool) -> Params:
    op = view.the(LstmLayer)
    zero = op.intermediates[4][1]
    return {
        "cell_bits": op.cell_bits(view.graph),
        "cell_clip": op.clips(view.graph)[0] or 32768,
        "hidden_zero": -zero if projected else zero,
        "hidden": scale_params(*op.hidden_scale()),
    }


def _gate(view: View, number: int, matrices: Mapping[int, Params]) -> Params:
    """The fields of `mote_lstm_gate_t`; peephole and normalization are left out if the gate has none."""
    op, g = view.the(LstmLayer), view.graph
    params: Params = {"input": matrices[1 + number], "recurrent": matrices[5 + number]}
    peephole = PEEPHOLES.get(number)
    if peephole is not None and op.tensor(g, peephole) is not None:
        params["peephole"] = {"weights": view.constant(peephole), **scale_params(*op.peephole_scale(g, number))}
    if op.normalized:
        norm = op.norm(g, number)
        weights, bias = view.constant(20 + number), view.constant(12 + number)
        params["norm"] = {"weights": weights, "bias": bias, **scale_params(*norm.scale), "guard": norm.guard}
    return params


def _projection(view: View, matrix: Params) -> Params:
    op = view.the(LstmLayer)
    _, clip = op.clips(view.graph)
    low, high = (-clip, clip) if clip else (-128, 127)
    return {
        "projected": 1,
        "projection_zero": op.input(view.graph, HIDDEN).zero_point,
        "low": low,
        "high": high,
        "projection": matrix,
    }
