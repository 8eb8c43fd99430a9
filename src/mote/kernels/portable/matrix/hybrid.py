"""float32 SVDF and LSTM with int8 weights, which stay a byte each in flash: `mote_svdf_hybrid.h`,
`mote_lstm_hybrid.h`."""

from __future__ import annotations

import numpy as np

from mote.kernels.contract import Entry, Kernel, Needs, Packed, Params, View
from mote.kernels.pack.lstm import OPERANDS, lstm_cells, lstm_sizes
from mote.kernels.pack.svdf import svdf_sizes
from mote.kernels.portable.matrix.typed_layers import HYBRID
from mote.ops.common import FLOAT_MAX, float_bias, float_range, real_constant
from mote.ops.recurrent.lstm import Lstm
from mote.ops.recurrent.lstm_operands import NAMES, PEEPHOLES, PROJECTION, PROJECTION_BIAS
from mote.ops.recurrent.svdf import BIAS, STATE, Svdf


def _svdf(view: View) -> Packed:
    op, weights = view.the(Svdf), view.constant(1)
    low, high = float_range(op.activation)
    params: Params = {
        **svdf_sizes(view),
        "inputs": weights.shape[1],
        "low": low,
        "high": high,
        "weights": weights,
        "bias": float_bias(op.tensor(view.graph, BIAS), view.output.shape[1]),
        "scale": op.input(view.graph, 1).scale,
        "time_scale": op.input(view.graph, 2).scale,
    }
    return Packed("svdf_hybrid", params, Entry(operands=(0, STATE)))


def _lstm(view: View) -> Packed:
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
    return Packed("lstm_hybrid", params, Entry(operands=OPERANDS), Needs(scratch=16 * lstm_cells(view)))


def _gate(view: View, n: int) -> Params:
    """The weights that a gate has, of all that it could have; those of single cells are few, and float32."""
    found: Params = {"input": _matrix(view, 1 + n), "recurrent": _matrix(view, 5 + n), "bias": view.constant(12 + n)}
    for name, position in (("peephole", PEEPHOLES.get(n)), ("norm", 20 + n)):
        t = None if position is None else view.op.tensor(view.graph, position)
        if t is not None and t.data is not None:
            found[name] = real_constant(t, t.data).astype(np.float32)
    return found


def _matrix(view: View, position: int) -> Params:
    """`mote_lstm_matrix_hybrid_t`."""
    return {"weights": view.constant(position), "scale": view.op.input(view.graph, position).scale}


KERNELS = (
    Kernel("svdf_hybrid", (Svdf,), HYBRID, _svdf, costs="fully_connected_f32"),
    Kernel("lstm_hybrid", (Lstm,), HYBRID, _lstm, costs="fully_connected_f32"),
)
