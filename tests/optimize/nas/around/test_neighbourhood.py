"""Choices around a model: the empty one is the model, every other one a network that computes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from mote.ir.graph import Graph
from mote.optimize.compress.prune.blocks import prunable
from mote.optimize.compress.prune.schedule import ChannelSchedule, macs_of
from mote.optimize.compress.quantize.pipeline import Methods, prepared
from mote.optimize.compress.quantize.quantizer import integers
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from mote.optimize.nas.around.neighbourhood import Neighbourhood, numbered
from tests.helpers import float_nets
from tests.optimize.nas.around.test_surgery import outputs, resnet


@pytest.fixture(scope="module")
def graph() -> Graph:
    return resnet()


@pytest.fixture(scope="module")
def near(graph: Graph) -> Neighbourhood:
    return Neighbourhood.of(graph, float_nets.cases(graph, 8), macs_of(graph))


def test_every_layer_has_its_decisions(near: Neighbourhood) -> None:
    kinds = [decision.kind for decision in near.decisions.values()]
    assert {kind: kinds.count(kind) for kind in sorted(set(kinds))} == {
        "depth": 4,
        "kernel": 3,
        "precision": 10,
        "sparsity": 5,
        "width": 5,
    }
    assert all(decision.default == decision.values[-1] for decision in near.decisions.values())


def test_the_empty_choice_is_the_model(near: Neighbourhood, graph: Graph) -> None:
    assert near.graph_of({}) is graph
    assert near.layers_of({}) == {}
    assert near.described({}) == "as given"
    assert near.pruned(0) == {}
    same, layers = numbered(graph, {})
    assert same.text() == graph.text() and not layers


def test_the_smallest_choice_has_one_layer_left(near: Neighbourhood) -> None:
    small = near.graph_of(near.smallest())
    assert [op.kind for op in small.ops] == ["CONV_2D", "MEAN", "FULLY_CONNECTED"]
    assert small.ops[0].input(small, 1).shape == (4, 3, 3, 3)
    assert near.described(near.smallest()) == "4 of 8 channels, 0 of 4 blocks, a smaller kernel"


def test_steps_of_pruning_are_choices(near: Neighbourhood, graph: Graph) -> None:
    ways = ChannelSchedule.of(graph, float_nets.cases(graph, 8), macs_of(graph))
    for number in range(len(ways)):
        assert near.graph_of(near.pruned(number)).text() == ways.cut(number).text()


def test_any_choice_is_a_network_that_quantizes(near: Neighbourhood, graph: Graph) -> None:
    rng, cases = Random(1), float_nets.cases(graph, 3)
    seen = prepared(graph, cases, Methods(correct_biases=False, rounding="nearest"))
    parents = [near.random(rng) for _ in range(4)]
    choices = []
    for _ in range(30):
        child = near.mutated(near.crossed(rng.choice(parents), rng.choice(parents), rng), rng)
        parents.append(child)
        choices.append(child)
    assert len({str(choice) for choice in choices}) > 20
    for choice in choices:
        assert all(value != near.decisions[name].default for name, value in choice.items())
        small, layers = numbered(near.graph_of(choice), near.layers_of(choice))
        assert all(np.isfinite(y).all() for y in outputs(small, cases))
        made = integers(small, seen.ranges, Scheme(layers=layers), wide=seen.wide)
        assert [made.graph.tensors[t].shape for t in made.graph.outputs] == [(1, 6)]
        for index, precision in layers.items():
            assert made.precisions[index] is precision and precision in (Precision.INT4, Precision.INT16)
        assert not made.refused


def test_sparse_layers_have_as_many_zero_blocks_as_chosen(near: Neighbourhood, graph: Graph) -> None:
    rng = Random(2)
    for _ in range(5):
        choice = near.random(rng)
        dense = {name: value for name, value in choice.items() if near.decisions[name].kind != "sparsity"}
        own = near.graph_of(dense)
        chosen = {name: 0.5 for name, d in near.decisions.items() if d.kind == "sparsity" and d.tensor in own.tensors}
        thin = near.graph_of({**dense, **chosen})
        layers = {op.outputs[0]: op for op in prunable(own)}
        for op in thin.ops:
            before, after = (g.producers[op.outputs[0]].tensor(g, 1) for g in (own, thin))
            if op.outputs[0] not in layers:
                continue
            assert before is not None and after is not None and before.data is not None and after.data is not None
            zero = 1 - np.count_nonzero(after.data) / after.size
            assert 0.15 < zero < 0.75
            assert np.array_equal(after.data[after.data != 0], before.data[after.data != 0])
            mask = near.masks_of({**dense, **chosen}, thin)[op.outputs[0]]
            assert mask[:, -1].all() and mask[:, :-1].sum() == np.count_nonzero(after.data)


def test_decisions_about_what_is_left_out_are_forgotten(near: Neighbourhood) -> None:
    name, block = next(iter(near.blocks.items()))
    inside = [n for n, own in near.decisions.items() if own.tensor in block.inner and n != name]
    assert inside
    choice = {name: False, **{n: near.decisions[n].values[0] for n in inside}}
    assert near.crossed(choice, choice, Random(0)) == {name: False}


def test_choices_are_the_same_for_the_same_seed(near: Neighbourhood) -> None:
    choice = near.random(Random(5))
    assert choice == near.random(Random(5))
    for seed in range(20):
        assert near.mutated(choice, Random(seed)) == near.mutated(choice, Random(seed)) != choice
