"""Layers in parts, of which some output channels learn, compute what whole ones do."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from mote.base.errors import MoteError
from mote.compiler.passes.training.channels import in_parts
from mote.compiler.passes.training.choice import chosen
from mote.compiler.passes.training.integer_backward import integer_training_graph
from mote.ir.graph import Graph, Op
from mote.ir.ops.common import WEIGHTS
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from tests.compiler.passes.training.in_torch import step_of
from tests.compiler.passes.training.test_integer_backward import CLASSES, CLASSIFIER, SGD, network, samples


def first(graph: Graph, kind: type[Op]) -> Op:
    return next(op for op in graph.ops if type(op) is kind)


@pytest.mark.parametrize("kind", [Conv2D, FullyConnected])
@pytest.mark.parametrize("channels", [range(2), range(1, 4), range(4, 6)])
def test_outputs_are_the_same(kind: type[Op], channels: range) -> None:
    graph = network()
    op = first(graph, kind)
    apart = in_parts(graph, op, channels, "here")
    given = samples(graph, 1).inputs[0]
    before, after = graph.evaluate(given), apart.graph.evaluate(given)
    np.testing.assert_array_equal(after[op.outputs[0]], before[op.outputs[0]])
    weights = op.input(graph, WEIGHTS).data
    assert weights is not None
    np.testing.assert_array_equal(apart.graph.tensors[apart.weights].data, weights[channels.start : channels.stop])


def test_all_channels_are_no_part() -> None:
    graph = network()
    op = first(graph, Conv2D)
    assert in_parts(graph, op, range(op.input(graph, WEIGHTS).shape[0]), "here").graph is graph


def test_only_the_channels_that_are_named_learn() -> None:
    graph = network()
    number = graph.layer_of(first(graph, Conv2D))
    choice = chosen(graph, [f"{number}[1:3]", f"{number}[bias]"])
    shapes = sorted(choice.graph.tensors[i].shape for i in choice.constants)
    assert shapes == [(1,), (2,), (2, 3, 3, 3), (3,)]
    made = integer_training_graph(choice.graph, choice.constants, CLASSIFIER.loss, SGD, samples(graph, CLASSES))
    assert [op.kind for op in step_of(made).ops].count("CONV_2D_STEP") == 1


def test_what_has_no_channels() -> None:
    graph = network()
    for op, channels in ((first(graph, DepthwiseConv2D), range(2)), (first(graph, Conv2D), range(5, 9))):
        with pytest.raises(MoteError) as caught:
            in_parts(graph, op, channels, "here")
        assert "LAYER[0:16]" in caught.value.remedy
    number = graph.layer_of(first(graph, Conv2D))
    with pytest.raises(MoteError) as caught:
        chosen(graph, [f"{number}[0:2]", f"{number}[3:4]"])
    assert "chosen twice" in caught.value.reason
