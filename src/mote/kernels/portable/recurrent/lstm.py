"""UNIDIRECTIONAL_SEQUENCE_LSTM: `mote_lstm_s8.h` and `mote_lstm_f32.h`; backwards `mote_lstm_backward_f32.h`."""

from __future__ import annotations

from mote.kernels.contract import FLOAT32, INT8, Entry, Kernel, Needs, Packed, Params, Refusal, View
from mote.kernels.pack.lstm import OPERANDS, lstm, lstm_begin, lstm_cells, lstm_matrices, lstm_sizes
from mote.ops.common import FLOAT_MAX, float_bias
from mote.ops.recurrent.lstm import Lstm, StatelessLstm
from mote.ops.recurrent.lstm_operands import NAMES, PEEPHOLES, PROJECTION, PROJECTION_BIAS


def _lstm_f32(view: View) -> Packed:
    op = view.the(Lstm)
    params: Params = {
        **lstm_sizes(view),
        "inputs": view.input.shape[-1],
        "cell_clip": op.cell_clip or FLOAT_MAX,
        "projection_clip": op.projection_clip or FLOAT_MAX,
        "gate": {NAMES[n]: _real_gate(view, n) for n in op.gates},
    }
    if op.tensor(view.graph, PROJECTION) is not None:
        bias = float_bias(op.tensor(view.graph, PROJECTION_BIAS), view.output.shape[-1])
        params |= {"projection": view.constant(PROJECTION), "projection_bias": bias}
    name = "lstm_backward_f32" if op.backward else "lstm_f32"
    return Packed(name, params, Entry(operands=OPERANDS), Needs(scratch=16 * lstm_cells(view)))


def _real_gate(view: View, n: int) -> Params:
    """The weights that a gate has, of all that it could have."""
    positions = {"input": 1 + n, "recurrent": 5 + n, "bias": 12 + n, "peephole": PEEPHOLES.get(n), "norm": 20 + n}
    given = {name: p for name, p in positions.items() if p is not None and view.op.tensor(view.graph, p) is not None}
    return {name: view.constant(p) for name, p in given.items()}


def _lstm(view: View) -> Packed | Refusal:
    return _integer(view, "lstm_s8") if not view.the(Lstm).normalized else Refusal("gates are normalized")


def _lstm_norm(view: View) -> Packed | Refusal:
    return _integer(view, "lstm_norm_s8") if view.the(Lstm).normalized else Refusal("gates are not normalized")


def _lstm_stateless(view: View) -> Packed:
    return _integer(view, "lstm_stateless_s8", lstm_begin(view))


def _integer(view: View, name: str, more: int = 0) -> Packed:
    return lstm(view, name, {p: m.params() for p, m in view.once(lstm_matrices).items()}, more)


KERNELS = (
    Kernel("lstm_f32", (Lstm,), FLOAT32, _lstm_f32, costs="fully_connected_f32"),
    Kernel("lstm", (Lstm,), INT8, _lstm, header="lstm_s8", tuned=True, costs="fully_connected"),
    Kernel("lstm_norm", (Lstm,), INT8, _lstm_norm, header="lstm_s8", tuned=True, costs="fully_connected"),
    Kernel(
        "lstm_stateless",
        (StatelessLstm,),
        INT8,
        _lstm_stateless,
        header="lstm_s8",
        tuned=True,
        costs="fully_connected",
    ),
)
