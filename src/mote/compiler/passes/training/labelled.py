"""Graphs of training for programs that run on the host: what is right comes as an input, not from firmware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mote.compiler.passes.folding import remove_dead_code
from mote.ir.graph import Graph, State
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import StateRole


def labelled(graph: Graph) -> Graph:
    """A graph of training in which targets and labels are inputs, behind those of the model, and the loss is the last
    output where there is one: for programs that cannot write states between inferences."""
    told, loss = _told(graph), loss_of(graph)
    states = tuple(s for s in graph.states if s not in told)
    made = {s.after for s in told if s.after != s.before}
    ops = [op for op in graph.ops if not made.intersection(op.outputs)]
    inputs = (*graph.inputs, *(s.before for s in told))
    outputs = (*graph.outputs, *([] if loss is None else [loss.after]))
    return replace(graph, inputs=inputs, outputs=outputs, states=states).with_ops(ops).verify()


def frozen(graph: Graph) -> Graph:
    """The inference alone of a graph of training: what was learned is only read."""
    learned = tuple(replace(s, after=s.before) for s in graph.states if s.role is StateRole.LEARNED)
    return remove_dead_code.run(replace(graph, states=learned)).verify()


def told(graph: Graph, right: Array) -> Mapping[int, Array]:
    """The states of a graph of training that say what is right: the target of a regression, whose label is 0, or the
    label."""
    *target, label = _told(graph)
    if target:
        return {target[0].before: right, label.before: np.zeros_like(label.initial)}
    return {label.before: right}


def untold(graph: Graph) -> Mapping[int, Array]:
    """The initial states of labels, by which nothing is learned."""
    return {s.before: s.initial for s in _told(graph)}


def loss_of(graph: Graph) -> State | None:
    """The state with the loss; learners without gradients have none."""
    return next((s for s in graph.states if s.role is StateRole.LOSS), None)


def _told(graph: Graph) -> list[State]:
    roles = (StateRole.TARGET, StateRole.LABEL)
    return [s for role in roles for s in graph.states if s.role is role]
