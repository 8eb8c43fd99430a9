"""LSTM, GRU and RNN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Value, recurrent
from mote.frontends.build.recurrent import GATES, RecurrentDirection
from mote.frontends.onnx.node import Key, Node, Parser
from mote.ir.graph.tensor import Array
from mote.ir.ops.recurrent.gates import Gate
from mote.ir.ops.recurrent.sequences import RecurrentOutput

_USUAL = {"RNN": ("Tanh",), "LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh")}
_RESULTS = (RecurrentOutput.SEQUENCE, RecurrentOutput.HIDDEN, RecurrentOutput.CELL)
"""The outputs of a node, in order."""


def _layer(kind: str, node: Node) -> Sequence[Value | None]:
    batch_first = node.flag("layout", False)
    directions = _directions(node)
    wanted = [result for place, result in enumerate(_RESULTS) if node.wants(place)] or [RecurrentOutput.SEQUENCE]
    outputs = recurrent.layer(
        node.b,
        kind,
        node.input(),
        _sides(kind, node, directions),
        batch_first=batch_first,
        lengths=node.optional(4),
        hidden=node.optional(5),
        cell=node.optional(6) if kind == "LSTM" else None,
        after=node.flag("linear_before_reset", False),
        coupled=node.flag("input_forget", False),
        wanted=wanted,
    )
    return [outputs.get(result) for result in _RESULTS[: len(node.call.outputs)]]


def _directions(node: Node) -> list[bool]:
    """Whether each direction goes backward."""
    backward = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    direction = node.text("direction", "forward")
    if direction not in backward:
        raise UnsupportedNodeError(f"the direction {direction} is not supported")
    return backward[direction]


def _sides(kind: str, node: Node, backward: Sequence[bool]) -> list[RecurrentDirection]:
    """The weights of each direction; hidden_size must match them."""
    parts = [_constant(node, place, what) for place, what in ((1, "the weights"), (2, "the recurrent weights"))]
    bias = _constant(node, 3, "the bias") if node.has(3) else None
    seen = _constant(node, 7, "the peepholes") if kind == "LSTM" and node.has(7) else None
    units = node.integer("hidden_size", parts[1].shape[-1])
    blocks = recurrent.BLOCKS[kind] * units
    count = len(backward)
    depth = node.input().shape[-1] if node.input().rank == 3 else 0
    shapes: list[tuple[Array | None, tuple[int, ...]]] = [(parts[0], (count, blocks, depth))]
    shapes += [(parts[1], (count, blocks, units)), (bias, (count, 2 * blocks)), (seen, (count, 3 * units))]
    for data, shape in shapes:
        if data is not None and data.shape != shape:
            raise UnsupportedNodeError(f"a constant of the shape {data.shape} does not fit {shape}")
    gates = _gates(kind, node, count)
    return [
        RecurrentDirection(
            parts[0][i],
            parts[1][i],
            None if bias is None else bias[i],
            gates[i],
            None if seen is None else seen[i],
            turned,
        )
        for i, turned in enumerate(backward)
    ]


def _constant(node: Node, position: int, what: str) -> Array:
    return node.b.known(node.input(position), what)


def _gates(kind: str, node: Node, count: int) -> list[tuple[Gate, ...]]:
    """The activations of each direction, as many as the kind of layer has."""
    each = len(GATES[kind])
    names = node.texts("activations", _USUAL[kind] * count)
    if len(names) != each * count:
        raise UnsupportedNodeError(f"{len(names)} activations do not fit, {each * count} are needed")
    alphas, betas = (node.reals(name, []) for name in ("activation_alpha", "activation_beta"))
    gates = recurrent.gates_of(names, alphas, betas, node.real("clip", 0.0))
    return [tuple(gates[i * each : (i + 1) * each]) for i in range(count)]


PARSERS: Mapping[Key, Parser] = {("", kind): partial(_layer, kind) for kind in recurrent.BLOCKS}
