"""The graph of training that an option states."""

from __future__ import annotations

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.compiler.passes.pipeline import optimize
from mote.compiler.passes.training.labelled import label_values
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.samples import Samples
from mote.compiler.passes.training.spec import parsed
from mote.compiler.passes.training.trained import default_loss, trained
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.types import DType, StateRole
from tests.helpers.network import Net


def network(dtype: str = "float32", outputs: int = 3, softmax: bool = False, edges: bool = False) -> Graph:
    """A convolution and a layer of outputs; int8 with float inputs and outputs at its `edges`."""
    net = Net(0, dtype)
    quant = (0.05, 3)
    x = net.input(1, 5, 4, 2, quant=(None, 0)) if edges else net.input(1, 5, 4, 2)
    if edges:
        x = net.op("QUANTIZE", [x], quant=quant)
    x = net.conv(x, 4, 3, fused_activation_function="RELU")
    x = net.fully_connected(net.mean(x), outputs)
    if softmax:
        x = net.op("SOFTMAX", [x], quant=None if dtype == "float32" else (1 / 256, -128), beta=1.0)
    if edges:
        x = net.op("DEQUANTIZE", [x], quant=(None, 0))
    return tflite.parse(net.finish(x), "network")


def some(graph: Graph, count: int = 4) -> Samples:
    rng, t = np.random.default_rng(0), graph.tensors[graph.inputs[0]]
    drawn = rng.normal(size=(count, *t.shape)) * (40 if t.dtype.integer else 1)
    return Samples(
        [{t.id: x} for x in drawn.astype(t.dtype.numpy)], [np.array([i % 3], np.int32) for i in range(count)]
    )


def learned(graph: Graph) -> set[DType]:
    return {graph.tensors[s.before].dtype for s in graph.states if s.role is StateRole.LEARNED}


@pytest.mark.parametrize("io", ["model", "int8"])
@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize(("dtype", "edges"), [("float32", False), ("int8", False), ("int8", True)])
def test_models_of_all_types_learn_behind_the_passes(dtype: str, edges: bool, softmax: bool, io: str) -> None:
    """Passes of the compiler leave what a step computes; inferences without a label are the model's."""
    model = network(dtype, softmax=softmax, edges=edges)
    samples = some(model)
    graph = trained(model, parsed(f"biases,{int(edges)}"), samples)
    assert learned(graph) == ({DType.FLOAT32} if dtype == "float32" else {DType.INT8, DType.INT32})
    made, _ = optimize(graph, io=io)
    plain, _ = optimize(model, io=io)
    case = some(made, 1).inputs[0]
    np.testing.assert_array_equal(made.evaluate(case)[made.outputs[0]], plain.evaluate(case)[plain.outputs[0]])
    case = {**case, **label_values(graph, np.array([1], np.int32))}
    states = made.carried(made.evaluate(case))
    changed = [not np.array_equal(states[s.before], s.initial) for s in made.states if s.role is StateRole.LEARNED]
    assert any(changed)
    if io == "model":
        wanted = graph.carried(graph.evaluate(case))
        for i, value in wanted.items():
            np.testing.assert_allclose(states[i], value, rtol=1e-5, atol=1e-7)


def test_losses_are_those_of_what_the_model_computes() -> None:
    assert default_loss(network(outputs=1)) is Loss.MEAN_SQUARED_ERROR
    for graph in (network(), network(softmax=True), network("int8", softmax=True, edges=True)):
        assert default_loss(graph) is Loss.SOFTMAX_CROSS_ENTROPY
    for graph in (network(), network("int8"), network("int8", edges=True)):
        stated = trained(graph, parsed("last:loss=mean_squared_error"))
        (target,) = (s.initial for s in stated.states if s.role is StateRole.TARGET)
        assert {target.dtype.name} <= learned(stated)


def test_settings_are_those_of_the_optimizer() -> None:
    rates = [s.initial for s in trained(network(), parsed("last:rate=0.5")).states if s.role is StateRole.RATE]
    assert rates == [np.float32(0.5)]
    moments = {
        text: sum(s.initial.size > 1 and s.role is StateRole.OPTIMIZER for s in trained(network(), parsed(text)).states)
        for text in ("last", "last:momentum=0.9", "last:optimizer=adam", "last:accumulate=4")
    }
    assert moments["last"] == 0 and all(count > 0 for text, count in moments.items() if text != "last")


@pytest.mark.parametrize("text", ["last:momentum=0.9", "last:accumulate=4"])
def test_int8_weights_have_updates_of_8_bits(text: str) -> None:
    states = trained(network("int8"), parsed(text)).states
    learned = [s.initial for s in states if s.role is StateRole.LEARNED]
    updates = [s.initial for s in states if s.role is StateRole.OPTIMIZER and s.initial.size > 1]
    assert [(x.dtype, x.shape) for x in updates] == [(x.dtype, x.shape) for x in learned]


def test_learners_are_another_builders() -> None:
    graph = trained(network("int8"), parsed("prototype:classes=5"))
    assert graph.tensors[graph.outputs[0]].channels == 5


@pytest.mark.parametrize(
    ("model", "text", "reason"),
    [
        (network(), "last:optimizer=adam,momentum=0.9", "moments of its own"),
        (network("int8"), "last:optimizer=adam", "optimizer=adam"),
        (network("int8"), "last:decay=0.1", "decay=0.1"),
        (network("int8"), "last:momentum=0.999999", "steps of 1/65536"),
        (network("int8"), "last:momentum=0.000001", "steps of 1/65536"),
        (network("int8", outputs=1), "last:loss=softmax_cross_entropy", "no logits"),
        (network("int8"), "0", "samples"),
        (network(), "prototype", "float32"),
    ],
)
def test_what_cannot_learn_is_explained(model: Graph, text: str, reason: str) -> None:
    with pytest.raises(MoteError) as error:
        trained(model, parsed(text))
    assert reason in str(error.value) and error.value.remedy
