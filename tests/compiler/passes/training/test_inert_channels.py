"""Training does without channels that no gradient passes, and learns the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from mote.compiler.passes.training.gradient_ranges import float_gradients
from mote.compiler.passes.training.inert_channels import without_inert_channels
from mote.compiler.passes.training.integer_backward import integer_training_graph
from mote.compiler.passes.training.integer_losses import integer_loss
from mote.compiler.passes.training.loss import Loss
from mote.frontends import tflite
from mote.ir.graph import Graph, Op
from mote.ir.ops.common import BIAS, WEIGHTS
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from tests.compiler.passes.before_after import unchanged
from tests.compiler.passes.training.test_integer_backward import SGD, constants, samples, steps, watched
from tests.frontends.features.postprocess.scored import in_c, streamed
from tests.helpers.network import Net

CLASSES = 5
SILENT = (1, 2, 4, 5)
"""Channels that are made inert."""


def network(activation: str = "RELU") -> Graph:
    """Two layers behind one another through a depthwise one, as in MobileNet, and a classifier."""
    net = Net(5)
    x = net.conv(net.input(1, 6, 7, 3), 8, 3, fused_activation_function=activation, quant=(0.05, -128))
    x = net.depthwise(x, 1, 3, fused_activation_function="RELU", quant=(0.04, -128))
    x = net.conv(x, 6, 1, fused_activation_function="RELU", quant=(0.06, -128))
    x = net.fully_connected(net.mean(x), CLASSES)
    return tflite.parse(net.finish(net.op("SOFTMAX", [x], quant=(1 / 256, -128), beta=1.0)), "network")


def silenced(graph: Graph, kind: type[Op], bias: int) -> Graph:
    """With channels of the first layer of a kind that have no weights, and a bias."""
    op = next(op for op in graph.ops if type(op) is kind)
    w, b = op.input(graph, WEIGHTS), op.input(graph, BIAS)
    assert w.data is not None and b.data is not None
    weights, biases = w.data.copy(), b.data.copy()
    np.moveaxis(weights, 3 if kind is DepthwiseConv2D else 0, 0)[list(SILENT)] = 0
    biases[list(SILENT)] = bias
    return graph.with_ops(graph.ops, [replace(w, data=weights), replace(b, data=biases)])


def dead(first: int = -50, second: int = -50) -> Graph:
    return silenced(silenced(network(), Conv2D, first), DepthwiseConv2D, second)


def widths(graph: Graph) -> list[int]:
    return [op.output(graph).channels for op in graph.ops if op.weights]


def test_inert_channels_are_left_out() -> None:
    before = dead()
    after, learned = without_inert_channels(before, constants(before))
    unchanged(before, after)
    assert widths(before) == [8, 8, 6, CLASSES] and widths(after) == [4, 4, 6, CLASSES]
    assert learned == constants(after)


def test_a_channel_that_only_inert_ones_lead_to_is_inert() -> None:
    """The depthwise layer has weights there, for zeros, and no bias."""
    before = silenced(network(), Conv2D, -50)
    op = next(op for op in before.ops if isinstance(op, DepthwiseConv2D))
    b = op.input(before, BIAS)
    before = before.with_ops(before.ops, [replace(b, data=np.minimum(b.data, 0))])
    assert widths(without_inert_channels(before, ())[0])[:2] == [4, 4]


@pytest.mark.parametrize(
    "graph",
    [
        network(),
        dead(first=900),
        dead(second=900),
        silenced(silenced(network("NONE"), Conv2D, 0), DepthwiseConv2D, -50),
    ],
    ids=["weights", "bias of the first", "bias of the second", "no activation"],
)
def test_what_gradients_pass_stays(graph: Graph) -> None:
    """Biases that an activation lets through learn."""
    after, learned = without_inert_channels(graph, constants(graph))
    assert after is graph and learned == constants(graph)


def test_no_gradient_passes_inert_channels() -> None:
    graph = dead()
    learned, given = constants(graph), samples(graph, CLASSES)
    loss = integer_loss(graph, Loss.SOFTMAX_CROSS_ENTROPY)
    first, second = (next(op for op in graph.ops if type(op) is kind) for kind in (Conv2D, DepthwiseConv2D))
    third = next(op for op in graph.ops if second.outputs[0] in op.inputs)
    kept = np.setdiff1d(np.arange(8), SILENT)
    for _, gradients in float_gradients(graph, learned, loss.kind, given, loss):
        for op, axes in ((first, (0, 0)), (second, (3, 0)), (third, (3, None))):
            for i, axis in zip(op.inputs[WEIGHTS:], axes, strict=True):
                if axis is not None:
                    own = np.moveaxis(gradients[i], axis, 0)
                    assert not own[list(SILENT)].any() and own[kept].any()


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("first", [WEIGHTS, BIAS])
def test_c_learns_without_them(first: int) -> None:
    graph = dead()
    given = samples(graph, 6)
    training = integer_training_graph(graph, constants(graph, first), Loss.SOFTMAX_CROSS_ENTROPY, SGD, given)
    program = watched(training)
    cases = steps(training, given)
    for want, got in zip(streamed(program, cases), in_c(program, cases, "host"), strict=True):
        for x, y in zip(want, got, strict=True):
            np.testing.assert_array_equal(y, x)
