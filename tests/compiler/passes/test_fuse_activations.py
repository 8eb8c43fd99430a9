"""Activations become a part of the operator before them."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compiler.passes.fusing import fuse_activations
from mote.frontends.tflite.writer import NO_TENSOR
from tests.compiler.passes.before_after import graph, kinds, unchanged
from tests.helpers.network import Net


@pytest.mark.parametrize("same", [True, False])
def test_fuse_activations(same: bool) -> None:
    """int8: only where the quantization does not change, so that the activation is a clamp."""
    net = Net()
    x = net.conv(net.input(1, 5, 6, 2), 4)
    before = graph(net, net.op("RELU6", [x], quant=net.quants[x] if same else (0.04, 9)))
    after = fuse_activations.run(before)
    assert kinds(after) == (["CONV_2D"] if same else ["CONV_2D", "RELU6"])
    unchanged(before, after)


def test_activation_of_a_layer_with_state() -> None:
    net = Net(dtype="float32")
    x, state = net.input(1, 3), net.writer.variable("s", (1, 20), "float32")
    k, t = (net.writer.const("ones", np.ones((4, size), np.float32)) for size in (3, 5))
    y = net.op("SVDF", [x, k, t, NO_TENSOR, state], (1, 2), rank=2)
    before = graph(net, net.op("RELU", [y]))
    after = fuse_activations.run(before)
    unchanged(before, after)
    assert kinds(after) == ["SVDF"] and after.states == before.states
