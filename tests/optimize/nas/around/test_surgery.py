"""Surgery on float graphs: what is cut is what was chosen, and the rest computes what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.bench.execute import batch
from mote.compiler.passes.normal_form import normal
from mote.frontends import read, source_of, tflite
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.optimize.compress.prune.groups import groups, without
from mote.optimize.compress.prune.schedule import ChannelSchedule, macs_of
from mote.optimize.nas.around.blocks import RemovableBlock, removable_blocks, without_blocks
from mote.optimize.nas.around.kernels import kernel_sizes, with_kernels
from mote.optimize.nas.around.widths import families, narrowed, ranks, width_values
from tests.helpers import float_nets
from tests.helpers.network import Net

MODELS = Path(__file__).parents[4] / "models"
BLOCKS = ("conv", "pointwise", "depthwise", "residual", "gated", "joined", "average", "leaky")


def resnet(channels: int = 8) -> Graph:
    """A stem of 5x5, two residual blocks, a separable block between them and a classifier."""
    net = Net(0, "float32")
    x = net.conv(net.input(1, 8, 8, 3), channels, 5, fused_activation_function="RELU")
    for _ in range(2):
        y = net.conv(net.conv(x, channels, 3, fused_activation_function="RELU"), channels, 3)
        x = net.op("RELU", [net.add(x, y)])
        x = net.depthwise(x, 1, 5, fused_activation_function="RELU")
        x = net.conv(x, channels, 1, fused_activation_function="RELU")
    return normal(tflite.parse(net.finish(net.fully_connected(net.mean(x), 6)), "net"))


def outputs(graph: Graph, cases: Sequence[float_nets.Case]) -> list[Array]:
    parts = list(batch.evaluate(graph, cases, graph.outputs))
    return [np.concatenate([values[t] for values in parts]) for t in graph.outputs]


def silenced(graph: Graph, block: RemovableBlock) -> Graph:
    """The graph with zeros in the place of a residual block's branch."""
    op = graph.producers[block.end]
    branch = next(t for t in op.inputs if t != block.start)
    shape = graph.tensors[branch].shape
    zeros = Tensor(graph.fresh_id(), "zeros", shape, DType.FLOAT32, None, np.zeros(shape, np.float32))
    inputs = tuple(zeros.id if t == branch else t for t in op.inputs)
    return graph.with_ops([other.with_(inputs=inputs) if other is op else other for other in graph.ops], [zeros])


def test_blocks_are_residual_and_separable_ones() -> None:
    graph = resnet()
    blocks = removable_blocks(graph)
    assert [block.residual for block in blocks] == [True, False, True, False]
    assert [len(block.inner) for block in blocks] == [3, 2, 3, 2]
    assert without_blocks(graph, ()) is graph
    bare = without_blocks(graph, blocks)
    assert [op.kind for op in bare.ops] == ["CONV_2D", "MEAN", "FULLY_CONNECTED"]


@pytest.mark.parametrize("number", [0, 2])
def test_a_residual_block_that_is_left_out_adds_nothing(number: int) -> None:
    graph, cases = resnet(), float_nets.cases(resnet(), 4)
    block = removable_blocks(graph)[number]
    want, got = outputs(silenced(graph, block), cases), outputs(without_blocks(graph, [block]), cases)
    assert np.array_equal(want[0], got[0])
    assert not np.array_equal(got[0], outputs(graph, cases)[0])


@settings(max_examples=25)
@given(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=5), st.integers(0, 99), st.data())
def test_any_blocks_can_go(names: list[str], seed: int, data: st.DataObject) -> None:
    graph = float_nets.graph(names, seed)
    blocks = removable_blocks(graph)
    chosen = [block for block in blocks if data.draw(st.booleans())]
    small, cases = without_blocks(graph, chosen), float_nets.cases(graph, 3, seed)
    assert sum(macs_of(small).values()) <= sum(macs_of(graph).values())
    assert [small.tensors[t].shape for t in small.outputs] == [graph.tensors[t].shape for t in graph.outputs]
    expected = graph
    for block in chosen:
        if block.residual:
            expected = silenced(expected, block)
    got, want = outputs(small, cases), outputs(expected, cases)
    assert all(np.isfinite(y).all() for y in got)
    if all(block.residual for block in chosen):
        assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(got, want, strict=True))


def test_a_branch_that_others_read_stays() -> None:
    graph = resnet()
    block = removable_blocks(graph)[0]
    seen = replace(graph, outputs=(*graph.outputs, block.inner[0]))
    assert block.name not in [other.name for other in removable_blocks(seen)]


def test_kernels_are_cut_to_their_middle() -> None:
    graph, cases = resnet(), float_nets.cases(resnet(), 3)
    stem = graph.ops[0]
    assert kernel_sizes(graph, stem) == (3, 5)
    assert kernel_sizes(graph, graph.ops[1]) == ()
    small = with_kernels(graph, {stem.outputs[0]: 3})
    weights, own = (stem.input(graph, 1).data, small.ops[0].input(small, 1).data)
    assert weights is not None and own is not None
    assert np.array_equal(own, weights[:, 1:4, 1:4])
    hollow = np.zeros_like(weights)
    hollow[:, 1:4, 1:4] = own
    same = graph.with_ops(graph.ops, [replace(stem.input(graph, 1), data=hollow)])
    assert np.allclose(outputs(same, cases)[0], outputs(small, cases)[0], atol=1e-5)


@settings(max_examples=15)
@given(
    st.tuples(st.integers(1, 10), st.integers(1, 10)),
    st.integers(1, 3),
    st.sampled_from(["SAME", "VALID"]),
    st.booleans(),
)
def test_cut_kernels_compute_what_zeros_around_them_would(
    kernel: tuple[int, int], stride: int, padding: str, depthwise: bool
) -> None:
    net = Net(1, "float32")
    x = net.input(1, 13, 12, 4)
    y = (
        net.depthwise(x, 1, kernel, stride=stride, padding=padding)
        if depthwise
        else net.conv(x, 4, kernel, stride=stride, padding=padding)
    )
    graph = normal(tflite.parse(net.finish(y), "net"))
    op, cases = graph.ops[0], float_nets.cases(graph, 2)
    sizes = kernel_sizes(graph, op)
    assert not sizes or sizes[-1] == max(kernel)
    for size in sizes:
        small = with_kernels(graph, {op.outputs[0]: size})
        assert small.ops[0].input(small, 1).shape[1:3] == tuple(min(size, k) for k in kernel)
        assert small.tensors[op.outputs[0]].shape == graph.tensors[op.outputs[0]].shape
        own, whole = small.ops[0].input(small, 1).data, op.input(graph, 1)
        assert own is not None and whole.data is not None
        matches = []
        for down in range(kernel[0] - own.shape[1] + 1):
            for right in range(kernel[1] - own.shape[2] + 1):
                hollow = np.zeros_like(whole.data)
                part = (slice(None), slice(down, down + own.shape[1]), slice(right, right + own.shape[2]))
                hollow[part] = whole.data[part]
                same = graph.with_ops(graph.ops, [replace(whole, data=hollow)])
                matches.append(np.allclose(outputs(same, cases)[0], outputs(small, cases)[0], atol=1e-4))
        assert any(matches)


def test_all_channels_kept_is_the_same_graph() -> None:
    graph = resnet()
    assert narrowed(graph, {}, {}) is graph
    widths = {t: len(groups(graph).families[number]) for t, number in families(graph, groups(graph)).items()}
    assert narrowed(graph, widths, {}) is graph


@settings(max_examples=25)
@given(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=5), st.integers(0, 99), st.data())
def test_widths_are_those_that_were_chosen(names: list[str], seed: int, data: st.DataObject) -> None:
    graph = float_nets.graph(names, seed)
    grouping = groups(graph)
    own = {t: len(grouping.families[number]) for t, number in families(graph, grouping).items()}
    chosen = {t: data.draw(st.sampled_from(width_values(count))) for t, count in own.items()}
    small, cases = narrowed(graph, chosen, {}), float_nets.cases(graph, 3, seed)
    assert all(np.isfinite(y).all() for y in outputs(small, cases))
    left = groups(small)
    for t, count in chosen.items():
        first = set(np.unique(grouping.labels[t]).tolist())
        if len(first) == own[t]:
            assert small.tensors[t].channels * own[t] == graph.tensors[t].channels * count
    assert len(left.family) <= len(grouping.family)


def test_the_widths_of_a_pruning_schedule_give_what_it_cuts() -> None:
    graph = normal(read(source_of(MODELS / "digits_float.tflite")).graph())
    ways = ChannelSchedule.of(graph, float_nets.cases(graph, 8), macs_of(graph))
    importance = ranks(ways.groups, ways.steps)
    for number in (0, 3, len(ways) // 2, len(ways) - 1):
        cut = ways.cut(number)
        widths = {t: cut.tensors[t].channels for t in families(graph, ways.groups)}
        small = narrowed(graph, widths, importance)
        assert small.text() == cut.text()
        assert all(small.tensors[t].kept == cut.tensors[t].kept for t in cut.tensors)


def test_models_of_several_formats_are_cut() -> None:
    for name in ("digits_float.tflite", "digits.onnx", "keywords_float.tflite"):
        graph = normal(read(source_of(MODELS / name)).graph())
        cases = float_nets.cases(graph, 2)
        widths = {t: width_values(len(groups(graph).families[n]))[1] for t, n in families(graph, groups(graph)).items()}
        small = narrowed(without_blocks(graph, removable_blocks(graph)[1:]), widths, {})
        assert sum(macs_of(small).values()) < 0.3 * sum(macs_of(graph).values())
        assert all(np.isfinite(y).all() for y in outputs(small, cases))
        assert [small.tensors[t].shape for t in small.outputs] == [graph.tensors[t].shape for t in graph.outputs]
        assert all(t == ABSENT or t in small.tensors for op in small.ops for t in op.inputs)
        assert without(graph, groups(graph), ()).text() == graph.text()
