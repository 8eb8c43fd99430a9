"""Quantizes LSTM layers for LiteRT's integer kernel: int8 weights and outputs, gates in Q3.12, int16 cell state with a
power-of-two scale."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mote.compiler.passes.rewriting.split_recurrent_results import last_step, whole
from mote.ir.graph import Graph, Quantization, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.moves.strided import Reverse
from mote.ir.ops.recurrent import sequences
from mote.ir.ops.recurrent.gates import HYPERBOLIC, SIGMOID
from mote.ir.ops.recurrent.lstm import Lstm, StatelessLstm
from mote.ir.ops.recurrent.lstm_operands import (
    CELL,
    FORGET,
    GATES,
    HIDDEN,
    INPUT,
    MEMORY,
    NAMES,
    OUTPUT,
    PEEPHOLES,
    PROJECTION,
    PROJECTION_BIAS,
)
from mote.ir.ops.recurrent.sequences import LstmSequence, RecurrentOutput
from mote.optimize.compress.quantize.composites.scope import CompositeBuilder, Inside, ObserveCallback
from mote.optimize.compress.quantize.composites.sequence import by_time, in_order, states_of
from mote.optimize.compress.quantize.encode import one_scale, weight_scales

MOST_BITS = 6
"""Maximum integer bits of the cell state that LiteRT accepts."""
NORM_BITS = 10
"""Fractional bits of layer normalization weights."""
BLOCKS = {INPUT: 0, OUTPUT: 1, FORGET: 2, CELL: 3}
"""Row block of each gate in ONNX weights; peepholes are ordered alike, without the cell gate."""


def cell_scale(inside: Inside) -> Quantization:
    """Smallest power-of-two scale with which int16 covers the calibrated cell state."""
    most = max(map(abs, inside["cell"])) * 32768 / 32767
    bits = math.ceil(math.log2(most)) if most > 0 else 0
    return one_scale(2.0 ** (min(max(bits, 0), MOST_BITS) - 15), 0)


def sequence_problem(graph: Graph, op: LstmSequence) -> str | None:
    if op.gates != (SIGMOID, HYPERBOLIC, HYPERBOLIC):
        return "LiteRT's LSTM has no other functions of gates than LOGISTIC and TANH"
    if RecurrentOutput.CELL in op.results:
        return "its cells are a result, which LiteRT's LSTM does not give"
    return None if whole(graph, op) else "its sequences may be shorter than their tensor"


def sequence_given(graph: Graph, op: LstmSequence, inside: Inside) -> dict[int, tuple[DType, Quantization | None]]:
    """Type and quantization of given initial states: hidden state as the output, cell state as int16."""
    states = {sequences.HIDDEN: (DType.INT8, None), sequences.CELL: (DType.INT16, cell_scale(inside))}
    return {p: how for p, how in states.items() if op.tensor(graph, p) is not None}


def sequence_trace(
    graph: Graph, op: LstmSequence, values: Sequence[Array | None], samples: int, see: ObserveCallback
) -> None:
    states = states_of(graph, op, values, samples)
    for x in in_order(by_time(graph, op, values, samples), op.backward):
        states = op.step(x, states, values)
        see("cell", states[1])


def write_sequence(scope: CompositeBuilder, op: LstmSequence) -> None:
    """Quantizes an ONNX LSTM. A backward layer reads a reversed sequence. With coupled gates ONNX stores the input gate
    and TFLite the forget gate, which is the sigmoid of the negated argument."""
    units, y = op.units(scope.graph), scope.y
    sign = {gate: np.float32(1) for gate in GATES}
    rows = {gate: slice(block * units, (block + 1) * units) for gate, block in BLOCKS.items()}
    if op.coupled:
        rows[FORGET], sign[FORGET] = rows[INPUT], np.float32(-1)
    gates = [gate for gate in GATES if gate != INPUT or not op.coupled]
    reals: dict[int, Array] = {}
    for gate in gates:
        for position, source in ((1, sequences.WEIGHTS), (5, sequences.RECURRENT), (12, sequences.BIAS)):
            reals[position + gate] = sign[gate] * scope.data(source)[rows[gate]]
        if gate in PEEPHOLES and op.tensor(scope.graph, sequences.PEEPHOLES) is not None:
            reals[PEEPHOLES[gate]] = sign[gate] * scope.data(sequences.PEEPHOLES)[rows[gate]]
    inputs = _constants(scope, reals, normalized=False)
    inputs[HIDDEN] = _begin(scope, op, sequences.HIDDEN, DType.INT8, y.quant)
    inputs[MEMORY] = _begin(scope, op, sequences.CELL, DType.INT16, cell_scale(scope.inside))
    axis = 0 if op.time_major else 1
    x = scope.x
    if op.backward:
        x = scope.add(Reverse, [x.id], scope.like(x, "reversed"), axes=(axis,))
    direct = op.results == (RecurrentOutput.SEQUENCE,) and not op.backward
    steps = y if direct else scope.like(y, "steps", op.shape_of(scope.graph, RecurrentOutput.SEQUENCE))
    how = {"time_major": op.time_major, "intermediates": _intermediates(y)}
    scope.add(StatelessLstm, [x.id, *(inputs.get(p, ABSENT) for p in range(1, 20))], steps, **how)
    if op.results == (RecurrentOutput.HIDDEN,):
        scope.add(Slice, [steps.id], y, **last_step(scope.graph, op, first=False))
    elif op.backward:
        scope.add(Reverse, [steps.id], y, axes=(axis,))


def _begin(scope: CompositeBuilder, op: LstmSequence, position: int, dtype: DType, quant: Quantization | None) -> int:
    """Initial state: the layer's input, or a constant of zeros."""
    if op.tensor(scope.graph, position) is not None:
        return scope.inputs[position]
    assert quant is not None
    (batch, _), units = op.batch_and_time(scope.graph), op.units(scope.graph)
    zeros = np.full((batch, units), quant.zero_point[0], dtype.numpy)
    return scope.hold(f"state {position}", zeros.shape, dtype, quant, zeros).id


def _intermediates(hidden: Tensor) -> tuple[tuple[float, int], ...]:
    """Quantization of LiteRT's intermediates, without layer normalization and projection."""
    return (*((0.0, 0),) * len(GATES), (hidden.scale, hidden.zero_point))


def _constants(scope: CompositeBuilder, reals: dict[int, Array], *, normalized: bool) -> dict[int, int]:
    """Adds the quantized constants of the gates; returns their ids by input position."""
    constants: dict[int, int] = {}
    for gate in GATES:
        if 1 + gate not in reals:
            continue
        name, bias = NAMES[gate], reals[12 + gate]
        own = None if normalized else bias
        least = float(weight_scales(reals[1 + gate], None, 127, own, scope.x.scale)[0])
        w = scope.weights(f"{name} weights", reals[1 + gate], least=least)
        constants |= {1 + gate: w.id, 5 + gate: scope.weights(f"{name} recurrent weights", reals[5 + gate]).id}
        scale = float(np.float32(scope.x.scale) * np.float32(w.scale))
        if normalized:
            norm = scope.weights(f"{name} normalization", reals[20 + gate], DType.INT16)
            constants[20 + gate], scale = norm.id, norm.scale * 2.0**-NORM_BITS
        constants[12 + gate] = scope.bias(f"{name} bias", bias, scale).id
        if gate in PEEPHOLES and PEEPHOLES[gate] in reals:
            constants[PEEPHOLES[gate]] = scope.weights(f"{name} peepholes", reals[PEEPHOLES[gate]], DType.INT16).id
    return constants


def layer_problem(graph: Graph, op: Lstm) -> str | None:
    given = (op.tensor(graph, p) for p in range(1, len(op.inputs)))
    real = all(t.dtype == DType.FLOAT32 for t in given if t is not None)
    return None if real else "its weights are integers already"


def layer_trace(graph: Graph, op: Lstm, values: Sequence[Array | None], samples: int, see: ObserveCallback) -> None:
    (batch, _), outputs = op.batch_and_time(graph), (op.input(graph, p).size for p in (HIDDEN, MEMORY))
    h, c = (
        np.asarray(values[p], np.float64).reshape(samples * batch, size // batch)
        for p, size in zip((HIDDEN, MEMORY), outputs, strict=True)
    )
    for x in in_order(by_time(graph, op, values, samples), op.backward):
        h, c = op.real_step(values, x, h, c, see)
        see("cell", c)


def write_layer(scope: CompositeBuilder, op: Lstm) -> None:
    """Quantizes TFLite's LSTM operator, which keeps its state tensors."""
    graph, y = scope.graph, scope.y
    tensors = ((p, op.tensor(graph, p)) for p in range(1, len(op.inputs)))
    reals = {p: t.data for p, t in tensors if t is not None and t.data is not None}
    inputs = _constants(scope, reals, normalized=op.normalized)
    intermediates = list(_intermediates(y))
    if op.normalized:
        for gate in op.gates:
            intermediates[gate] = (max(map(abs, scope.inside[NAMES[gate]])) / 32767 or 2.0**-12, 0)
    if op.tensor(graph, PROJECTION) is not None:
        hidden = max(map(abs, scope.inside["hidden"])) / 127 or 1 / 128
        intermediates[4] = (float(np.float32(hidden)), 0)
        bias = op.tensor(graph, PROJECTION_BIAS)
        least = float(weight_scales(reals[PROJECTION], None, 127, None if bias is None else bias.data, hidden)[0])
        w = scope.weights("projection", reals[PROJECTION], least=least)
        inputs[PROJECTION] = w.id
        if bias is not None:
            inputs[PROJECTION_BIAS] = scope.bias("projection bias", reals[PROJECTION_BIAS], hidden * w.scale).id
    for position, after, dtype, quant in (
        (HIDDEN, op.outputs[1], DType.INT8, y.quant),
        (MEMORY, op.outputs[2], DType.INT16, cell_scale(scope.inside)),
    ):
        inputs[position] = scope.retyped(op.inputs[position], dtype, quant).id
        scope.retyped(after, dtype, quant)
    axis = 0 if op.time_major else 1
    x = scope.x
    if op.backward:
        x = scope.add(Reverse, [x.id], scope.like(x, "reversed"), axes=(axis,))
    steps = scope.like(y, "steps") if op.backward else y
    scope.add(
        Lstm,
        [x.id, *(inputs.get(p, ABSENT) for p in range(1, len(op.inputs)))],
        steps,
        more=op.outputs[1:],
        time_major=op.time_major,
        cell_clip=op.cell_clip,
        projection_clip=op.projection_clip,
        intermediates=tuple(intermediates),
    )
    if op.backward:
        scope.add(Reverse, [steps.id], y, axes=(axis,))
