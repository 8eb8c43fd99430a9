"""int8 training of ONNX files, whose layers round to even: gradients are those of float32 but for rounding, and every
machine learns the same bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("torch")

from mote import frontends
from mote.compiler.passes.training.integer_backward import IntegerSgd, integer_training_graph
from mote.compiler.passes.training.labelled import label_values, labelled
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.samples import Samples
from mote.ir.graph import Graph
from mote.ir.graph.types import Rounding
from mote.ir.ops.elementwise.arithmetic import Mul
from mote.ir.ops.onnxruntime_rounding import EvenMul
from tests.compiler.passes.training import test_integer_backward as integers
from tests.compiler.passes.training.in_torch import step_of
from tests.compiler.passes.training.test_integer_backward import SGD, Task, constants, streamed
from tests.frontends.onnx.test_quantizer import inverted, quantized, separable

PER_CHANNEL = "QDQ uint8, per channel"
CLASSES = 5


def model_of(network: Any, way: str = PER_CHANNEL) -> Graph:
    return frontends.read(frontends.source_of(quantized(network, way))).graph()


def samples(graph: Graph, count: int) -> Samples:
    """A few images again and again, each of another color."""
    rng, x = np.random.default_rng(2), graph.tensors[graph.inputs[0]]
    few = [(rng.normal(size=x.channels) + rng.normal(0, 0.3, x.shape)).astype(np.float32) for _ in range(CLASSES)]
    labels = [np.array([n % CLASSES], np.int32) for n in range(count)]
    return Samples([{x.id: few[n % CLASSES]} for n in range(count)], labels)


SEPARABLE = Task(lambda: model_of(separable), Loss.SOFTMAX_CROSS_ENTROPY, samples, 7)
"""With a softmax, and averages of windows."""
INVERTED = Task(lambda: model_of(inverted), Loss.SOFTMAX_CROSS_ENTROPY, samples, 11)
"""With sums, and the mean of images."""


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("task", [SEPARABLE, INVERTED])
def test_gradients_are_those_of_float32(task: Task, first: int) -> None:
    integers.test_gradients_are_those_of_float32(task, first)


def gated() -> Graph:
    """Products that are rounded to even."""
    graph = integers.curves()
    return graph.with_ops(EvenMul.like(op) if isinstance(op, Mul) else op for op in graph.ops)


def test_gradients_of_products_are_those_of_float32() -> None:
    integers.test_gradients_are_those_of_float32(replace(integers.CURVED, model=gated), 1)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "task, target, first", [(INVERTED, "host", 1), (SEPARABLE, "cortex-m4", 1), (INVERTED, "cortex-m4", 2)]
)
def test_c_learns_the_bits_of_the_reference(task: Task, target: str, first: int) -> None:
    integers.test_c_learns_the_bits_of_the_reference(task, target, first, integers.SGD)


@pytest.mark.parametrize("way", ["QDQ int8, per channel", "QOperator uint8"])
def test_inferences_are_those_of_the_file(way: str) -> None:
    """Before the first step. The layers that learn are those that ONNX Runtime rounds to even."""
    graph = model_of(inverted, way)
    layers = [op for op in graph.ops if op.weights]
    assert len(layers) == 11 and all(op.attributes()["rounding"] is Rounding.EVEN for op in layers)
    training = integer_training_graph(graph, constants(graph), Loss.SOFTMAX_CROSS_ENTROPY, SGD, samples(graph, CLASSES))
    for x in samples(graph, CLASSES).inputs:
        before, after = graph.evaluate(x), training.evaluate(x)
        np.testing.assert_array_equal(after[graph.outputs[0]], before[graph.outputs[0]])


def test_it_learns() -> None:
    """A few colors: each is asked for before it is learned again."""
    graph, epochs = model_of(inverted), 20
    given, settings = samples(graph, epochs * CLASSES), IntegerSgd(0.05)
    training = integer_training_graph(graph, constants(graph), Loss.SOFTMAX_CROSS_ENTROPY, settings, given)
    cases = [{**x, **label_values(training, right)} for x, right in zip(given.inputs, given.labels, strict=True)]
    logits = np.stack([values[0].reshape(-1) for values in streamed(labelled(training), cases)]).astype(np.float64)
    likely = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    losses = -np.take_along_axis(likely, np.stack(given.labels), axis=1).reshape(epochs, CLASSES).mean(axis=1)
    assert losses[-1] < 0.6 * losses[0], losses


def test_saturated_outputs_have_no_gradient() -> None:
    """ONNX Runtime's quantizer leaves a ReLU out where the codes of its output begin at zero: each of the five is
    masked all the same."""
    graph = model_of(separable)
    training = integer_training_graph(graph, constants(graph), Loss.SOFTMAX_CROSS_ENTROPY, SGD, samples(graph, CLASSES))
    assert [op.kind for op in graph.ops].count("RELU") == 0
    assert [op.kind for op in step_of(training).ops].count("MASKED_GRADIENT") == 5
