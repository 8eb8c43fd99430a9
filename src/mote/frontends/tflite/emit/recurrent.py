"""Operators with states in variable tensors: LSTM, RNN and SVDF. A backward one reads a reversed sequence, and its
results are reversed again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mote.frontends.tflite.emit.emitter import Emitter, UnsaidError
from mote.ir.graph import Op
from mote.ir.graph.types import DType
from mote.ir.ops.recurrent.lstm import Lstm, LstmLayer, StatelessLstm
from mote.ir.ops.recurrent.lstm_operands import HIDDEN, MEMORY
from mote.ir.ops.recurrent.rnn import Rnn
from mote.ir.ops.recurrent.svdf import Svdf

STATES = (HIDDEN, MEMORY)


def lstm(e: Emitter, op: Lstm) -> None:
    if len(op.inputs) not in (20, 24):
        raise UnsaidError(f"TFLite's has 20 or 24 inputs, not {len(op.inputs)}")
    _check_states(e, op, STATES)
    real = op.input(e.graph).dtype == DType.FLOAT32
    inputs = [e.real(t) if real and p not in (0, *STATES) else e.at(t) for p, t in enumerate(op.inputs)]
    _write_lstm(e, op, inputs)


def stateless_lstm(e: Emitter, op: StatelessLstm) -> None:
    """An LSTM with initial states: they are copied into variable tensors, which LiteRT's LSTM requires. (RESHAPE would
    not copy: it shares memory.)"""
    inputs = e.all(op.inputs)
    for position in STATES:
        t = op.input(e.graph, position)
        variable = e.writer.variable(f"{op.name} (state {position})", t.shape, t.dtype, t.scale, t.zero_point)
        e.op("SLICE", [inputs[position], e.ints([0] * len(t.shape)), e.ints(t.shape)], [variable])
        inputs[position] = variable
    _write_lstm(e, op, inputs)


def _write_lstm(e: Emitter, op: LstmLayer, inputs: Sequence[int]) -> None:
    intermediates = [_hollow(e, op, i, *pair) for i, pair in enumerate(op.intermediates)]
    options = {
        "fused_activation_function": "TANH",
        "time_major": op.time_major,
        "cell_clip": op.cell_clip,
        "proj_clip": op.projection_clip,
    }
    _directed(e, op, op.kind, inputs, options, intermediates)


def _hollow(e: Emitter, op: Op, number: int, scale: float, zero_point: int) -> int:
    """A tensor without data that only holds quantization parameters of an intermediate."""
    name = f"{op.name} (intermediate {number})"
    return e.writer.tensor(name, (0,), DType.INT8 if number == 4 else DType.INT16, scale or None, zero_point)


def rnn(e: Emitter, op: Rnn) -> None:
    _check_states(e, op, (4,))
    activation = "TANH" if op.tanh else op.activation.value
    sequence = len(op.input(e.graph).shape) == 3
    options: dict[str, Any] = {"fused_activation_function": activation}
    options |= {"time_major": op.time_major} if sequence else {}
    kind = "UNIDIRECTIONAL_SEQUENCE_RNN" if sequence else "RNN"
    _directed(e, op, kind, e.all(op.inputs), options)


def svdf(e: Emitter, op: Svdf) -> None:
    _check_states(e, op, (4,))
    inputs = [e.at(op.inputs[0]), *e.all(op.inputs[1:])]
    if op.input(e.graph).dtype == DType.FLOAT32:
        inputs = [inputs[0], *(e.real(t) for t in op.inputs[1:4]), inputs[4]]
    options = {"rank": op.rank, "fused_activation_function": op.activation.value}
    e.op("SVDF", inputs, [e.at(op.outputs[0])], **options)


def _directed(
    e: Emitter,
    op: LstmLayer | Rnn,
    kind: str,
    inputs: Sequence[int],
    options: dict[str, Any],
    intermediates: Sequence[int] = (),
) -> None:
    """The operator, between two reversals where it goes backward."""
    given, made = inputs[0], e.at(op.outputs[0])
    axis = e.ints([0 if op.time_major else 1])
    if op.backward:
        given = e.between(op.input(e.graph), "reversed")
        made = e.between(op.output(e.graph), "reversed")
        e.op("REVERSE_V2", [inputs[0], axis], [given])
    e.op(kind, [given, *inputs[1:]], [made], intermediates=intermediates, **options)
    if op.backward:
        e.op("REVERSE_V2", [made, axis], [e.at(op.outputs[0])])


def _check_states(e: Emitter, op: Op, positions: Sequence[int]) -> None:
    """Variable tensors begin as zeros, and keep their values between inferences."""
    states = {s.before: s for s in e.graph.states}
    for position in positions:
        state = states.get(op.inputs[position])
        if state is None:
            raise UnsaidError("it is stateless, TFLite's keeps its state between inferences")
        t = e.graph.tensors[state.before]
        if (state.initial != (t.zero_point if t.dtype == DType.INT8 else 0)).any():
            raise UnsaidError("a state is not initialized with zeros")
