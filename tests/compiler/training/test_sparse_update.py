"""Budgets choose what learns: as much as fits, what gains most first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch")

from mote.base.errors import BudgetError, MoteError
from mote.compiler import line
from mote.compiler.passes.training.gradient_ranges import float_gradients
from mote.compiler.passes.training.integer_losses import integer_loss
from mote.compiler.passes.training.samples import Samples
from mote.compiler.passes.training.sensitivity import gain, reached, sample_gradients
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.settings import Settings, make_settings
from mote.compiler.training.sparse_update import settled
from mote.frontends import tflite
from mote.frontends.data.dataset_type import Dataset
from mote.ir.graph import Graph
from mote.ir.graph.types import StateRole
from tests.compiler.passes.training.test_integer_backward import CLASSES, constants, samples
from tests.helpers.network import FLOAT, Net

CROSS_ENTROPY = "softmax_cross_entropy"


def network() -> Graph:
    net = Net(5)
    x = net.conv(net.conv(net.input(1, 4, 4, 3), 4, 1), 16, 1)
    return tflite.parse(net.finish(net.fully_connected(net.mean(x), CLASSES)), "network")


def data(graph: Graph, count: int = 20) -> Dataset:
    given = samples(graph, count)
    (x,) = graph.inputs
    images = np.concatenate([case[x] for case in given.inputs])
    return Dataset("samples", {graph.tensors[x].name: images}, np.concatenate(given.labels))


def plans(graph: Graph, train: str) -> tuple[Settings, Plan, Plan]:
    """The settings with what budgets have chosen, the plan of it, and that of the model without training."""
    settings = make_settings("host", train=train, train_data=data(graph))
    planned = partial(line._planned, graph, "network", lambda _: None)
    chosen = settled(graph, settings, planned, partial(line._least_cost, graph))
    return chosen, planned(chosen), planned(make_settings("host"))


def saved(plan: Plan) -> int:
    return sum(s.initial.nbytes for s in plan.graph.states if s.role is StateRole.LEARNED)


def test_budgets_are_kept() -> None:
    chosen, plan, alone = plans(network(), "auto:RAM=1K,FLASH=200,rate=0.02")
    assert 0 < plan.ram - alone.ram <= 1 << 10 and 0 < saved(plan) <= 200
    assert str(chosen.train).endswith(":rate=0.02") and "auto" not in str(chosen.train)


@pytest.mark.slow
def test_more_learns_within_more() -> None:
    graph = network()
    large = plans(graph, "auto:RAM=16K")[1]
    settings, small, alone = plans(graph, "auto:FLASH=100")
    assert saved(small) <= 100 < saved(large)
    limit = round(2.5 * estimate(settings.costs, alone))
    chosen, within, _ = plans(graph, f"auto:CYCLES={limit}")
    assert estimate(chosen.costs, within) <= limit


def test_what_is_too_slow_in_any_plan_is_not_planned() -> None:
    """The same is chosen as where everything is planned, of fewer plans."""
    graph, made = network(), dict[bool, list[Settings]]()
    settings = make_settings("cortex-m4", train="auto:RAM=16K", train_data=data(graph))
    chosen = []
    for bounded in (False, True):
        tried = made.setdefault(bounded, [])

        def planned(one: Settings, tried: list[Settings] = tried) -> Plan:
            tried.append(one)
            return line._planned(graph, "network", lambda _: None, one)

        chosen.append(settled(graph, settings, planned, partial(line._least_cost, graph) if bounded else lambda _: 0.0))
    assert chosen[0] == chosen[1] and 0 < len(made[True]) < len(made[False])


@pytest.mark.parametrize("optimize", ["balanced", "speed", "size"])
def test_no_plan_costs_less_than_the_bound(optimize: str) -> None:
    """Whatever memory it may take, also of a model that learns, whose step is a body; nor is the bound far below."""
    graph = network()
    for train in (None, "last", "biases"):
        own = {} if train is None else {"train": train, "train_data": data(graph)}
        for ram in ({}, {"ram": "min"}, {"ram": 3000}):
            settings = make_settings("cortex-m4", optimize=optimize, **own, **ram)
            cost = estimate(settings.costs, line._planned(graph, "network", lambda _: None, settings))
            bound = line._least_cost(graph, settings)
            assert bound <= cost and (ram or optimize != "speed" or cost < 1.2 * bound)


def test_budgets_that_allow_nothing() -> None:
    graph = network()
    with pytest.raises(BudgetError) as caught:
        plans(graph, "auto:CYCLES=1")
    assert "within the budgets" in caught.value.reason
    with pytest.raises(MoteError) as missing:
        settled(graph, make_settings("host", train="auto:RAM=3K"), pytest.fail, pytest.fail)
    assert "--train-data" in missing.value.remedy


def test_layers_that_gradients_do_not_come_to_are_left_out() -> None:
    net = Net(5)
    x = net.op("ABS", [net.conv(net.input(1, 6, 6, 3), 4)])
    graph = tflite.parse(net.finish(net.fully_connected(net.mean(net.conv(x, 4)), CLASSES)), "network")
    assert [op.kind for op in reached(graph, CROSS_ENTROPY)] == ["CONV_2D", "MEAN", "FULLY_CONNECTED"]


def test_layers_behind_a_gate_learn() -> None:
    """Gradients do not come through what a gate repeats."""
    net = Net(5)
    x = net.conv(net.input(1, 6, 6, 3), 4)
    pooled = net.op("MEAN", [x, net.ints(1, 2)], (1, 1, 1, 4), keep_dims=True)
    gate = net.op("LOGISTIC", [net.conv(pooled, 4, 1)], quant=(1 / 256, -128))
    x = net.conv(net.op("MUL", [x, gate], net.shapes[x]), 4)
    graph = tflite.parse(net.finish(net.fully_connected(net.mean(x), CLASSES)), "network")
    assert [op.kind for op in reached(graph, CROSS_ENTROPY)] == ["CONV_2D", "MEAN", "FULLY_CONNECTED"]
    chosen, _, _ = plans(graph, "auto:RAM=1K")
    assert str(chosen.train) == "5[weights],5[bias],7[weights],7[bias]"


def test_gradients_of_int8_layers_come_through_a_softmax_of_floats() -> None:
    net = Net(5)
    logits = net.fully_connected(net.mean(net.conv(net.input(1, 6, 6, 3), 4)), CLASSES)
    graph = tflite.parse(
        net.finish(net.op("SOFTMAX", [net.op("DEQUANTIZE", [logits], quant=FLOAT)], quant=FLOAT)), "network"
    )
    assert [op.kind for op in reached(graph, CROSS_ENTROPY)] == ["CONV_2D", "MEAN", "FULLY_CONNECTED"]


def test_gains_are_of_gradients_that_samples_agree_on() -> None:
    """Labels that say the same of every image move the last bias; those that have nothing to do with it do not."""
    graph, rng = network(), np.random.default_rng(0)
    given = samples(graph, 10 * CLASSES)
    last = max(constants(graph) & {op.inputs[2] for op in graph.ops if op.weights}, key=lambda i: _place(graph, i))

    def gained(labels: Sequence[int]) -> float:
        labelled = Samples(given.inputs, [np.array([label], np.int32) for label in labels])
        return gain(sample_gradients(graph, {last}, CROSS_ENTROPY, labelled)[last].products())

    assert gained([0] * len(given)) > 0.3
    assert abs(gained(rng.permutation(len(given)) % CLASSES)) < 0.1
    with pytest.raises(MoteError) as caught:
        sample_gradients(graph, {last}, CROSS_ENTROPY, Samples(given.inputs[:3], given.labels[:3]))
    assert "3 samples" in caught.value.reason


def test_folded_gradients_have_the_same_products() -> None:
    graph = network()
    weights = {op.inputs[1] for op in graph.ops if op.weights}
    made = sample_gradients(graph, weights, CROSS_ENTROPY, samples(graph, 40))
    whole = float_gradients(graph, weights, CROSS_ENTROPY, samples(graph, 40), integer_loss(graph, CROSS_ENTROPY))
    exact = [np.concatenate([g[i].reshape(-1) for i in sorted(weights)]) for _, g in whole]
    products = sum(made[i].products() for i in weights)
    assert np.corrcoef(products.reshape(-1), (np.array(exact) @ np.array(exact).T).reshape(-1))[0, 1] > 0.98


def test_what_needs_a_rate_of_its_own_gains_less_together() -> None:
    """One learning rate serves all: large gradients that differ from sample to sample take it from the others."""
    rng = np.random.default_rng(0)
    good, wild = 1 + rng.normal(size=(64, 8)), 100 * (0.1 + rng.normal(size=(64, 8)))
    alone, both = gain(good @ good.T), gain(good @ good.T + wild @ wild.T)
    assert 0.3 < alone <= 0.5 and both < alone / 2
    assert gain(np.zeros((8, 8))) == 0.0


def _place(graph: Graph, constant: int) -> int:
    return graph.places[id(graph.consumers[constant][0])]
