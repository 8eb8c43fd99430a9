"""Training graphs for programs that run on the host: labels and targets are inputs, not states that firmware writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mote.compiler.passes.folding import remove_dead_code
from mote.ir.graph import Graph, State
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import StateRole


def labelled(graph: Graph) -> Graph:
    """A training graph whose targets and labels are additional inputs, and whose loss, if there is one, is the last
    output: for programs that cannot write states between inferences."""
    label_states, loss = _label_states(graph), loss_of(graph)
    states = tuple(s for s in graph.states if s not in label_states)
    made = {s.after for s in label_states if s.after != s.before}
    ops = [op for op in graph.ops if not made.intersection(op.outputs)]
    inputs = (*graph.inputs, *(s.before for s in label_states))
    outputs = (*graph.outputs, *([] if loss is None else [loss.after]))
    return replace(graph, inputs=inputs, outputs=outputs, states=states).with_ops(ops).verify()


def frozen(graph: Graph) -> Graph:
    """The inference of a training graph, in which learned weights are only read."""
    learned = tuple(replace(s, after=s.before) for s in graph.states if s.role is StateRole.LEARNED)
    return remove_dead_code.run(replace(graph, states=learned)).verify()


def label_values(graph: Graph, right: Array) -> Mapping[int, Array]:
    """The values of the states with which a training graph learns a sample: the label, or the target of a regression
    with label 0."""
    *target, label = _label_states(graph)
    if target:
        return {target[0].before: right, label.before: np.zeros_like(label.initial)}
    return {label.before: right}


def no_label_values(graph: Graph) -> Mapping[int, Array]:
    """The initial values of labels and targets, with which nothing is learned."""
    return {s.before: s.initial for s in _label_states(graph)}


def loss_of(graph: Graph) -> State | None:
    """The state with the loss; None for learners without gradients."""
    return next((s for s in graph.states if s.role is StateRole.LOSS), None)


def _label_states(graph: Graph) -> list[State]:
    roles = (StateRole.TARGET, StateRole.LABEL)
    return [s for role in roles for s in graph.states if s.role is role]
