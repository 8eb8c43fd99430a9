"""Layers with many weights become several of fewer outputs, with the same results."""

from __future__ import annotations

import pytest

from mote.compiler.passes.rewriting import split_layers
from mote.ir.graph import Graph
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from tests.compiler.passes.before_after import graph, kinds, unchanged
from tests.helpers.network import Net


def most_weights(g: Graph, kind: type) -> int:
    return max(op.input(g, 1).nbytes for op in g.ops if isinstance(op, kind))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_large_layer_is_split(dtype: str) -> None:
    net = Net(dtype=dtype)
    x = net.input(2, 96)
    before = graph(net, net.fully_connected(net.fully_connected(x, 150), 6))
    after = split_layers.run(before)
    assert kinds(after).count("CONCATENATION") == 1 and kinds(after)[-1] == "FULLY_CONNECTED"
    assert most_weights(after, FullyConnected) <= split_layers.MOST[FullyConnected]
    assert after.outputs == before.outputs
    unchanged(before, after)


def test_a_large_convolution_is_split() -> None:
    """Weights of 3 x 3 x 24 x 90 bytes, with a scale for each channel."""
    net = Net()
    before = graph(net, net.conv(net.input(1, 5, 5, 24), 90))
    after = split_layers.run(before)
    assert kinds(after) == ["CONV_2D", "CONV_2D", "CONCATENATION"]
    assert most_weights(after, Conv2D) <= split_layers.MOST[Conv2D]
    unchanged(before, after)


def test_small_layers_and_those_of_few_outputs_stay() -> None:
    net = Net()
    before = graph(net, net.fully_connected(net.input(1, 1200), 8))
    assert split_layers.run(before) is before
