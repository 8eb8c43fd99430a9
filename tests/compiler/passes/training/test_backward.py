"""Whole networks learn as in PyTorch; only what is needed is computed; errors say what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from mote.base.errors import MoteError
from mote.compiler.line import compile_graph
from mote.compiler.passes.training.backward import training_graph
from mote.compiler.passes.training.optimizers import Adam, Optimizer, Sgd
from mote.compiler.settings import make_settings
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType, StateRole
from mote.ir.ops.pointwise import Pointwise
from mote.ir.ops.training.optimizers import OptimizerStep
from tests.compiler.passes.training.in_torch import Trained, random, step_of, steps_of, torch
from tests.helpers.network import Net
from tests.ir.ops.training.single import single

STEPS = 8
CURVE = 1e-5
"""How far the losses of the last steps may be from PyTorch's, relative to them."""
WEIGHTS = 3e-5
"""How far the weights may be from PyTorch's in the end, as a share of how far the farthest of a tensor has moved."""
BATCH = 3


def network(softmax: bool = True) -> Graph:
    """Convolutions with a residual, depthwise and with strides, both poolings, and a classifier."""
    net = Net(0, "float32")
    x = net.input(BATCH, 13, 12, 2)
    x = net.conv(x, 6, 3, fused_activation_function="RELU")
    x = net.pool(x, 2, "MAX_POOL_2D")
    x = net.add(x, net.conv(net.conv(x, 6, 3, fused_activation_function="RELU6"), 6, 1))
    x = net.depthwise(x, 1, 3, stride=2, fused_activation_function="RELU6")
    x = net.pool(net.op("HARD_SWISH", [net.conv(x, 8, 1)]), 2, stride=1)
    x = net.fully_connected(net.mean(x), 5)
    return tflite.parse(net.finish(net.op("SOFTMAX", [x], beta=1.0) if softmax else x), "network")


def constants(graph: Graph) -> list[int]:
    """All weights and biases."""
    return [i for op in graph.ops for i in op.inputs[1:] if op.macs(graph) and graph.tensors[i].dtype == DType.FLOAT32]


def cases(graph: Graph, classes: bool, steps: int = STEPS) -> list[tuple[Mapping[int, Array], Array]]:
    """A few batches again and again, so that there is something to learn."""
    rng = np.random.default_rng(1)
    shape = graph.tensors[graph.outputs[0]].shape
    batches = []
    for _ in range(2):
        right = rng.integers(0, shape[-1], shape[:-1]).astype(np.int32) if classes else random(rng, *shape)
        batches.append(({i: random(rng, *graph.tensors[i].shape) for i in graph.inputs}, right))
    return [batches[n % 2] for n in range(steps)]


def sgd(**options: Any) -> Any:
    """PyTorch's optimizer of weights."""
    return lambda weights: torch.optim.SGD(weights, **options)


def check(model: Graph, learned: list[int], loss: str, optimizer: Optimizer, judge: Any) -> None:
    """The curve and the weights are PyTorch's, and the loss falls."""
    given = cases(model, loss == "softmax_cross_entropy")
    losses, states = steps_of(training_graph(model, learned, loss, optimizer), given)
    judged = Trained(model, learned, loss, judge)
    want = [judged.step(*case) for case in given]
    assert losses == pytest.approx(want, rel=CURVE) and losses[-1] < losses[0]
    for i in learned:
        got, expected, before = states[i], judged.weights[i].detach().numpy(), model.tensors[i].data
        assert before is not None
        moved = float(np.abs(expected - before).max())
        assert moved > 0 and np.abs(got - expected).max() <= WEIGHTS * moved + 1e-6 * float(np.abs(before).max())


@pytest.mark.parametrize("softmax", [True, False])
def test_all_layers_learn_classes(softmax: bool) -> None:
    model = network(softmax)
    check(
        model,
        constants(model),
        "softmax_cross_entropy",
        Sgd(learning_rate=0.02, momentum=0.9, weight_decay=1e-3),
        sgd(lr=0.02, momentum=0.9, weight_decay=1e-3),
    )


def test_all_layers_learn_targets() -> None:
    model = network(softmax=False)
    check(model, constants(model), "mean_squared_error", Sgd(learning_rate=0.02), sgd(lr=0.02))


def test_biases_learn() -> None:
    model = network()
    biases = [i for i in constants(model) if len(model.tensors[i].shape) == 1]
    check(model, biases, "softmax_cross_entropy", Sgd(learning_rate=0.1), sgd(lr=0.1))
    graph = training_graph(model, biases, "softmax_cross_entropy", Sgd(learning_rate=0.1))
    assert not [op.name for op in graph.ops if op.kind.endswith("WEIGHT_GRADIENT")]


def test_adam_learns() -> None:
    """Its moments have 8 bits: the curve is near PyTorch's, within 1% of the first loss."""
    model = network()
    learned = constants(model)
    given = cases(model, True, 30)
    losses, _ = steps_of(training_graph(model, learned, "softmax_cross_entropy", Adam(learning_rate=0.01)), given)
    judged = Trained(
        model, learned, "softmax_cross_entropy", lambda weights: torch.optim.AdamW(weights, lr=0.01, weight_decay=0)
    )
    want = [judged.step(*case) for case in given]
    assert losses[-1] < 0.3 * losses[0] and np.abs(np.subtract(losses, want)).max() < 0.01 * losses[0]


def test_accumulated_gradients() -> None:
    """Two inferences and a step are PyTorch's step by the mean of two gradients."""
    model = network()
    learned = constants(model)
    given = cases(model, True)
    graph = training_graph(model, learned, "softmax_cross_entropy", Sgd(learning_rate=0.1, accumulate=2))
    losses, states = steps_of(graph, given)
    judged = Trained(model, learned, "softmax_cross_entropy", sgd(lr=0.1))
    zero, step = judged.optimizer.zero_grad, judged.optimizer.step
    judged.optimizer.step = lambda: None
    want = []
    for number, case in enumerate(given):
        judged.optimizer.zero_grad = (lambda: None) if number % 2 else zero
        want.append(judged.step(*case))
        if number % 2:
            for weights in judged.weights.values():
                weights.grad /= 2
            step()
    assert losses == pytest.approx(want, rel=CURVE)
    for i in learned:
        assert np.allclose(states[i], judged.weights[i].detach().numpy(), rtol=1e-4, atol=1e-5)


def test_states_say_what_they_are_for() -> None:
    """What was learned lasts; moments, totals of gradients and the number of the step belong to the session."""
    model = network()
    learned = constants(model)
    graph = training_graph(model, learned, "softmax_cross_entropy", Adam(learning_rate=0.1, accumulate=2))
    assert {s.before for s in graph.states if s.role is StateRole.LEARNED} == set(learned)
    others = {s.role for s in graph.states if s.before not in learned}
    assert others == {StateRole.OPTIMIZER, StateRole.LOSS, StateRole.LABEL, StateRole.RATE}
    assert {s.role for s in step_of(graph).states} == {StateRole.OPTIMIZER, StateRole.LOSS, StateRole.LEARNED}


def test_without_a_label_nothing_is_learned() -> None:
    """Outputs are the model's, states stay as they are, and a label holds for one inference."""
    model = network()
    graph = training_graph(model, constants(model), "softmax_cross_entropy", Sgd(learning_rate=0.1, momentum=0.9))
    x, label = cases(model, True)[0]
    values = graph.evaluate(x)
    assert np.array_equal(values[graph.outputs[0]], model.evaluate(x)[model.outputs[0]])
    initial = {s.before: s.initial for s in graph.states}
    assert all(np.array_equal(after, initial[i]) for i, after in graph.carried(values).items())
    _, learned = steps_of(graph, [(x, label)])
    changed = {i for i, after in learned.items() if not np.array_equal(after, initial[i])}
    kept = {s.before for s in graph.states if s.role in (StateRole.LABEL, StateRole.RATE)}
    assert changed == {s.before for s in graph.states} - kept


def test_only_what_is_needed() -> None:
    """The last layer's gradients come from the loss and its own input; nothing is computed for layers before it."""
    model = network()
    learned = constants(model)[-2:]
    graph = training_graph(model, learned, "softmax_cross_entropy", Sgd(learning_rate=0.1))
    assert graph.ops[: len(model.ops)] == model.ops
    assert [op.kind for op in graph.ops[len(model.ops) :]] == ["REDUCE_MAX", "GREATER_EQUAL", "IF", "ASSIGN_VARIABLE"]
    assert [op.kind for op in step_of(graph).ops] == [
        *("SOFTMAX_CROSS_ENTROPY", "SUM", "BATCH_MATMUL"),
        *("SGD", "SGD"),
    ]
    assert graph.inputs == model.inputs and graph.outputs == model.outputs
    kept = [s.before for s in graph.states if s.role is StateRole.LEARNED]
    assert kept == sorted(learned) and model.tensors[learned[0]].data is not None
    assert {op.index for op in step_of(graph).ops} == {-1, model.ops[-2].index}
    assert all(graph.tensors[i].data is not None for i in constants(model) if i not in learned)


def test_updates_come_early() -> None:
    """A layer is updated before gradients go on to those before it: its own gradient need not be kept."""
    model = network()
    graph = training_graph(model, constants(model), "softmax_cross_entropy", Sgd(learning_rate=0.1))
    added = step_of(graph).ops
    updated = [op.index for op in added if isinstance(op, OptimizerStep)]
    assert updated == sorted(updated, reverse=True)
    last = max(n for n, op in enumerate(added) if isinstance(op, OptimizerStep) and op.index == updated[0])
    assert all(op.index in (-1, updated[0]) for op in added[:last])


def test_the_first_layer_has_no_gradient_of_its_input() -> None:
    model = network()
    graph = training_graph(model, constants(model), "softmax_cross_entropy", Sgd(learning_rate=0.1))
    first = model.ops[0]
    kinds = [op.kind for op in step_of(graph).ops if op.index == first.index]
    assert kinds == ["RELU_GRADIENT", "SUM", "CONV_2D_WEIGHT_GRADIENT", "SGD", "SGD"]


def refused(model: Graph, learned: list[int], loss: str = "mean_squared_error") -> MoteError:
    with pytest.raises(MoteError) as error:
        training_graph(model, learned, loss, Sgd(learning_rate=0.1))
    assert error.value.where and error.value.remedy
    return error.value


def test_operators_without_gradient() -> None:
    net = Net(0, "float32")
    x = net.conv(net.input(1, 4, 4, 2), 3)
    model = tflite.parse(net.finish(net.op("SIN", [x])), "model")
    error = refused(model, constants(model))
    assert error.reason == "there is no float32 gradient of SIN" and "SIN" in error.where


def test_gradients_stop_before_operators_without_one() -> None:
    """What no gradient has to go through may be anything."""
    net = Net(0, "float32")
    x = net.op("SIN", [net.input(1, 4, 4, 2)])
    model = tflite.parse(net.finish(net.conv(x, 3)), "model")
    training_graph(model, constants(model), "mean_squared_error", Sgd(learning_rate=0.1))


def test_what_cannot_learn() -> None:
    model = network()
    assert refused(model, []).reason == "nothing learns"
    assert "is no constant that a layer reads" in refused(model, [model.inputs[0]]).reason
    assert "tensor 12345 cannot learn" in refused(model, [12345]).reason
    integers = Net(0)
    quantized = tflite.parse(integers.finish(integers.conv(integers.input(1, 4, 4, 2), 3)), "quantized")
    error = refused(quantized, [quantized.ops[0].inputs[1]])
    assert "of int8 cannot learn" in error.reason and "CONV_2D" in error.where


def test_a_loss_that_does_not_depend_on_it() -> None:
    net = Net(0, "float32")
    x = net.input(1, 4, 4, 2)
    model = tflite.parse(net.finish(net.conv(x, 3), net.conv(x, 4)), "model")
    learned = list(model.ops[1].inputs[1:])
    assert "the loss does not depend on tensor" in refused(model, learned).reason


def test_losses_and_optimizers_are_checked() -> None:
    model = network()
    assert refused(model, constants(model), "hinge").reason == "there is no loss 'hinge'"
    for wrong in ({"learning_rate": 0.0}, {"learning_rate": 0.1, "accumulate": 0}):
        with pytest.raises(MoteError, match="cannot learn"):
            Sgd(**wrong)


class Strange(Pointwise):
    """An operator that nobody has written a kernel for."""

    kind = "STRANGE"


def test_operators_without_kernels_are_named() -> None:
    with pytest.raises(MoteError, match="there is no kernel that computes STRANGE"):
        compile_graph(single(Strange, np.zeros((4, 5), np.float32)), make_settings("host"))
