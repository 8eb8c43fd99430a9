"""RNN: `mote_rnn_f32.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import FLOAT32, Entry, Kernel, Packed, Params, View
from mote.ir.ops.common import float_range
from mote.ir.ops.recurrent.rnn import BIAS, HIDDEN, INPUTS, RECURRENT, Rnn


def _rnn(view: View) -> Packed:
    op = view.the(Rnn)
    batch, time = op.batch_and_time(view.graph)
    inputs, units = view.input.shape[-1], view.output.shape[-1]
    low, high = float_range(op.activation)
    params: Params = {
        "batch": batch,
        "time": time,
        "inputs": inputs,
        "units": units,
        "in_batch": inputs if op.time_major else time * inputs,
        "in_time": batch * inputs if op.time_major else inputs,
        "out_batch": units if op.time_major else time * units,
        "out_time": batch * units if op.time_major else units,
        "backward": int(op.backward),
        "tanh": int(op.tanh),
        "low": low,
        "high": high,
        "weights": view.constant(INPUTS),
        "recurrent": view.constant(RECURRENT),
        "bias": view.constant(BIAS),
    }
    return Packed("rnn_f32", params, Entry(operands=(0, HIDDEN)))


KERNELS = (Kernel("rnn_f32", (Rnn,), FLOAT32, _rnn, costs="fully_connected_f32"),)
