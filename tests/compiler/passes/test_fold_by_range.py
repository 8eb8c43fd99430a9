"""Layers are removed by the ranges of values."""

from __future__ import annotations

import numpy as np

from mote.compiler.passes.folding.fold_by_range import CLAMP, CONSTANT, IDENTITY
from mote.compiler.passes.shrinking.report import Removal
from tests.compiler.passes.test_shrink import shrunk
from tests.helpers.network import Net


def test_layers_with_one_possible_result() -> None:
    """What is added to the rest becomes a constant of the model."""
    net = Net()
    x = net.input(1, 3, 3, 2)
    y = net.pool(net.conv(x, np.zeros((2, 1, 1, 2), np.int8)), 1)
    after, removals = shrunk(net.finish(net.add(x, y)))
    assert [op.kind for op in after.ops] == ["ADD"] and after.ops[0].computed(after) == [(0, x)]
    assert removals == [Removal(0, CONSTANT, 1), Removal(1, CONSTANT, 1)]


def test_layers_that_change_nothing() -> None:
    """A pool of one pixel, and a RELU of what is never below zero."""
    net = Net()
    x = net.conv(net.input(1, 3, 3, 2), net.weights(4, 1, 1, 2) // np.int8(16), bias=np.full(4, 4000))
    y = net.moved("RELU", [net.pool(x, 1)])
    after, removals = shrunk(net.finish(net.conv(y, 2, 1)))
    assert [op.kind for op in after.ops] == ["CONV_2D", "CONV_2D"]
    assert removals == [Removal(1, IDENTITY, 1), Removal(2, IDENTITY, 1)]


def test_activations_that_clamp_nothing() -> None:
    net = Net()
    weights = net.weights(2, 1, 1, 2) // np.int8(64)
    y = net.conv(
        net.input(1, 3, 3, 2), weights, bias=np.full(2, 1000), quant=(1.0, -7), fused_activation_function="RELU6"
    )
    after, removals = shrunk(net.finish(y))
    assert after.ops[0].attributes()["activation"] == "NONE" and removals == [Removal(0, CLAMP, 1)]
