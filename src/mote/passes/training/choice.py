"""The weights and biases that learn, by the names of layers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from mote.errors import MoteError
from mote.graph import Graph, Op
from mote.graph.graph import ABSENT
from mote.ops.matrix.batch_matmul import BatchMatmul
from mote.ops.matrix.fully_connected import FullyConnected
from mote.ops.reductions.layer_norm import Standardize
from mote.ops.windows.conv import Conv2D
from mote.ops.windows.depthwise import DepthwiseConv2D
from mote.passes.training.spec import BIASES, LAST, WHERE
from mote.text import did_you_mean, printable

LAYERS = (Conv2D, DepthwiseConv2D, FullyConnected)
"""Layers of weights and a bias."""
LEARNING = (*LAYERS, BatchMatmul, Standardize)
"""All whose constants can learn."""
BIAS = 2
"""The input with the bias of a layer."""
LISTED = 12
"""Layers that a message lists."""


def chosen(graph: Graph, items: Collection[str]) -> tuple[int, ...]:
    """The constants of a graph that items name, by id: of the last layer (`last`), the biases of all layers
    (`biases`), or all that a layer has, by its name, its short name or its number in the file. Layers that the first
    output does not depend on have no part in `last` and `biases`."""
    learned: set[int] = set()
    for item in items:
        learned.update(_chosen(graph, item))
    return tuple(sorted(learned))


def constants(graph: Graph, op: Op) -> tuple[int, ...]:
    """The constants of an operator that can learn."""
    if not isinstance(op, LEARNING):
        return ()
    return tuple(i for i in op.inputs if i != ABSENT and graph.tensors[i].data is not None)


def biases(graph: Graph, op: Op) -> tuple[int, ...]:
    """The bias of a layer, or the scale and bias of a normalization."""
    learning = constants(graph, op)
    return learning if isinstance(op, Standardize) else tuple(i for i in op.inputs[BIAS:] if i in learning)


def _chosen(graph: Graph, item: str) -> Collection[int]:
    learning = list(_on_the_way(graph))
    if item == BIASES:
        return [i for op in learning for i in biases(graph, op)] or _nothing(graph, "no layer has a bias")
    if item == LAST:
        last = next((op for op in reversed(learning) if isinstance(op, LAYERS)), None)
        return _nothing(graph, "no layer has weights") if last is None else constants(graph, last)
    known = [word for op in graph.ops if constants(graph, op) for word in (op.name, graph.short_name(op))]
    ops = named(graph, item, [LAST, BIASES, *known], _candidates(graph))
    return [i for op in ops for i in constants(graph, op)] or _nothing(graph, f"{ops[0].where} has no weights")


def _on_the_way(graph: Graph) -> Iterator[Op]:
    """The operators with constants that can learn, on the way to the first output."""
    needed, ops = set(graph.outputs[:1]), []
    for op in reversed(graph.ops):
        if not needed.isdisjoint(op.outputs):
            needed.update(op.inputs)
            ops.append(op)
    return (op for op in reversed(ops) if constants(graph, op))


def named(graph: Graph, name: str, known: Iterable[str], others: str) -> list[Op]:
    """The operators of the one layer with a name, a short name or a number. An error has the `known` words that are
    most like it, and `others`."""
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


def _nothing(graph: Graph, reason: str) -> Collection[int]:
    raise MoteError(reason, where=WHERE, remedy=_candidates(graph))


def _candidates(graph: Graph) -> str:
    layers = [f"{graph.layer_of(op)} '{graph.short_name(op)}'" for op in _on_the_way(graph)]
    more = f" and {len(layers) - LISTED} more" if len(layers) > LISTED else ""
    listed = ", ".join(layers[:LISTED]) or "none"
    return f"`{LAST}`, `{BIASES}`, or layers that can learn: {listed}{more}"
