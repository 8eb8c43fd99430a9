"""Recognize sliding windows over a stream: a state that is concatenated with new elements and keeps the newest ones.

CONCATENATION of the state and the new elements, STRIDED_SLICE of the end and ASSIGN_VARIABLE become one WINDOW
operator, which keeps all elements that its readers need in place, without copies.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.ir.graph import Graph, State
from mote.ir.ops.control.state import Assign, SlidingWindow
from mote.ir.ops.moves.pad_concat_transpose import Concatenation
from mote.ir.ops.moves.slice import Slice


def run(graph: Graph) -> Graph:
    for state in graph.states:
        graph = _recognise(graph, state) or graph
    return graph


def _recognise(graph: Graph, state: State) -> Graph | None:
    readers = graph.consumers[state.before]
    join, write = readers[0], graph.producers.get(state.after)
    if len(readers) != 2 or readers[1] is not write:
        return None
    if not isinstance(join, Concatenation) or not isinstance(write, Assign) or len(join.inputs) != 2:
        return None
    cut = graph.producers.get(write.inputs[1])
    if join.inputs[0] != state.before or not isinstance(cut, Slice) or cut.inputs != join.outputs:
        return None
    window, old = join.output(graph), join.input(graph)
    new = window.shape[join.axis] - old.shape[join.axis]
    begin = tuple(new if i == join.axis else 0 for i in range(len(old.shape)))
    if cut.begin != begin or cut.shape != old.shape or graph.only_consumer(cut.outputs[0]) is not write:
        return None
    if any(s != 1 for s in cut.strides) or window.id in graph.outputs:
        return None
    before = graph.fresh_id()
    shape = tuple(new if i == join.axis else n for i, n in enumerate(old.shape))
    oldest = np.full(shape, window.zero_point, state.initial.dtype)
    initial = np.concatenate([oldest, state.initial], join.axis)
    slide = SlidingWindow(
        inputs=(before, join.inputs[1]), outputs=join.outputs, name=join.name, index=join.index, axis=join.axis
    )
    ops = [slide if op is join else op for op in graph.ops if op is not cut and op is not write]
    states = tuple(
        replace(s, before=before, after=window.id, initial=initial) if s is state else s for s in graph.states
    )
    return replace(graph, states=states).with_ops(ops, [replace(window, id=before, copy_of=None)])
