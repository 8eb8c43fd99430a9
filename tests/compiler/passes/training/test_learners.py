"""Learners behind a frozen model: all kinds in C are their references; what they learn from and keep, and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.compiler.line import compile_graph
from mote.compiler.passes.pipeline import optimize
from mote.compiler.passes.training.labelled import labelled
from mote.compiler.passes.training.learners import with_learner
from mote.compiler.passes.training.spec import parsed
from mote.compiler.settings import make_settings
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import StateRole
from mote.ir.ops.control.control_flow import If
from mote.ir.ops.learning.samples import NONE
from tests.helpers.network import Net
from tests.helpers.support import emulated
from tests.ir.ops.learning.learners import agree, told

EVERY = (
    "prototype:classes=3",
    "prototype:classes=3,metric=euclidean,pool=mean",
    "knn:classes=3,neighbors=2,capacity=5",
    "knn:classes=3,features=1,pool=none",
    "ridge:classes=3,ridge=2,forgetting=0.9",
    "logistic:rate=0.1,decay=0.01",
    "bayes:classes=3,features=0",
)
NEAR = 1e-4
"""How far float scores of C may be from the reference's: sums of products may be fused."""


@cache
def network(dtype: str = "int8") -> Graph:
    """Convolutions, a pointwise one last, and a classifier of four classes."""
    net = Net(5, dtype)
    x = net.conv(net.input(1, 7, 6, 2), 4, 3, fused_activation_function="RELU")
    x = net.conv(net.depthwise(x, 1, 3, stride=2), 5, 1)
    x = net.fully_connected(net.mean(x), 4)
    quant = (1 / 256, -128) if dtype == "int8" else None
    return tflite.parse(net.finish(net.op("SOFTMAX", [x], quant=quant, beta=1.0)), "network")


@cache
def autoencoder() -> Graph:
    net = Net(6)
    x = net.input(1, 6)
    return tflite.parse(net.finish(net.fully_connected(net.fully_connected(x, 2), 6)), "autoencoder")


@cache
def scorer() -> Graph:
    net = Net(7)
    return tflite.parse(net.finish(net.fully_connected(net.input(1, 6), 1)), "scorer")


def learning(what: str, model: Graph | None = None) -> Graph:
    """A model with a learner, whose labels are inputs, and which tells how many samples it has seen."""
    graph = labelled(with_learner(model or network(), parsed(what)))
    (count,) = (s.after for s in graph.states if s.role is StateRole.COUNT)
    return replace(graph, outputs=(*graph.outputs, count))


class Device:
    """A learner at work."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.states: Mapping[int, Array] = {}

    def hear(self, x: Array, label: int = -1) -> tuple[Array, int]:
        """The scores of a sample, and how many of its class have been seen with it."""
        given = dict(zip(self.graph.inputs, (x, told(label)), strict=True))
        values = self.graph.evaluate({**given, **self.states})
        self.states = self.graph.carried(values)
        scores, count = (values[t] for t in self.graph.outputs)
        return scores, int(count[0])


def sample(seed: int) -> Array:
    return np.random.default_rng(seed).integers(-128, 128, (1, 7, 6, 2)).astype(np.int8)


def test_every_kind_is_the_reference_in_c() -> None:
    learners = [learning(what) for what in EVERY]
    ones = [learning("one-class:window=4", autoencoder()), learning("one-class:floor=3", scorer())]
    agree([*learners, *ones], "host", 24, NEAR)


def test_on_a_core() -> None:
    agree([learning("prototype:classes=3")], emulated("cortex-m4"), 8)


def test_a_new_class_is_learned() -> None:
    """Scores are those before the sample; a class that nothing is known of has the least one."""
    device = Device(learning("prototype:classes=3,metric=euclidean"))
    assert device.hear(sample(1), 2) == (pytest.approx([NONE] * 3), 1)
    scores, count = device.hear(sample(1))
    assert scores.tolist() == [NONE, NONE, 0] and count == 1
    assert device.hear(sample(2), 2)[1] == 2
    assert device.hear(sample(2), 3)[1] == 0


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_prototypes_forget_nothing(metric: str) -> None:
    """What is learned of other classes leaves the scores of a class as they were."""
    device = Device(learning(f"prototype:metric={metric}"))
    for seed in range(3):
        device.hear(sample(seed), 0)
    before, _ = device.hear(sample(9))
    for seed in range(3, 12):
        device.hear(sample(seed), 1 + seed % 3)
    after, _ = device.hear(sample(9))
    assert after[0] == before[0] and (after[1:] > before[1:]).all()


def test_a_drift_is_followed() -> None:
    """The score of a sample that differs falls as more like it are learned."""
    device, x = Device(learning("one-class:window=4", scorer())), np.full((1, 6), 20, np.int8)
    for _ in range(4):
        assert device.hear(x, 0)[0] == 0
    other = np.random.default_rng(3).integers(-128, 128, x.shape).astype(np.int8)
    scores = [abs(int(device.hear(other, 0)[0][0])) for _ in range(12)]
    assert scores[0] > 256 > scores[-1]


def test_without_a_label_nothing_is_learned() -> None:
    for what in EVERY:
        device = Device(learning(what))
        initial = {s.before: s.initial for s in device.graph.states}
        device.hear(sample(1))
        assert all(np.array_equal(after, initial[i]) for i, after in device.states.items())


def test_layers_behind_the_features_are_removed() -> None:
    graph, _ = optimize(with_learner(network(), parsed("prototype:classes=3")))
    assert [op.kind for op in graph.ops][:4] == ["CONV_2D", "DEPTHWISE_CONV_2D", "REDUCE_MAX", "PROTOTYPE_COSINES"]
    (branch,) = (op for op in graph.ops if isinstance(op, If))
    assert [op.kind for op in branch.branches[0].ops] == ["PROTOTYPE_UPDATE", "ASSIGN_VARIABLE"]
    assert not branch.branches[1].ops


def test_states_say_what_they_are_for() -> None:
    graph = with_learner(network(), parsed("ridge:classes=2"))
    roles = {graph.tensors[s.before].name: s.role for s in graph.states}
    assert roles == {
        "weights": StateRole.LEARNED,
        "inverse": StateRole.LEARNED,
        "seen": StateRole.COUNT,
        "label": StateRole.LABEL,
    }


def features_of(graph: Graph) -> Sequence[int]:
    """The shape of what the update reads."""
    (branch,) = (op for op in graph.ops if isinstance(op, If))
    step = branch.branches[0]
    return step.tensors[step.ops[0].inputs[0]].shape


def test_features() -> None:
    """By default those of the last convolution with a window, or else the input of the last fully connected layer; a
    layer by its number or its name."""
    model = network()
    kinds = [op.kind for op in model.ops]
    assert features_of(with_learner(model, parsed("prototype"))) == (1, 4)
    assert features_of(with_learner(model, parsed("prototype:features=2"))) == (1, 5)
    assert features_of(with_learner(model, parsed(f"knn:features={model.ops[0].name}"))) == (1, 4)
    assert features_of(with_learner(model, parsed("knn:pool=none"))) == model.ops[1].output(model).shape
    assert features_of(with_learner(autoencoder(), parsed("bayes:classes=2"))) == (1, 2)
    assert features_of(with_learner(network("float32"), parsed("bayes:classes=9"))) == (1, 4)
    assert kinds[:3] == ["CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D"]


def test_classes_are_those_of_the_model() -> None:
    model, labels = network(), ("red", "green", "blue", "none")
    (output,) = model.outputs
    model = model.with_ops(model.ops, [replace(model.tensors[output], labels=labels)])
    for what, shape, names in (("knn", (4,), labels), ("knn:classes=3", (3,), ()), ("knn:classes=4", (4,), ())):
        graph = with_learner(model, parsed(what))
        scores = graph.tensors[graph.outputs[0]]
        assert (scores.shape, scores.labels) == (shape, names)


@pytest.mark.parametrize(
    ("what", "reason", "remedy"),
    [
        ("prototype:metrics=cosine", "prototype has no setting 'metrics'", "did you mean: metric? it takes classes,"),
        ("prototype:metric=angle", "there is no metric 'angle'", "one of cosine, euclidean"),
        ("knn:neighbors=0", "neighbors is '0'", "a whole number from 1 to 255"),
        ("knn:neighbors=1.5", "neighbors is '1.5'", "a whole number"),
        ("knn:neighbors=3,capacity=2", "3 neighbors are not supported", "change the settings"),
        ("knn:classes=200", "200 classes are not supported", "change the settings"),
        ("ridge:ridge=0", "ridge is '0'", "a number from 1e-06"),
        ("logistic:rate=fast", "rate is 'fast'", "a number from"),
        ("prototype:features=conv9", "there is no layer 'conv9'", "mote inspect"),
        ("one-class", "the model's output has 4 elements, its input 84", "prototype:metric=euclidean,classes=1"),
        ("one-class:classes=2", "it takes no `classes`", "omit it"),
        ("prototype:classes=32768,features=0,pool=none", "numbers is too large", "fewer classes"),
    ],
)
def test_errors_say_what_to_do(what: str, reason: str, remedy: str) -> None:
    with pytest.raises(MoteError) as caught:
        with_learner(network(), parsed(what))
    assert reason in caught.value.reason and remedy in caught.value.remedy


def test_numbers_that_are_given_back_are_no_classes() -> None:
    with pytest.raises(MoteError) as caught:
        with_learner(autoencoder(), parsed("knn"))
    assert "how many classes" in caught.value.reason and "classes=3" in caught.value.remedy


def test_learners_of_codes_need_a_quantized_model() -> None:
    with pytest.raises(MoteError) as caught:
        with_learner(network("float32"), parsed("prototype"))
    assert "float32" in caught.value.reason and "--quantize int8" in caught.value.remedy


def test_labels_are_those_of_the_classes_that_are_learned() -> None:
    settings = make_settings("host", train="prototype:classes=3", labels=("red", "green", "blue"))
    assert '{"red", "green", "blue"}' in compile_graph(network(), settings).project.files["network.h"]
