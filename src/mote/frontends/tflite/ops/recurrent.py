"""UNIDIRECTIONAL_SEQUENCE_LSTM and SVDF: stateful operators."""

from __future__ import annotations

from math import prod

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import Node
from mote.ir.graph import Op, Tensor
from mote.ir.graph.tensor import Shape
from mote.ir.graph.types import DType
from mote.ir.ops.recurrent.lstm import Lstm, LstmLayer, StatelessLstm
from mote.ir.ops.recurrent.lstm_operands import (
    FORGET,
    GATES,
    HIDDEN,
    INPUT,
    MEMORY,
    OUTPUT,
    PEEPHOLES,
    PROJECTION,
    PROJECTION_BIAS,
)
from mote.ir.ops.recurrent.svdf import BIAS, STATE, Svdf


def svdf(node: Node) -> Op:
    node.arity(5, optional=BIAS)
    x, w, time, state = (node.input(p).shape for p in (0, 1, 2, STATE))
    rank = node.options.integer("rank")
    if len(x) != 2 or len(w) != 2 or len(time) != 2 or (x[1], w[0]) != (w[1], time[0]):
        raise UnsupportedNodeError(f"weights {w} and {time} do not fit an input of shape {x}")
    if rank < 1 or w[0] % rank or state != (x[0], w[0] * time[1]):
        raise UnsupportedNodeError(f"rank {rank} and a state of shape {state} do not fit {w[0]} filters")
    if node.has(BIAS) and node.input(BIAS).shape != (w[0] // rank,):
        raise UnsupportedNodeError(f"a bias of shape {node.input(BIAS).shape} does not fit {w[0] // rank} units")
    if node.input(STATE).dtype == DType.INT8 and (zero := node.input(STATE).zero_point):
        node.notes.append(
            f"{node.where}: its int8 state has zero point {zero}, with which values near the ends of its range wrap, "
            "as in TFLite Micro; quantize the state symmetrically (zero point 0)"
        )
    fields = {**node.same(), "outputs": (*node.outputs, *node.after(STATE))}
    return Svdf(**fields, rank=rank, activation=node.activation())


def lstm(node: Node) -> Op:
    if len(node.inputs) not in (20, 24):
        raise UnsupportedNodeError(f"{len(node.inputs)} inputs are not supported (only 20 or 24)")
    if node.options.choice("fused_activation_function") != "TANH":
        raise UnsupportedNodeError("an activation other than TANH is not supported")
    _check_shapes(node)
    stateless = all(node.input(p).inner for p in (HIDDEN, MEMORY))
    after = () if stateless else node.after(HIDDEN, MEMORY)
    kind: type[LstmLayer] = StatelessLstm if stateless else Lstm
    return kind(
        **{**node.same(), "outputs": (*node.outputs, *after)},
        time_major=node.options.flag("time_major"),
        cell_clip=max(node.options.real("cell_clip"), 0.0),
        projection_clip=max(node.options.real("proj_clip"), 0.0),
        intermediates=tuple(_quantization(node.tensors.get(i)) for i in node.intermediates),
    )


def _quantization(t: Tensor | None) -> tuple[float, int]:
    """Scale and zero point of an intermediate tensor; zeros where it is absent or unquantized."""
    return (0.0, 0) if t is None or t.quant is None else (t.scale, t.zero_point)


def _check_shapes(node: Node) -> None:
    """Refuse sets of weights that are incomplete or do not match each other."""

    def shape(position: int) -> Shape | None:
        return node.input(position).shape if node.has(position) else None

    x, w, r = shape(0), shape(1 + OUTPUT), shape(5 + OUTPUT)
    if x is None or w is None or r is None or len(x) != 3 or len(w) != 2 or len(r) != 2:
        raise UnsupportedNodeError("the sequence must have 3 axes, and weights 2")
    cells, outputs = r
    coupled, projected = shape(1 + INPUT) is None, shape(PROJECTION) is not None
    peepholes, normalized = shape(PEEPHOLES[OUTPUT]) is not None, shape(20 + FORGET) is not None
    wanted: dict[int, Shape | None] = {PROJECTION: (outputs, cells) if projected else None}
    if shape(PROJECTION_BIAS) is not None:
        wanted[PROJECTION_BIAS] = (outputs,) if projected else None
    for gate in GATES:
        of_gate: dict[int, Shape | None] = {1 + gate: (cells, x[2]), 5 + gate: (cells, outputs), 12 + gate: (cells,)}
        of_gate[20 + gate] = (cells,) if normalized else None
        if gate in PEEPHOLES:
            of_gate[PEEPHOLES[gate]] = (cells,) if peepholes else None
        wanted |= dict.fromkeys(of_gate) if coupled and gate == INPUT else of_gate
    for position, fits in sorted(wanted.items()):
        if shape(position) != fits:
            raise UnsupportedNodeError(f"input {position} has the shape {shape(position)}, which should be {fits}")
    if not projected and cells != outputs:
        raise UnsupportedNodeError(f"{cells} cells cannot be {outputs} outputs without a projection")
    batch = x[1] if node.options.flag("time_major") else x[0]
    for position, size in ((HIDDEN, outputs), (MEMORY, cells)):
        state = shape(position)
        if state is None or prod(state) != batch * size:
            raise UnsupportedNodeError(f"a state of shape {state} does not fit {batch} sequences of {size} values")
