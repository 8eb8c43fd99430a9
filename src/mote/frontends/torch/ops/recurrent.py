"""Recurrent layers: LSTM, GRU and RNN, of several layers in one direction or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import moves, recurrent
from mote.frontends.build.builder import Builder, Value
from mote.frontends.torch.node import Node, Parser
from mote.ir.ops.recurrent.sequences import RecurrentOutput


def _recurrent(kind: str, *functions: str) -> Parser:
    """Stacked layers; `functions`: the activations, where they are not the default ones."""

    def parse(node: Node) -> Sequence[Value | None]:
        b, x = node.b, node.value("input")
        if node.flag("train") and node.real("dropout"):
            raise UnsupportedNodeError("dropout is for training: export the module in evaluation mode")
        first = node.flag("batch_first")
        wanted = [result for place, result in enumerate(_RESULTS) if node.reads(place)]
        ends: dict[RecurrentOutput, list[Value]] = {RecurrentOutput.HIDDEN: [], RecurrentOutput.CELL: []}
        layers = _layers(node, kind, functions)
        for i, sides in enumerate(layers):
            last = i == len(layers) - 1
            needed = {*(result for result in wanted if result in ends), *([] if last else [RecurrentOutput.SEQUENCE])}
            needed |= {RecurrentOutput.SEQUENCE} if last and RecurrentOutput.SEQUENCE in wanted else set()
            hidden, cell = (_begin(b, state, i, len(sides), first) for state in _states(node, kind))
            made = recurrent.layer(
                b, kind, x, sides, batch_first=first, hidden=hidden, cell=cell, after=True, wanted=needed
            )
            for result, states in ends.items():
                if result in made:
                    states.append(_turned(b, made[result], first))
            x = _joined(b, made[RecurrentOutput.SEQUENCE], first) if RecurrentOutput.SEQUENCE in made else x
        whole = {result: moves.concat(b, states, 0) for result, states in ends.items() if states}
        whole |= {RecurrentOutput.SEQUENCE: x} if RecurrentOutput.SEQUENCE in wanted else {}
        return [whole.get(result) for result in _RESULTS[: 3 if kind == "LSTM" else 2]]

    return parse


_RESULTS = (RecurrentOutput.SEQUENCE, RecurrentOutput.HIDDEN, RecurrentOutput.CELL)
"""The outputs of PyTorch's operators, in order."""


def _states(node: Node, kind: str) -> tuple[Value, Value | None]:
    """The initial hidden and cell states of all layers and directions."""
    if kind == "LSTM":
        hidden, cell = node.several("hx")
        return hidden, cell
    return node.value("hx"), None


def _layers(node: Node, kind: str, functions: Sequence[str]) -> list[list[recurrent.RecurrentDirection]]:
    """The weights of each layer and direction."""
    arrays = [node.b.known(value, "a weight") for value in node.several("params")]
    count, sides = node.integer("num_layers"), 2 if node.flag("bidirectional") else 1
    each = 4 if node.flag("has_biases") else 2
    if len(arrays) != count * sides * each:
        raise UnsupportedNodeError("an LSTM whose outputs are projected is not supported")
    gates = tuple(recurrent.gate(name) for name in functions) or None
    directions = []
    for i in range(count * sides):
        weights, *bias = arrays[i * each : (i + 1) * each]
        both = bias[1:] if len(bias) > 1 else [None, None]
        side = recurrent.of_torch(kind, weights, bias[0], both[0], both[1])
        directions.append(replace(side, gates=gates, backward=i % sides == 1))
    return [directions[i * sides : (i + 1) * sides] for i in range(count)]


def _begin(b: Builder, state: Value | None, layer: int, sides: int, batch_first: bool) -> Value | None:
    """The initial state of one layer; zeros are omitted."""
    if state is None or (state.data is not None and not np.any(state.data)):
        return None
    return _turned(b, moves.slice_(b, state, 0, layer * sides, sides), batch_first)


def _turned(b: Builder, state: Value, batch_first: bool) -> Value:
    """PyTorch has the direction axis of states before the batch, also with batch_first."""
    return moves.transpose(b, state, (1, 0, 2)) if batch_first else state


def _joined(b: Builder, outputs: Value, batch_first: bool) -> Value:
    """The outputs of both directions concatenated."""
    if not batch_first:
        outputs = moves.transpose(b, outputs, (0, 2, 1, 3))
    first, second, sides, units = outputs.shape
    return moves.reshape(b, outputs, (first, second, sides * units))


PARSERS: Mapping[str, Parser] = {
    "aten.lstm.input": _recurrent("LSTM"),
    "aten.gru.input": _recurrent("GRU"),
    "aten.rnn_tanh.input": _recurrent("RNN"),
    "aten.rnn_relu.input": _recurrent("RNN", "relu"),
}
