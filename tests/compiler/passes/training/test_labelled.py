"""Graphs of training whose labels are inputs, and the inference alone."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from mote.compiler.passes.training.backward import training_graph
from mote.compiler.passes.training.labelled import frozen, label_values, labelled, loss_of, no_label_values
from mote.compiler.passes.training.optimizers import Sgd
from mote.ir.graph.types import StateRole
from tests.compiler.passes.training.in_torch import steps_of
from tests.compiler.passes.training.test_backward import cases, constants, network


def test_an_inference_with_what_was_learned() -> None:
    """The labelled graph without a label, and the inference alone, give what the graph of training gives."""
    model = network()
    graph = training_graph(model, constants(model), "softmax_cross_entropy", Sgd(learning_rate=0.1))
    given = cases(model, True, 2)
    _, states = steps_of(graph, given)
    x = given[0][0]
    wanted = graph.evaluate({**states, **x, **no_label_values(graph)})[graph.outputs[0]]
    learned = {s.before: states[s.before] for s in graph.states if s.role is StateRole.LEARNED}
    alone, program = frozen(graph), labelled(graph)
    assert len(alone.ops) == len(model.ops) and alone.inputs == model.inputs
    assert np.array_equal(alone.evaluate({**learned, **x})[alone.outputs[0]], wanted)
    assert np.array_equal(program.evaluate({**learned, **x, **no_label_values(graph)})[program.outputs[0]], wanted)


def test_targets_come_before_labels() -> None:
    model = network(softmax=False)
    graph = training_graph(model, constants(model), "mean_squared_error", Sgd(learning_rate=0.1))
    program = labelled(graph)
    target, label = program.inputs[len(model.inputs) :]
    right = np.ones(graph.tensors[target].shape, np.float32)
    assert graph.tensors[target].shape == graph.tensors[model.outputs[0]].shape
    assert label_values(graph, right) == {target: right, label: np.zeros(1, np.int32)}
    assert np.array_equal(no_label_values(graph)[label], [-1])
    loss = loss_of(graph)
    assert loss is not None and program.outputs == (*model.outputs, loss.after)
