"""Split the results of recurrent layers, which are in one tensor: the last output is sliced from the outputs of all
steps, so that each result is a tensor that a model file can have."""

from __future__ import annotations

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.ops.moves.multi_output import Part
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.recurrent.sequences import LENGTHS, Recurrent, RecurrentOutput

BOTH = (RecurrentOutput.SEQUENCE, RecurrentOutput.HIDDEN)


def whole(graph: Graph, op: Recurrent) -> bool:
    """Whether all sequences have the full length of the tensor."""
    lengths, (_, time) = op.tensor(graph, LENGTHS), op.batch_and_time(graph)
    return lengths is None or (lengths.data is not None and bool(np.all(lengths.data >= time)))


def last_step(graph: Graph, op: Recurrent, *, first: bool) -> dict[str, tuple[int, ...]]:
    """The attributes of a SLICE that takes the first or the last step of a layer's outputs."""
    batch, time = op.batch_and_time(graph)
    units, at = op.units(graph), 0 if first else time - 1
    begin, size = ((at, 0), (1, batch)) if op.time_major else ((0, at), (batch, 1))
    return {"begin": (*begin, 0), "size": (*size, units), "strides": (1, 1, 1), "shape": (batch, units)}


def run(graph: Graph) -> Graph:
    for op in graph.ops:
        if isinstance(op, Recurrent) and (parts := _parts(graph, op)) is not None:
            graph = _split(graph, op, parts)
    return graph


def _parts(graph: Graph, op: Recurrent) -> list[Part] | None:
    """The operators that take the outputs of all steps, and the last output, from a layer's results; None if others
    read them."""
    readers = graph.consumers.get(op.outputs[0], [])
    if op.results != BOTH or op.outputs[0] in graph.outputs or not whole(graph, op):
        return None
    parts = sorted((x for x in readers if isinstance(x, Part)), key=lambda x: x.begin)
    wanted = [(begin, op.shape_of(graph, result)) for result, begin in op.begins(graph).items()]
    fits = len(parts) == len(readers) and [(x.begin, x.shape) for x in parts] == wanted
    return parts if fits else None


def _split(graph: Graph, op: Recurrent, parts: list[Part]) -> Graph:
    steps, last = parts
    one = op.with_(outputs=steps.outputs, results=(RecurrentOutput.SEQUENCE,))
    how = last_step(graph, op, first=op.backward)
    taken = Slice(inputs=steps.outputs, outputs=last.outputs, name=last.name, index=last.index, **how)
    replaced: dict[int, list[Op]] = {id(op): [one], id(steps): [], id(last): [taken]}
    return graph.with_ops([new for old in graph.ops for new in replaced.get(id(old), [old])])
