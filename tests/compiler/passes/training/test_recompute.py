"""Activations that a step of training computes again: less is kept, and what is learned is the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

pytest.importorskip("torch")

from mote.compiler.passes.training.backward import training_graph
from mote.compiler.passes.training.integer_backward import integer_training_graph
from mote.compiler.passes.training.labelled import label_values, labelled
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.optimizers import Sgd
from mote.compiler.passes.training.recompute import recomputable, recomputed, step_of
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import StateRole
from tests.compiler.passes.training import test_backward, test_integer_backward
from tests.compiler.passes.training.test_integer_backward import SGD
from tests.frontends.features.postprocess.scored import in_c, streamed
from tests.helpers.network import Net

STEPS = 6


def line(dtype: str = "float32") -> Graph:
    """Three convolutions in a line, and a classifier."""
    net = Net(4, dtype)
    x = net.input(1, 8, 7, 2)
    for channels in (6, 4, 3):
        x = net.conv(x, channels, 3, fused_activation_function="RELU")
    x = net.fully_connected(net.mean(x), 4)
    return tflite.parse(net.finish(x), "line")


def float_training(model: Graph) -> Graph:
    optimizer = Sgd(learning_rate=0.05, momentum=0.9)
    return training_graph(model, test_backward.constants(model), Loss.SOFTMAX_CROSS_ENTROPY, optimizer)


def integer_training(model: Graph) -> Graph:
    learned, samples = test_integer_backward.constants(model), test_integer_backward.samples(model, 8)
    return integer_training_graph(model, learned, Loss.SOFTMAX_CROSS_ENTROPY, SGD, samples)


TRAININGS = {
    "float32": lambda: float_training(test_backward.network()),
    "int8": lambda: integer_training(test_integer_backward.network()),
}


def steps(model: Graph) -> list[dict[int, Array]]:
    """Samples with labels, and one without."""
    rng, told_last = np.random.default_rng(7), next(s for s in model.states if s.role is StateRole.LABEL).initial
    classes, made = model.tensors[model.outputs[0]].shape[-1], []
    for number in range(STEPS):
        label = rng.integers(0, classes, told_last.shape).astype(np.int32) if number != 2 else told_last
        made.append({i: _values(model, i, rng) for i in model.inputs} | dict(label_values(model, label)))
    return made


def _values(graph: Graph, tensor: int, rng: np.random.Generator) -> Array:
    t = graph.tensors[tensor]
    drawn = rng.normal(size=t.shape) if t.dtype.real else rng.integers(-128, 128, t.shape)
    return drawn.astype(t.dtype.numpy)


def learned(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> list[Mapping[int, Array]]:
    """All states after each of the steps, in NumPy."""
    states: Mapping[int, Array] = {}
    made = list[Mapping[int, Array]]()
    for case in cases:
        states = graph.carried(graph.evaluate({**states, **case}))
        made.append(states)
    return made


def kinds(graph: Graph) -> list[str]:
    return [op.kind for op in step_of(graph).branches[0].ops]


def test_layers_run_again_before_gradients_read_their_outputs() -> None:
    whole = float_training(line())
    first, second, third = (op.outputs[0] for op in whole.ops if op.kind == "CONV_2D")
    assert [t.id for t in recomputable(whole)][:3] == [first, second, third]
    graph = recomputed(whole, 2)
    before, after = step_of(whole), step_of(graph)
    assert {first, second, third} <= set(before.inputs) and not {first, second} & set(after.inputs)
    assert third in after.inputs and graph.inputs[0] in after.inputs
    ops = after.branches[0].ops
    again = [op for op in ops if op.kind == "CONV_2D"]
    assert [op.outputs[0] for op in again] == [first, second]
    reader = ops[ops.index(again[1]) + 1]
    assert second in reader.inputs and "CONV_2D" not in kinds(whole)


def test_what_is_kept_ends_a_second_run() -> None:
    """Of a layer behind a kept activation only that layer runs again."""
    graph = recomputed(float_training(line()), 1)
    first = next(op.outputs[0] for op in graph.ops if op.kind == "CONV_2D")
    assert kinds(graph).count("CONV_2D") == 1 and first not in step_of(graph).inputs


@pytest.mark.parametrize("training", TRAININGS)
def test_the_same_is_learned(training: str) -> None:
    whole = TRAININGS[training]()
    count = len(recomputable(whole))
    assert count > 4
    cases = steps(whole)
    wanted = learned(whole, cases)
    for number in (1, 3, count):
        graph = recomputed(whole, number)
        assert len(step_of(graph).inputs) <= len(step_of(whole).inputs)
        for one, other in zip(wanted, learned(graph, cases), strict=True):
            assert all(np.array_equal(one[i], other[i]) for i in one)
    assert any(not np.array_equal(wanted[0][s.before], wanted[-1][s.before]) for s in whole.states)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("training", TRAININGS)
def test_the_same_is_learned_in_c(training: str) -> None:
    """Outputs of the C on a host after several steps, bit for bit; those of int8 models are the reference's, too."""
    whole = TRAININGS[training]()
    graph, cases = recomputed(whole, 4), steps(whole)
    made, wanted = in_c(labelled(graph), cases), in_c(labelled(whole), cases)
    for one, other in zip(wanted, made, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    if training == "int8":
        reference = streamed(labelled(graph), cases)
        assert all(np.array_equal(a[0], b[0]) for a, b in zip(reference, made, strict=True))


def test_at_most_all_is_computed_again() -> None:
    whole = float_training(line())
    count = len(recomputable(whole))
    assert recomputed(whole, count + 5).text() == recomputed(whole, count).text()
    assert recomputable(recomputed(whole, count)) == []
