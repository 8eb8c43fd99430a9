"""Convolutions and fully connected layers get float16 weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.passes.rewriting import half_precision
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from tests.compiler.passes.before_after import graph, kinds
from tests.helpers.network import Net


def types(g: Graph) -> list[DType]:
    return [op.input(g, 1).dtype for op in g.ops if op.weights is not None]


def network() -> Graph:
    net = Net(dtype="float32")
    x = net.depthwise(net.conv(net.input(1, 6, 6, 3), 8))
    return graph(net, net.fully_connected(net.mean(x), 5))


def test_which_layers() -> None:
    before = network()
    after, detail = half_precision.run(before)
    after.verify()
    assert kinds(after) == kinds(before)
    assert types(after) == [DType.FLOAT16, DType.FLOAT32, DType.FLOAT16]
    assert detail == "2 of 3 layers with products are computed in half precision"
    weights = before.ops[0].input(before, 1).data
    assert weights is not None
    assert np.array_equal(after.ops[0].input(after, 1).data, weights.astype(np.float16))


def test_values_are_near() -> None:
    before = network()
    after, _ = half_precision.run(before)
    case = {before.inputs[0]: np.random.default_rng(0).normal(size=(1, 6, 6, 3)).astype(np.float32)}
    (want,), (got,) = ([g.evaluate(case)[t] for t in g.outputs] for g in (before, after))
    assert 0 < np.abs(got - want).max() < 0.01 * np.abs(want).max()


def test_what_half_precision_does_not_hold_stays() -> None:
    before = network()
    op = before.ops[0]
    weights = op.input(before, 1)
    assert weights.data is not None
    large = before.with_ops(before.ops, [replace(weights, data=70000 * np.ones_like(weights.data))])
    assert types(half_precision.run(large)[0]) == [DType.FLOAT32, DType.FLOAT32, DType.FLOAT16]


def test_integers_stay() -> None:
    net = Net()
    before = graph(net, net.conv(net.input(1, 6, 6, 3), 8))
    assert types(half_precision.run(before)[0]) == [DType.INT8]
