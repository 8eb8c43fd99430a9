"""Results of kernels are shared by equal layers only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.kernels.contract import View
from mote.compiler.kernels.memo import SHARED, ResultStore
from mote.optimize.nas.graphs.integers import integer_graph
from mote.optimize.nas.spaces.layers import INPUT, ConvLayer, MeanLayer
from mote.optimize.nas.spaces.network import Network


def _view(filters: int = 4, seed: int = 0, *, activation: str = "relu") -> View:
    layer = ConvLayer("conv", (INPUT,), kernel=(3, 3), filters=filters, activation=activation)
    graph = integer_graph(Network((8, 8, 3), (layer,), classes=False), seed)
    return View(graph, (next(op for op in graph.ops if op.weights is not None),))


def test_equal_layers_of_two_graphs_share_results() -> None:
    store, views = ResultStore(), (_view(), _view())
    assert views[0].graph is not views[1].graph
    assert store.of(views[0]) is store.of(views[1])


def test_layers_that_differ_share_nothing() -> None:
    store, view = ResultStore(), _view()
    others = (_view(8), _view(seed=1), _view(activation="none"), replace(view, small=True), replace(view, fast=True))
    assert all(store.of(view) is not store.of(other) for other in others)


def test_a_range_of_the_input_makes_a_difference() -> None:
    store, views = ResultStore(), (_view(), _view())
    ends = views[1].graph.ranges[views[1].input.id]
    ends.low[:] = np.maximum(ends.low, 0)
    assert store.of(views[0]) is not store.of(views[1])


def test_layers_without_weights_share_nothing() -> None:
    graph = integer_graph(Network((8, 8, 3), (MeanLayer("mean", (INPUT,)),), classes=False))
    store, view = ResultStore(), View(graph, graph.ops[:1])
    assert store.of(view) is not store.of(view)


def test_those_used_last_are_kept() -> None:
    views = [_view(seed=seed) for seed in range(3)]
    nbytes = sum(views[0].graph.tensors[t].nbytes for t in views[0].op.inputs)
    store = ResultStore(most=2 * nbytes)
    first, second = store.of(views[0]), store.of(views[1])
    assert store.of(views[0]) is first
    store.of(views[2])
    assert store.of(views[0]) is first
    assert store.of(views[1]) is not second


def test_what_was_compiled_can_be_forgotten() -> None:
    view = _view()
    known = SHARED.of(view)
    assert SHARED.of(view) is known
    SHARED.clear()
    assert SHARED.of(view) is not known
