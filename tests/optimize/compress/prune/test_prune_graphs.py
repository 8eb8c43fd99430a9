"""Channels, blocks and values of float graphs: what is removed is what was chosen, and the rest makes up for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.bench.execute import batch
from mote.compiler.passes.normal_form import normal
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.optimize.compress.prune import blocks, channels, clusters
from mote.optimize.compress.prune.groups import ChannelGroups, groups, without
from mote.optimize.compress.prune.importance import distances, sensitivities
from mote.optimize.compress.prune.layers import float_layers, grams, matrix, with_matrices
from mote.optimize.compress.prune.reconstruct import refitted
from mote.optimize.compress.prune.schedule import WORTHS, ClusterSchedule
from mote.optimize.compress.quantize.encode import weight_scales, weight_steps
from tests.helpers import float_nets
from tests.helpers.network import Net

TIED = ("conv", "pointwise", "depthwise", "residual", "gated", "joined", "padded", "average", "turned", "leaky")
"""Blocks whose channels are led on, tied to others, or mixed."""
Clustered = tuple[Graph, Sequence[float_nets.Case], ClusterSchedule]


def resnet(seed: int = 0, channels: int = 16) -> Graph:
    """Two residual blocks and a classifier over signals that are not all noise."""
    net = Net(seed, "float32")
    x = net.conv(net.input(1, 8, 8, 4), channels, 3, fused_activation_function="RELU")
    y = net.conv(net.conv(x, channels, 3, fused_activation_function="RELU"), channels, 3)
    x = net.op("RELU", [net.add(x, y)])
    x = net.depthwise(net.conv(x, 2 * channels, 1, fused_activation_function="RELU"), 1, 3)
    return normal(tflite.parse(net.finish(net.fully_connected(net.mean(x), 6)), "net"))


def macs(graph: Graph) -> dict[int, float]:
    return {op.outputs[0]: float(op.macs(graph)) for op in graph.ops}


def outputs(graph: Graph, cases: Sequence[float_nets.Case]) -> list[Array]:
    found = list(batch.evaluate(graph, cases, graph.outputs))
    return [np.concatenate([values[t] for values in found]) for t in graph.outputs]


def silenced(graph: Graph, found: ChannelGroups, gone: Collection[int]) -> Graph:
    """The same graph, in which nobody has weights for these groups."""
    changed = {}
    for op in float_layers(graph):
        own = matrix(graph, op)
        labels = np.append(found.labels.get(op.inputs[0], np.full(graph.tensors[op.inputs[0]].channels, -1)), -1)
        changed[op.outputs[0]] = np.where(np.isin(labels[own.owners], list(gone)), 0.0, own.weights)
    return with_matrices(graph, changed)


@settings(max_examples=40)
@given(st.lists(st.sampled_from(TIED), min_size=1, max_size=5), st.integers(0, 99), st.data())
def test_channels_that_nobody_has_weights_for_are_removed_without_a_trace(
    names: list[str], seed: int, data: st.DataObject
) -> None:
    graph = float_nets.graph(names, seed)
    found = groups(graph)
    gone = {
        g for family in found.families for g in data.draw(st.lists(st.sampled_from(family), max_size=len(family) - 1))
    }
    silent = silenced(graph, found, gone)
    small = without(silent, found, gone)
    cases = float_nets.cases(graph, 3, seed)
    for want, got in zip(outputs(silent, cases), outputs(small, cases), strict=True):
        assert np.allclose(want, got, rtol=1e-4, atol=1e-5)
    removed = {t: int(np.isin(own, list(gone)).sum()) for t, own in found.labels.items()}
    for t, tensor in small.tensors.items():
        if t in graph.tensors and tensor.data is None:
            assert tensor.channels == graph.tensors[t].channels - removed.get(t, 0)


def test_channels_of_a_sum_go_together() -> None:
    graph = resnet()
    families = groups(graph).families
    assert [len(family) for family in families] == [16, 16, 32]
    small = without(graph, groups(graph), families[0][:5])
    sums = next(op for op in small.ops if op.kind == "ADD")
    assert all(small.tensors[t].channels == 11 for t in (*sums.inputs, *sums.outputs))


def test_inputs_and_outputs_keep_their_channels() -> None:
    net = Net(0, "float32")
    graph = normal(tflite.parse(net.finish(net.fully_connected(net.input(1, 8), 4)), "net"))
    assert groups(graph).families == ()


def test_fewer_and_fewer_channels_lose_more_and_more_and_stay_fours() -> None:
    graph = resnet()
    cases = float_nets.cases(graph, 24)
    seen = grams(graph, cases)
    steps = channels.order(graph, groups(graph), seen, sensitivities(graph, seen, cases), macs(graph))
    assert [step.loss for step in steps] == sorted(step.loss for step in steps)
    for gone in channels.prefixes(steps):
        small = without(graph, groups(graph), gone)
        assert all(t.channels % 4 == 0 for t in small.tensors.values() if t.data is None and t.id not in small.outputs)
    assert sum(macs(small).values()) < 0.3 * sum(macs(graph).values())


def test_refitted_weights_are_nearer_than_those_that_are_left() -> None:
    graph = resnet()
    cases, others = float_nets.cases(graph, 48), float_nets.cases(graph, 16, 7)
    seen = grams(graph, cases)
    steps = channels.order(graph, groups(graph), seen, sensitivities(graph, seen, cases), macs(graph))
    gone = list(channels.prefixes(steps))[len(steps) // 3]
    plain = without(graph, groups(graph), gone)
    assert distances(graph, refitted(graph, plain, cases), others) < 0.5 * distances(graph, plain, others)


def test_the_order_follows_what_matters_and_not_how_large_weights_are() -> None:
    """A channel that is scaled down before a layer and up in its weights is as important as before."""
    graph = resnet()
    first = float_layers(graph)[1]
    weights = matrix(graph, first).weights
    weights[0] *= 1e-3
    readers = matrix(graph, float_layers(graph)[2])
    scaled = np.where(readers.owners == 0, 1e3, 1.0) * readers.weights
    other = with_matrices(graph, {first.outputs[0]: weights, float_layers(graph)[2].outputs[0]: scaled})
    orders = []
    for g in (graph, other):
        cases = float_nets.cases(g, 16)
        seen = grams(g, cases)
        found = groups(g)
        steps = channels.order(g, found, seen, sensitivities(g, seen, cases), macs(g))
        orders.append([sorted(step.groups) for step in steps if step.groups[0] in found.families[1]])
    assert len(orders[0]) == 3
    assert orders[0] == orders[1]


def test_blocks_are_zero_as_kernels_want_them_and_the_rest_makes_up_for_it() -> None:
    graph = resnet()
    cases, others = float_nets.cases(graph, 48), float_nets.cases(graph, 16, 7)
    seen, prices = grams(graph, cases), macs(graph)
    drops = blocks.order(graph, seen, sensitivities(graph, seen, cases), prices)
    kept = blocks.masks(graph, drops[: len(drops) // 2])
    assert 0.3 < blocks.price_left(prices, kept) / sum(prices.values()) < 0.75
    for op in float_layers(graph):
        if op.outputs[0] in kept and op.kind == "CONV_2D":
            mask = kept[op.outputs[0]][:, :-1]
            whole = mask.reshape(len(mask) // 2, 2, -1, 4)
            assert (whole.any(axis=(1, 3)) == whole.all(axis=(1, 3))).all()
    plain = with_matrices(graph, {y: matrix(graph, graph.producers[y]).weights * mask for y, mask in kept.items()})
    found = refitted(graph, plain, cases, kept)
    assert all((matrix(found, found.producers[y]).weights[~mask] == 0).all() for y, mask in kept.items())
    assert distances(graph, found, others) < 0.5 * distances(graph, plain, others)


@pytest.mark.parametrize("wide", (3, 4, 7))
def test_blocks_of_windows_are_those_of_the_kernels(wide: int) -> None:
    """Whole fours of each row of a window, then what is left of the rows, four by four."""
    net = Net(0, "float32")
    graph = normal(tflite.parse(net.finish(net.conv(net.input(1, 8, 8, wide), 8, 3)), "net"))
    tiles = blocks.tiling(graph, float_layers(graph)[0])
    lines = tiles.columns[:-1].reshape(3, 3 * wide)
    whole = 3 * wide // 4 * 4
    order = np.concatenate([lines[:, :whole].reshape(-1), lines[:, whole:].reshape(-1)])
    assert order.tolist() == [n // 4 for n in range(9 * wide)]


@pytest.fixture(scope="module")
def clustered() -> Clustered:
    """A network, cases that it was seen on, and the ways to cluster its weights."""
    graph = resnet(channels=8)
    cases = float_nets.cases(graph, 24)
    return graph, cases, ClusterSchedule.of(graph, cases, {})


def test_a_quantizer_finds_the_integers_of_clustered_weights_again(clustered: Clustered) -> None:
    graph, _, ways = clustered
    for number in (1, 12, 22):
        found, changes = ways.cut(number), ways.changes(number)
        assert len(changes) == len(float_layers(graph))
        for op, change in zip(float_layers(found), changes, strict=True):
            weights = op.input(found, 1).data
            assert weights is not None
            steps = weight_steps(weights, weight_scales(weights, 0, 127, None, 1.0), 0, 127)
            assert len(np.unique(steps)) == change.after <= change.before


def test_fewer_values_for_more_that_may_be_lost(clustered: Clustered) -> None:
    graph, cases, ways = clustered
    numbers = (3, 12, 21)
    values = [sum(change.after for change in ways.changes(n)) for n in numbers]
    lost = [distances(graph, ways.cut(n), cases) for n in numbers]
    assert values == sorted(values, reverse=True) and values[2] < 0.5 * values[0]
    assert min(lost[:2]) < lost[2]


def test_layers_make_up_for_the_rounding_of_those_before_them(clustered: Clustered) -> None:
    graph, cases, ways = clustered
    seen = grams(graph, cases)
    prices = clusters.prices(graph, seen, sensitivities(graph, seen, cases), WORTHS[11])
    alone = {
        op.outputs[0]: clusters.layer(matrix(graph, op).weights, seen[op.outputs[0]], prices[op.outputs[0]]).matrix
        for op in float_layers(graph)
    }
    assert distances(graph, ways.cut(12), cases) < distances(graph, with_matrices(graph, alone), cases)
