"""Update caches in place: states of which some elements are overwritten.

READ_VARIABLE, DYNAMIC_UPDATE_SLICE and ASSIGN_VARIABLE, as in the key-value caches of decoders, would copy the whole
state to the arena and back to change one line.
"""

from __future__ import annotations

from dataclasses import replace

from mote.ir.graph import Graph, State
from mote.ir.ops.control.state import Assign
from mote.ir.ops.indexing.scatter import DynamicUpdateSlice, StateUpdate


def run(graph: Graph) -> Graph:
    for state in graph.states:
        graph = _recognise(graph, state) or graph
    return graph


def _recognise(graph: Graph, state: State) -> Graph | None:
    write, readers = graph.producers.get(state.after), graph.consumers[state.before]
    update = graph.producers.get(write.inputs[1]) if isinstance(write, Assign) else None
    if not isinstance(update, DynamicUpdateSlice) or readers != [update, write] or update.outputs[0] in graph.outputs:
        return None
    if update.inputs[0] != state.before or state.before in update.inputs[1:]:
        return None
    in_place = StateUpdate.like(update)
    ops = [in_place if op is update else op for op in graph.ops if op is not write]
    states = tuple(replace(s, after=update.outputs[0]) if s is state else s for s in graph.states)
    return replace(graph, states=states).with_ops(ops)
