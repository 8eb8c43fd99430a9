"""RNN, UNIDIRECTIONAL_SEQUENCE_RNN, BIDIRECTIONAL_SEQUENCE_RNN and BIDIRECTIONAL_SEQUENCE_LSTM. A bidirectional one
becomes two layers, whose outputs are concatenated with `merge_outputs`."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import Node
from mote.frontends.tflite.ops.recurrent import lstm
from mote.ir.graph import Op
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.moves.pad_concat_transpose import Concatenation
from mote.ir.ops.recurrent.lstm_operands import FORGET, GATES, INPUT
from mote.ir.ops.recurrent.rnn import BIAS, HIDDEN, INPUTS, RECURRENT, Rnn

STATES_OF_LSTM, AUXILIARY, CELLS = 35, 39, 17
"""Input indices of a bidirectional LSTM: the first state, the auxiliary input, and the number of weights and biases of
each direction; the auxiliary weights follow the auxiliary input, four for each direction."""
INPUTS_OF_RNN, AUXILIARY_OF_RNN = 12, 9


def rnn(node: Node) -> Op:
    """A sequence, or one step of it."""
    node.arity(5)
    return _rnn(node, backward=False)


def bidirectional_rnn(node: Node) -> list[Op]:
    if len(node.inputs) != INPUTS_OF_RNN:
        raise UnsupportedNodeError(f"{len(node.inputs)} inputs are not supported (only {INPUTS_OF_RNN})")
    linked, by_time = node.has(AUXILIARY_OF_RNN + 1), node.options.flag("time_major")
    sources, joins = _sources(node, AUXILIARY_OF_RNN, linked)
    if joins and by_time and node.input(AUXILIARY_OF_RNN).shape != node.input().shape:
        raise UnsupportedNodeError("an auxiliary input of other features, time first, is not supported (nor by LiteRT)")
    if by_time and not node.options.flag("merge_outputs"):
        raise UnsupportedNodeError("two outputs, time first, are not supported (LiteRT sets a wrong shape for one)")
    if not linked and not by_time:  # LiteRT forgets the auxiliary input
        sources = [node.input().id] * 2
    sides = []
    for side, source in enumerate(sources):
        inputs = (source, *node.inputs[1 + 4 * side : 5 + 4 * side])
        if joins:
            weights = _beside(node, 1 + 4 * side, AUXILIARY_OF_RNN + 1 + side)
            inputs = (source, weights, *inputs[2:])
        sides.append(replace(node, inputs=inputs))
    units = [side.input(INPUTS).shape[0] if side.has(INPUTS) else 0 for side in sides]
    outputs, merged = _outputs(node, units)
    layers = [
        _rnn(replace(sides[0], outputs=outputs[:1]), backward=False),
        _rnn(replace(sides[1], outputs=outputs[1:]), backward=True),
    ]
    return [*joins, *layers, *merged]


def bidirectional_lstm(node: Node) -> list[Op]:
    if len(node.inputs) != AUXILIARY + 9:
        raise UnsupportedNodeError(f"{len(node.inputs)} inputs are not supported (only {AUXILIARY + 9})")
    sources, joins = _sources(node, AUXILIARY, node.has(AUXILIARY + 1 + FORGET))
    sides = []
    for side, source in enumerate(sources):
        first = 1 + CELLS * side
        weights = list(node.inputs[first : first + CELLS])
        if joins:
            own = [gate for gate in GATES if gate != INPUT or node.has(first + INPUT)]
            for gate in own:
                weights[gate] = _beside(node, first + gate, AUXILIARY + 1 + 4 * side + gate)
        states = node.inputs[STATES_OF_LSTM + 2 * side : STATES_OF_LSTM + 2 * side + 2]
        sides.append(replace(node, inputs=(source, *weights, *states), intermediates=()))
    units = [side.input(8).shape[1] if side.has(8) and len(side.input(8).shape) == 2 else 0 for side in sides]
    outputs, merged = _outputs(node, units)
    layers: list[Op] = []
    for i, part in enumerate(sides):
        if part.input(1 + FORGET).dtype != DType.FLOAT32:
            raise UnsupportedNodeError(
                f"{part.input(1 + FORGET).dtype} weights (hybrid quantization) are not supported in both directions"
            )
        layers.append(lstm(replace(part, outputs=outputs[i : i + 1])).with_(backward=i == 1))
    return [*joins, *layers, *merged]


def _sources(node: Node, auxiliary: int, linked: bool) -> tuple[list[int], list[Op]]:
    """The sequences that both directions read, and the operators that make them: with cross-linking both read the input
    concatenated with the auxiliary one; else the auxiliary one is that of the backward direction."""
    x = node.input()
    if not node.has(auxiliary):
        return [x.id, x.id], []
    other = node.input(auxiliary)
    if len(x.shape) != 3 or len(other.shape) != 3 or x.shape[:2] != other.shape[:2] or other.dtype != x.dtype:
        raise UnsupportedNodeError(f"an auxiliary input {other} does not fit the input {x}")
    if not linked:
        return [x.id, other.id], []
    joined = node.inner("inputs", (*x.shape[:2], x.shape[2] + other.shape[2]), x.dtype)
    join = Concatenation(**{**node.same(), "inputs": (x.id, other.id), "outputs": (joined,)}, axis=2)
    return [joined, joined], [join]


def _beside(node: Node, position: int, auxiliary: int) -> int:
    """The input weights concatenated with the auxiliary ones."""
    one, other = (node.constant(p, "weights") for p in (position, auxiliary))
    if one.ndim != 2 or other.ndim != 2 or len(one) != len(other) or one.dtype != other.dtype:
        raise UnsupportedNodeError(f"auxiliary weights of the shape {other.shape} do not fit those of {one.shape}")
    both = np.concatenate([one, other], axis=1)
    return node.inner("weights", both.shape, node.input(position).dtype, both)


def _outputs(node: Node, units: list[int]) -> tuple[tuple[int, ...], list[Op]]:
    """The tensors that both directions write, and the operators that make the output of them."""
    if not node.options.flag("merge_outputs"):
        if len(node.outputs) != 2:
            raise UnsupportedNodeError(f"has {len(node.outputs)} outputs, it should have 2")
        return node.outputs, []
    if len(node.outputs) != 1 or 0 in units or len(node.input().shape) != 3:
        raise UnsupportedNodeError("the two directions cannot be merged into one output")
    shape = node.input().shape[:2]
    sides = tuple(
        node.inner(name, (*shape, n), DType.FLOAT32) for name, n in zip(("forward", "backward"), units, strict=True)
    )
    return sides, [Concatenation(**{**node.same(), "inputs": sides}, axis=2)]


def _rnn(node: Node, backward: bool) -> Op:
    x, w, r, bias, hidden = (node.input(p).shape for p in (0, INPUTS, RECURRENT, BIAS, HIDDEN))
    sequence = node.code != "RNN"
    if len(x) != (3 if sequence else 2) or len(w) != 2 or w[1] != x[-1] or r != (w[0], w[0]) or bias != (w[0],):
        raise UnsupportedNodeError(f"weights {w} and {r} and a bias {bias} do not fit an input of shape {x}")
    time_major = sequence and node.options.flag("time_major")
    batch = x[1] if time_major else x[0]
    if prod(hidden) != batch * w[0]:
        raise UnsupportedNodeError(f"a state of shape {hidden} does not fit {batch} sequences of {w[0]} values")
    name = node.options.choice("fused_activation_function")
    return Rnn(
        **{**node.same(), "outputs": (*node.outputs, *node.after(HIDDEN))},
        time_major=time_major,
        backward=backward,
        tanh=name == "TANH",
        activation=Activation.NONE if name == "TANH" else node.activation(),
    )
