"""Steps of int8 training: gradients are those of float32 but for rounding, and every machine learns the same bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from mote.base.errors import MoteError
from mote.compiler.passes.training.backward import training_graph
from mote.compiler.passes.training.gradient_ranges import in_floats
from mote.compiler.passes.training.integer_backward import IntegerSgd, integer_training_graph
from mote.compiler.passes.training.integer_losses import integer_loss, quantized_output
from mote.compiler.passes.training.labelled import label_values, labelled
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.optimizers import Sgd
from mote.compiler.passes.training.samples import Samples
from mote.compiler.passes.training.sensitivity import reached
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import StateRole
from mote.ir.ops.common import BIAS
from mote.ir.ops.elementwise.quantize import dequantized, quantized
from mote.ir.ops.matrix.fully_connected import FullyConnected
from tests.compiler.passes.training.in_torch import step_of
from tests.compiler.passes.training.likeness import SGD, cosines, in_reals
from tests.frontends.features.postprocess.scored import in_c, streamed
from tests.helpers.network import Net
from tests.helpers.support import emulated

CLASSES = 5
LIKE = 0.98
"""The least cosine of the angle between a gradient in int8 and in float32, on average over samples."""
JOINED = 0.05, -20
"""The quantization of tensors that are concatenated."""
UPDATES = IntegerSgd(0.02, seed=4, momentum=0.9, accumulate=2)


def network() -> Graph:
    """A residual, padding apart, branches, strides, depthwise layers, all poolings (maxima of windows that overlap),
    and a classifier."""
    net = Net(3)
    x = net.input(1, 12, 11, 3)
    x = net.conv(x, 6, 3, fused_activation_function="RELU")
    x = net.pool(x, 3, "MAX_POOL_2D", stride=2)
    x = net.add(x, net.conv(net.conv(x, 6, 3, fused_activation_function="RELU6"), 6, 1))
    x = net.depthwise(net.pad(x, (0, 0), (1, 1), (1, 1), (0, 0)), 2, 3, stride=2, padding="VALID")
    branches = net.depthwise(x, 1, 3, quant=JOINED), net.conv(x, 4, 1, quant=JOINED, fused_activation_function="RELU")
    x = net.concatenate(3, *branches)
    x = net.pool(net.conv(net.conv(x, 7, 3), 7, 3, stride=2), 2, stride=1)
    x = net.fully_connected(net.fully_connected(net.mean(x), 8), CLASSES)
    return tflite.parse(net.finish(net.op("SOFTMAX", [x], quant=(1 / 256, -128), beta=1.0)), "network")


def unbiased() -> Graph:
    """The same without biases."""
    graph = network()
    return graph.with_ops(op.with_(inputs=(*op.inputs[:BIAS], ABSENT)) if op.weights else op for op in graph.ops)


def autoencoder(edges: bool = True) -> Graph:
    """Layers that are narrow in the middle; with floats at both edges."""
    net, quant = Net(5), (0.05, 3)
    x = net.input(1, 16, quant=(None, 0) if edges else quant)
    x = net.op("QUANTIZE", [x], quant=quant) if edges else x
    for units in (12, 4, 12):
        x = net.moved("RELU", [net.fully_connected(x, units)])
    x = net.fully_connected(x, 16, quant=(0.04, -7))
    x = net.op("DEQUANTIZE", [x], quant=(None, 0)) if edges else x
    return tflite.parse(net.finish(x), "autoencoder")


def curves() -> Graph:
    """Activations of all kinds that are no clamps, and gates: a swish, and half of that of one operand again."""
    net = Net(7)
    x = net.conv(net.input(1, 8, 7, 3), 6, 3, stride=2)
    x = net.op("MUL", [x, net.op("LOGISTIC", [x], quant=(1 / 256, -128))], quant=(0.03, -100))
    x = net.op("HARD_SWISH", [net.conv(x, 8, 1)], quant=(0.03, -110))
    x = net.op("LEAKY_RELU", [net.depthwise(x, 1, 3)], quant=(0.05, -40), alpha=0.2)
    x = net.op("TANH", [net.conv(x, 6, 1)], quant=(1 / 128, 0))
    half = net.writer.const("half", np.full(1, 64, np.int8), 1 / 128)
    x = net.op("MUL", [x, half], net.shapes[x], quant=(1 / 256, 0))
    return tflite.parse(net.finish(net.fully_connected(net.mean(x), CLASSES)), "curves")


def normal(graph: Graph, count: int) -> Samples:
    """Vectors along two directions, and what the autoencoder should make of them: the same."""
    rng, output = np.random.default_rng(1), quantized_output(graph)
    x = (rng.normal(size=(count, 1, 2)) @ rng.normal(size=(2, 16))).astype(np.float32)
    given = graph.tensors[graph.inputs[0]]
    inputs = x if given.dtype.real else quantized(x, given)
    return Samples([{given.id: v} for v in inputs], list(quantized(x, output)))


def constants(graph: Graph, first: int = 1) -> set[int]:
    """Weights and biases of all layers, or only biases (2)."""
    return {i for op in graph.ops if op.weights for i in op.inputs[first:] if i != ABSENT}


def samples(graph: Graph, count: int, seed: int = 0) -> Samples:
    """A few images again and again, so that there is something to learn."""
    rng = np.random.default_rng(seed)
    x = graph.tensors[graph.inputs[0]]
    few = [rng.integers(-128, 128, x.shape).astype(np.int8) for _ in range(CLASSES)]
    labels = [np.array([k], np.int32) for k in rng.permutation(CLASSES)]
    return Samples([{x.id: few[n % CLASSES]} for n in range(count)], [labels[n % CLASSES] for n in range(count)])


def steps(graph: Graph, given: Samples) -> list[dict[int, Array]]:
    """The inputs of a program that learns them, with one inference among them that has no label."""
    cases = [{**x, **label_values(graph, label)} for x, label in zip(given.inputs, given.labels, strict=True)]
    label = next(s.before for s in graph.states if s.role is StateRole.LABEL)
    return [*cases[:2], {**cases[0], label: np.full(1, -1, np.int32)}, *cases[2:]]


def watched(graph: Graph) -> Graph:
    """The program of a graph of training, which gives what it has learned, too."""
    program = labelled(graph)
    learned = (s.after for s in program.states if s.role is StateRole.LEARNED)
    return replace(program, outputs=(*program.outputs, *learned)).verify()


@dataclass(frozen=True)
class Task:
    """A model, the loss that it learns by, and samples of it."""

    model: Callable[[], Graph]
    loss: Loss
    samples: Callable[[Graph, int], Samples]
    gradients: int = 0
    """How many tensors have gradients, at least."""


CLASSIFIER = Task(network, Loss.SOFTMAX_CROSS_ENTROPY, samples, 15)
UNBIASED = Task(unbiased, Loss.SOFTMAX_CROSS_ENTROPY, samples, 15)
CURVED = Task(curves, Loss.SOFTMAX_CROSS_ENTROPY, samples, 9)
REGRESSION = Task(autoencoder, Loss.MEAN_SQUARED_ERROR, normal, 6)


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("task", [CLASSIFIER, CURVED, REGRESSION])
def test_gradients_are_those_of_float32(task: Task, first: int) -> None:
    """In float32 they are PyTorch's: `test_gradients.py`."""
    graph = task.model()
    given = task.samples(graph, CLASSES)
    likeness = cosines(graph, constants(graph, first), task.loss, given, given)
    assert {name for name, own in likeness.items() if np.mean(own) < LIKE} == set()
    assert len(likeness) > task.gradients


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "task, target, first, settings",
    [
        (CLASSIFIER, "host", 2, SGD),
        (CLASSIFIER, "cortex-m4", 1, SGD),
        (CLASSIFIER, "cortex-m55", 1, SGD),
        (CLASSIFIER, "cortex-m4", 1, UPDATES),
        (UNBIASED, "host", 1, SGD),
        (CURVED, "host", 1, SGD),
        (REGRESSION, "host", 1, UPDATES),
        (REGRESSION, "cortex-m4", 2, SGD),
    ],
)
def test_c_learns_the_bits_of_the_reference(task: Task, target: str, first: int, settings: IntegerSgd) -> None:
    graph = task.model()
    learned = constants(graph, first)
    training = integer_training_graph(graph, learned, task.loss, settings, task.samples(graph, CLASSES))
    program, given = watched(training), steps(training, task.samples(graph, 8))
    made = in_c(program, given, target if target == "host" else emulated(target))
    for wanted, got in zip(streamed(program, given), made, strict=True):
        for t, x, y in zip(program.outputs, wanted, got, strict=True):
            np.testing.assert_array_equal(y, x, err_msg=str(program.tensors[t]))


def test_gradients_come_to_layers_without_a_bias() -> None:
    ways = [[op.name for op in reached(graph, CLASSIFIER.loss)] for graph in (network(), unbiased())]
    assert ways[0] == ways[1] != []


def test_it_learns() -> None:
    """A few random images and their labels by heart."""
    graph = network()
    training = integer_training_graph(graph, constants(graph), CLASSIFIER.loss, SGD, samples(graph, CLASSES))
    given = steps(training, samples(graph, 60))
    label = next(iter(label_values(training, np.zeros(1, np.int32))))
    scores = [values[0].reshape(-1) for values in streamed(labelled(training), given)]
    right = [int(s.argmax()) == int(case[label][0]) for s, case in zip(scores, given, strict=True)]
    assert sum(right[-CLASSES:]) >= CLASSES - 1 > sum(right[:CLASSES])


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize(
    ("rate", "own"),
    [(0.1, {}), (0.1, {"momentum": 0.5}), (0.1, {"accumulate": 2}), (0.05, {"momentum": 0.5, "accumulate": 2})],
)
def test_errors_fall_as_in_float32(first: int, rate: float, own: Mapping[str, Any]) -> None:
    """A few vectors again and again."""
    graph, epochs = autoencoder(edges=False), 5
    learned, few, loss = constants(graph, first), normal(graph, 10), integer_loss(graph, REGRESSION.loss)
    right = [dequantized(target, loss.tensor) for target in few.labels]
    integers = integer_training_graph(graph, learned, loss.kind, IntegerSgd(rate, **own), few)
    reals = training_graph(in_floats(graph, loss), learned, loss.kind, Sgd(learning_rate=rate, **own))
    codes = [{**x, **label_values(integers, target)} for x, target in zip(few.inputs, few.labels, strict=True)]
    exact = [{**in_reals(graph, x), **label_values(reals, target)} for x, target in zip(few.inputs, right, strict=True)]
    made = [dequantized(values[0], loss.tensor) for values in streamed(labelled(integers), codes * epochs)]
    wanted = [values[0] for values in streamed(labelled(reals), exact * epochs)]
    curve, other = (np.square(np.stack(x) - right * epochs).reshape(epochs, -1).mean(axis=1) for x in (made, wanted))
    np.testing.assert_allclose(curve, other, rtol=0.1)
    assert curve[-1] < 0.7 * curve[0]


def test_the_last_layer_needs_no_samples() -> None:
    graph = network()
    last = [op for op in graph.ops if isinstance(op, FullyConnected)][-1]
    made = integer_training_graph(graph, last.inputs[1:], CLASSIFIER.loss, SGD)
    assert [op.kind for op in step_of(made).ops].count("CONV_2D_STEP") == 1
    assert [s.role for s in made.states].count(StateRole.LEARNED) == 2


def test_what_cannot_learn() -> None:
    graph = network()
    with pytest.raises(MoteError) as caught:
        integer_training_graph(graph, constants(graph), CLASSIFIER.loss, SGD)
    assert "scales of int8 gradients" in caught.value.reason and "--train-data" in caught.value.remedy
    wrong = Samples(samples(graph, 1).inputs, [np.array([CLASSES], np.int32)])
    with pytest.raises(MoteError) as caught:
        integer_training_graph(graph, constants(graph), CLASSIFIER.loss, SGD, wrong)
    assert caught.value.reason == f"label {CLASSES} is none of the model's {CLASSES} classes"
    net = Net(0)
    x = net.op("SOFTMAX", [net.conv(net.input(1, 4, 4, 2), 3)], quant=(1 / 256, -128), beta=1.0)
    model = tflite.parse(net.finish(net.fully_connected(net.mean(x), CLASSES)), "model")
    with pytest.raises(MoteError) as caught:
        integer_training_graph(model, constants(model), CLASSIFIER.loss, SGD, samples(model, 2))
    assert caught.value.reason == "there is no int8 gradient of SOFTMAX" and "SOFTMAX" in caught.value.where
