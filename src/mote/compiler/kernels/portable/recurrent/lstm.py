"""UNIDIRECTIONAL_SEQUENCE_LSTM: `mote_lstm_s8.h`, `mote_lstm_f32.h`, with int8 weights `mote_lstm_hybrid.h`, and
backwards `mote_lstm_backward_f32.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import (
    FLOAT32,
    HYBRID,
    INT8,
    SIGNAL,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    Refusal,
    Value,
    View,
)
from mote.compiler.kernels.pack.lstm import (
    OPERANDS,
    LstmCycles,
    lstm,
    lstm_begin,
    lstm_cells,
    lstm_matrices,
    lstm_sizes,
)
from mote.compiler.kernels.pack.weights.interleave4 import by_channels
from mote.ir.ops.common import FLOAT_MAX, float_bias, real_constant
from mote.ir.ops.recurrent.lstm import Lstm, StatelessLstm
from mote.ir.ops.recurrent.lstm_operands import NAMES, PEEPHOLES, PROJECTION, PROJECTION_BIAS

CYCLES = LstmCycles(depth=4, step=0, block=38, rows=45, activation=123, normalized=114)


def _lstm_float(view: View) -> Packed:
    op = view.the(Lstm)
    params: Params = {
        **lstm_sizes(view),
        "inputs": view.input.shape[-1],
        "cell_clip": op.cell_clip or FLOAT_MAX,
        "projection_clip": op.projection_clip or FLOAT_MAX,
        "gate": {NAMES[n]: _gate(view, n) for n in op.gates},
    }
    if op.tensor(view.graph, PROJECTION) is not None:
        bias = float_bias(op.tensor(view.graph, PROJECTION_BIAS), view.output.shape[-1])
        params |= {"projection": _matrix(view, PROJECTION), "projection_bias": bias}
    hybrid = view.constant(1 + op.gates[0]).dtype == np.int8
    name = "lstm_hybrid" if hybrid else "lstm_backward_f32" if op.backward else "lstm_f32"
    return Packed(name, params, Entry(operands=OPERANDS), Needs(16 * lstm_cells(view)))


def _gate(view: View, n: int) -> Params:
    """Weights of a float32 gate: matrices, and those of bias, peephole and layer normalization that it has, which are
    float32."""
    params: Params = {"input": _matrix(view, 1 + n), "recurrent": _matrix(view, 5 + n)}
    for name, position in (("bias", 12 + n), ("peephole", PEEPHOLES.get(n)), ("norm", 20 + n)):
        t = None if position is None else view.op.tensor(view.graph, position)
        if t is not None and t.data is not None:
            params[name] = real_constant(t, t.data).astype(np.float32)
    return params


def _matrix(view: View, position: int) -> Value:
    """A weight matrix: float32 in blocks of rows, or the fields of `mote_lstm_matrix_hybrid_t` for int8 weights."""
    weights = view.constant(position)
    if weights.dtype == np.int8:
        return {"weights": weights, "scale": view.op.input(view.graph, position).scale}
    return by_channels(weights)


def _lstm(view: View) -> Packed | Refusal:
    return _integer(view, "lstm_s8") if not view.the(Lstm).normalized else Refusal("gates are normalized")


def _lstm_norm(view: View) -> Packed | Refusal:
    return _integer(view, "lstm_norm_s8") if view.the(Lstm).normalized else Refusal("gates are not normalized")


def _lstm_stateless(view: View) -> Packed:
    return _integer(view, "lstm_stateless_s8", lstm_begin(view))


def _integer(view: View, name: str, more: int = 0) -> Packed:
    return lstm(view, name, {p: m.params() for p, m in view.once(lstm_matrices).items()}, more)


KERNELS = (
    Kernel("lstm_f32", (Lstm,), FLOAT32, _lstm_float, costs="fully_connected_f32"),
    Kernel("lstm_hybrid", (Lstm,), HYBRID, _lstm_float, costs="fully_connected_f32"),
    Kernel("lstm", (Lstm,), INT8, _lstm, header="lstm_s8", tuned=True, costs=SIGNAL, work=CYCLES),
    Kernel("lstm_norm", (Lstm,), INT8, _lstm_norm, header="lstm_s8", tuned=True, costs=SIGNAL, work=CYCLES),
    Kernel(
        "lstm_stateless",
        (StatelessLstm,),
        INT8,
        _lstm_stateless,
        header="lstm_s8",
        tuned=True,
        costs=SIGNAL,
        work=CYCLES,
    ),
)
