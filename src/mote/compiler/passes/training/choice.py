"""Choice of the weights and biases that learn, by names of layers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.compiler.passes.training.channels import in_parts
from mote.compiler.passes.training.spec import BIASES, LAST, WHERE
from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import DType
from mote.ir.ops.common import BIAS, WEIGHTS
from mote.ir.ops.matrix.batch_matmul import BatchMatmul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.reductions.layer_norm import Standardize
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

LAYERS = (Conv2D, DepthwiseConv2D, FullyConnected)
"""Layers with weights and a bias."""
LEARNING = (*LAYERS, BatchMatmul, Standardize)
"""Operators whose constants can learn."""
_CHANNELS = re.compile(r"(?P<layer>.+)\[(?P<first>[0-9]{1,6}):(?P<end>[0-9]{1,6})\]", re.ASCII)
_PART = re.compile(r"(?P<layer>.+)\[(?P<part>weights|bias)\]")
_POSITIONS = {"weights": slice(WEIGHTS, BIAS), "bias": slice(BIAS, None)}
LISTED = 12
"""Maximum number of layers that an error lists."""


@dataclass(frozen=True)
class LearnedConstants:
    """The constants that learn, and the graph, in which layers are split if only some output channels learn."""

    graph: Graph
    constants: tuple[int, ...]


def chosen(graph: Graph, items: Collection[str]) -> LearnedConstants:
    """The constants of a graph that `items` name: those of the last layer (`last`), the biases of all layers
    (`biases`), or all constants of a layer, by its name, short name or number in the model file; also only its weights
    or bias, or the weights of some output channels: `LAYER[weights]`, `LAYER[bias]`, `LAYER[0:16]`. `last` and `biases`
    ignore layers that the first output does not depend on."""
    learned, ranges = set[int](), list[tuple[Op, range]]()
    for item in items:
        part = _CHANNELS.fullmatch(item)
        if part is None:
            learned.update(_chosen(graph, item))
        else:
            ranges.append((_layer(graph, part["layer"]), range(int(part["first"]), int(part["end"]))))
    for op, channels in ranges:
        if op not in graph.ops:
            _nothing(graph, f"{op.where} has channels chosen twice")
        if op.inputs[WEIGHTS] not in learned:
            apart = in_parts(graph, op, channels, WHERE)
            bias = set(op.inputs[BIAS:]) & learned
            learned = learned - bias | {apart.weights} | set(apart.biases if bias else ())
            graph = apart.graph
    return LearnedConstants(graph, tuple(sorted(learned)))


def constants(graph: Graph, op: Op) -> tuple[int, ...]:
    """The constants of an operator that can learn."""
    if not isinstance(op, LEARNING):
        return ()
    return tuple(i for i in op.inputs if i != ABSENT and graph.tensors[i].data is not None)


def in_integers(graph: Graph, learned: Iterable[int]) -> bool:
    """Whether constants learn in integer arithmetic: none of them is float32."""
    return all(graph.tensors[i].dtype != DType.FLOAT32 for i in learned)


def biases(graph: Graph, op: Op) -> tuple[int, ...]:
    """The bias of a layer, or the scale and bias of a normalization."""
    learning = constants(graph, op)
    return learning if isinstance(op, Standardize) else tuple(i for i in op.inputs[BIAS:] if i in learning)


def _chosen(graph: Graph, item: str) -> Collection[int]:
    learning = list(on_the_way(graph))
    if item == BIASES:
        return [i for op in learning for i in biases(graph, op)] or _nothing(graph, "no layer has a bias")
    if item == LAST:
        last = next((op for op in reversed(learning) if isinstance(op, LAYERS)), None)
        return _nothing(graph, "no layer has weights") if last is None else constants(graph, last)
    part = _PART.fullmatch(item)
    layer, positions = (item, None) if part is None else (part["layer"], _POSITIONS[part["part"]])
    ops = named(graph, layer, [LAST, BIASES, *_known(graph)], _candidates(graph))
    own = [i for op in ops for i in constants(graph, op) if positions is None or i in op.inputs[positions]]
    return own or _nothing(graph, f"{ops[0].where} has no {'weights' if part is None else part['part']}")


def _layer(graph: Graph, name: str) -> Op:
    """The one layer with a name, whose output channels can learn separately."""
    ops = [op for op in named(graph, name, _known(graph), _candidates(graph)) if constants(graph, op)]
    return ops[0] if len(ops) == 1 else _nothing(graph, f"layer '{printable(name)}' has no channels that learn")


def _known(graph: Graph) -> list[str]:
    """The names of all layers that can learn."""
    return [word for op in graph.ops if constants(graph, op) for word in (op.name, graph.short_name(op))]


def on_the_way(graph: Graph) -> Iterator[Op]:
    """The operators with constants that can learn, which the first output depends on."""
    needed, ops = set(graph.outputs[:1]), []
    for op in reversed(graph.ops):
        if not needed.isdisjoint(op.outputs):
            needed.update(op.inputs)
            ops.append(op)
    return (op for op in reversed(ops) if constants(graph, op))


def named(graph: Graph, name: str, known: Iterable[str], others: str) -> list[Op]:
    """The operators of the one layer with a name, short name or number. The remedy of the error suggests similar words
    of `known`, and `others`."""
    ways: list[Callable[[Op], str]] = [lambda op: str(graph.layer_of(op)), lambda op: op.name, graph.short_name]
    for called in ways:
        ops = [op for op in graph.ops if called(op) == name]
        if len({op.index for op in ops}) > 1:
            numbers = ", ".join(str(graph.layer_of(op)) for op in ops)
            raise MoteError(f"the layers {numbers} are all called '{name}'", where=WHERE, remedy="give the number")
        if ops:
            return ops
    remedy = f"{did_you_mean(name, dict.fromkeys(known))}{others}"
    raise MoteError(f"there is no layer '{printable(name)}'", where=WHERE, remedy=remedy)


def _nothing(graph: Graph, reason: str) -> NoReturn:
    raise MoteError(reason, where=WHERE, remedy=_candidates(graph))


def _candidates(graph: Graph) -> str:
    layers = [f"{graph.layer_of(op)} '{graph.short_name(op)}'" for op in on_the_way(graph)]
    more = f" and {len(layers) - LISTED} more" if len(layers) > LISTED else ""
    listed = ", ".join(layers[:LISTED]) or "none"
    return f"`{LAST}`, `{BIASES}`, or layers that can learn: {listed}{more}"
