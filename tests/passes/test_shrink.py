"""Shrinking removes what cannot matter and nothing else: every output, and every channel that is left of every tensor,
has the value that it had before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.execute.stimuli import stimuli
from mote.frontends import tflite
from mote.graph import Graph
from mote.passes import shrink
from mote.passes.compose_requantization import COMPOSED
from mote.passes.fold_by_range import CLAMP, CONSTANT, IDENTITY
from mote.passes.merge_channels import COPIES
from mote.passes.report import Removal
from mote.passes.shrink_channels import SETTLED, SILENT, UNREAD
from mote.passes.trim_kernels import TRIMMED
from tests.helpers.network import FLOAT, SCALE, Net
from tests.helpers.shrinkable import BY_CHANNEL, LARGE, channel_model, example, random_model
from tests.helpers.support import check, examples, needs_litert


def unchanged(before: Graph, after: Graph, inputs: int = 8) -> None:
    after.verify()
    assert [before.tensors[t].shape for t in before.outputs] == [after.tensors[t].shape for t in after.outputs]
    for case in stimuli(before, inputs):
        want, got = before.evaluate(case), after.evaluate(case)
        for t, value in got.items():
            np.testing.assert_array_equal(value, after.tensors[t].part(want[t]), err_msg=str(after.producers.get(t)))


def shrunk(model: bytes) -> tuple[Graph, list[Removal]]:
    before = tflite.parse(model, "model")
    after, removals = shrink.run(before)
    unchanged(before, after)
    return after, removals


def channels(graph: Graph) -> list[int]:
    """Of each operator's output."""
    return [op.output(graph).channels for op in graph.ops]


@settings(max_examples=examples(80, 12), deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_random_models_keep_every_value(seed: int) -> None:
    shrunk(random_model(seed))


@settings(max_examples=examples(40, 10), deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_values_stay_within_their_ranges(seed: int) -> None:
    graph = tflite.parse(random_model(seed), "model")
    for case in stimuli(graph, 8):
        for t, value in graph.evaluate(case).items():
            found, rows = graph.ranges[t], value.reshape(-1, value.shape[-1])
            assert (rows >= found.low).all() and (rows <= found.high).all(), graph.producers.get(t)


@needs_litert
@pytest.mark.parametrize("seed", range(6))
def test_generated_code_of_random_models(seed: int) -> None:
    check(random_model(1000 + seed), target="host")


def test_channels_without_readers_go_up_to_where_they_are_made() -> None:
    """From the layer that has no weights for them through the depthwise one to the first."""
    net = Net()
    last = net.weights(3, 1, 1, 8)
    last[..., [1, 2, 4, 7]] = 0
    x = net.depthwise(net.conv(net.input(1, 5, 5, 2), 8, 1))
    after, removals = shrunk(net.finish(net.conv(x, last)))
    assert channels(after) == [4, 4, 3]
    assert removals == [Removal(0, UNREAD, 4), Removal(1, UNREAD, 4)]
    assert after.tensors[after.ops[0].outputs[0]].kept == (0, 3, 5, 6)


def test_constants_go_into_the_bias() -> None:
    """One channel has no weights, another a bias that saturates; both are the same everywhere."""
    net = Net()
    first = net.weights(8, 3, 3, 2)
    first[[2, 3]] = 0
    bias = net.rng.integers(-500, 500, 8)
    bias[[5, 6]] = LARGE, -LARGE
    x = net.conv(net.input(1, 5, 5, 2), first, bias=bias)
    after, removals = shrunk(net.finish(net.conv(x, 3, 1)))
    assert channels(after) == [4, 3]
    assert removals == [Removal(0, SILENT, 2), Removal(0, SETTLED, 2)]


@pytest.mark.parametrize(("constant", "left"), [(LARGE, 8), (-LARGE, 4)])
def test_padding_keeps_constants_other_than_the_zero_point(constant: int, left: int) -> None:
    """At the border a window holds some of them only."""
    net = Net()
    bias = net.rng.integers(-500, 500, 8)
    bias[:4] = constant
    x = net.conv(net.input(1, 5, 5, 2), 8, 1, bias, quant=(SCALE, -128))
    after, _ = shrunk(net.finish(net.conv(x, net.weights(3, 3, 3, 8) // np.int8(2))))
    assert channels(after) == [left, 3]


def test_a_channel_stays_for_the_sake_of_its_neighbour() -> None:
    """Its first summand is constant, its second one is not."""
    net = Net()
    x = net.input(1, 4, 4, 3)
    first = net.weights(4, 1, 1, 3)
    first[1:] = 0
    y = net.add(net.conv(x, first), net.conv(x, 4, 1))
    after, removals = shrunk(net.finish(net.conv(y, 2, 1)))
    assert channels(after) == [4, 4, 4, 2] and not removals


def test_inputs_and_outputs_stay_whole() -> None:
    net = Net()
    first, last = net.weights(8, 1, 1, 4), net.weights(4, 1, 1, 8)
    first[..., 0] = 0
    last[..., 4:] = 0
    x = net.conv(net.input(1, 3, 3, 4), first)
    after, removals = shrunk(net.finish(net.conv(x, last), x))
    assert channels(after) == [8, 4] and not removals


def test_four_channels_at_a_time() -> None:
    """Of eleven that nobody reads three stay: convolutions read four at once."""
    net = Net()
    last = net.weights(2, 1, 1, 16)
    last[..., 5:] = 0
    x = net.conv(net.input(1, 3, 3, 2), 16, 1)
    after, removals = shrunk(net.finish(net.conv(x, last)))
    assert channels(after) == [8, 2] and removals == [Removal(0, UNREAD, 8)]


def test_copies_are_merged_where_their_weights_can_be_added() -> None:
    net = Net()
    first, last = net.weights(8, 1, 1, 2), net.weights(3, 1, 1, 8) // np.int8(4)
    first[4:] = first[:4]
    bias = np.tile(net.rng.integers(-500, 500, 4), 2)
    x = net.input(1, 3, 3, 2)
    x = net.op("CONV_2D", [x, *net.constants(x, first, bias, None)], (1, 3, 3, 8), padding="VALID")
    after, removals = shrunk(net.finish(net.conv(x, last)))
    assert channels(after) == [4, 3] and removals == [Removal(0, COPIES, 4)]
    whole = after.ops[1].input(after, 1).data
    np.testing.assert_array_equal(whole, last[..., :4] + last[..., 4:])


@pytest.mark.parametrize("kind", ["conv", "depthwise"])
def test_edges_of_kernels_without_weights(kind: str) -> None:
    """The first row and the last two columns, as far as the padding goes."""
    net = Net()
    weights = net.weights(2, 3, 5, 2) if kind == "conv" else net.weights(1, 3, 5, 2)
    weights[:, 0] = 0
    weights[:, :, 3:] = 0
    x = net.input(1, 6, 7, 2)
    y = net.conv(x, weights) if kind == "conv" else net.depthwise(x, weights)
    after, removals = shrunk(net.finish(y))
    (op,) = after.ops
    assert (str(op.vertical), str(op.horizontal)) == ("2 pad 0+1", "3 pad 2+0")
    assert removals == [Removal(0, TRIMMED, 3)]


def test_taps_that_never_lie_inside_the_image() -> None:
    net = Net()
    after, removals = shrunk(net.finish(net.conv(net.input(1, 1, 8, 2), 2)))
    assert str(after.ops[0].vertical) == "1" and removals == [Removal(0, TRIMMED, 2)]


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


@pytest.mark.parametrize(("scale", "zero", "composed"), [(SCALE, 9, True), (0.043, 9, False)])
def test_requantizations_that_compose(scale: float, zero: int, composed: bool) -> None:
    """Another zero point only moves results that do not saturate; another scale rounds them a second time."""
    net = Net()
    x = net.conv(net.input(1, 3, 3, 2), net.weights(4, 1, 1, 2) // np.int8(16), quant=(SCALE, 0))
    y = net.op("QUANTIZE", [x], quant=(scale, zero))
    _, removals = shrunk(net.finish(net.pool(y, 3)))
    assert removals == ([Removal(1, COMPOSED, 1)] if composed else [])


@needs_litert
def test_the_generated_code_of_each_kind() -> None:
    compiled = check(example(), inputs=6)
    assert any(saving.name == "shrink" for saving in compiled.savings)
    assert not any(s.name == "shrink" for s in check(example(), inputs=2, shrink=False).savings)


@needs_litert
def test_generated_code_with_layers_that_became_constants() -> None:
    """One is joined to the input, one is added to it."""
    net = Net()
    x = net.input(1, 3, 3, 2)
    still = np.zeros((2, 1, 1, 2), np.int8)
    joined = net.concatenate(3, x, net.conv(x, still, quant=net.quants[x]))
    compiled = check(net.finish(joined, net.add(x, net.conv(x, still))), target="host")
    assert [op.kind for op in compiled.plan.graph.ops] == ["CONCATENATION", "ADD"]


def test_channels_stay_together_where_pixels_are_moved() -> None:
    """Nobody reads half of the channels behind operators that move pixels, so nobody computes them."""
    net = Net()
    last = net.weights(3, 1, 1, 8)
    last[..., [1, 2, 4, 7]] = 0
    x = net.conv(net.input(1, 4, 4, 2), 8, 1)
    x = net.moved("MIRROR_PAD", [x, net.ints((0, 0), (1, 1), (0, 0), (0, 0))], (1, 6, 4, 8), mode="REFLECT")
    x = net.moved("REVERSE_V2", [x, net.ints(1)])
    x = net.moved("SPACE_TO_BATCH_ND", [x, net.ints(2, 2), net.ints((0, 0), (0, 0))], (4, 3, 2, 8))
    x = net.moved("TILE", [x, net.ints(1, 1, 2, 1)], (4, 3, 4, 8))
    x = net.moved("BROADCAST_TO", [x, net.ints(2, 4, 3, 4, 8)], (2, 4, 3, 4, 8), version=2)
    after, _ = shrunk(net.finish(net.conv(net.reshape(x, 8, 3, 4, 8), last)))
    assert channels(after) == [4, 4, 4, 4, 4, 4, 4, 3]


@pytest.mark.parametrize("kind", BY_CHANNEL)
def test_operators_that_name_channels_by_position(kind: str) -> None:
    for seed in range(3):
        shrunk(channel_model(seed, kind))


@settings(max_examples=examples(25, 6), deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_random_operators_that_name_channels_by_position(seed: int) -> None:
    shrunk(channel_model(seed))


@needs_litert
def test_generated_code_of_operators_that_name_channels_by_position() -> None:
    compiled = check(channel_model(1, "unpack", "reshape", "pack"), target="host")
    assert any(saving.name == "shrink" for saving in compiled.savings)


def test_channels_that_become_pixels_stay() -> None:
    """PACK along a new last axis puts equal channels beside others: its own channels are not equal for that."""
    net = Net()
    weights = net.weights(4, 1, 1, 2)
    weights[1:] = weights[0]
    x = net.input(1, 1, 2, 2)
    parts = [
        net.op("CONV_2D", [x, *net.constants(x, weights, np.zeros(4), None)], (1, 1, 2, 4), (SCALE, 3)) for _ in "ab"
    ]
    packed = net.moved("PACK", parts, (1, 1, 2, 4, 2), values_count=2, axis=4)
    shrunk(net.finish(net.fully_connected(packed, net.weights(3, 2) // np.int8(4))))


def test_float_values_beside_removed_channels() -> None:
    """Operators that no removed channel comes from or goes to are left alone, whatever their type is."""
    net = Net()
    last = net.weights(3, 1, 1, 8)
    last[..., 4:] = 0
    x = net.input(1, 1, 5, 2)
    numbers = net.op("DEQUANTIZE", [net.reshape(x, 5, 2)], quant=FLOAT)
    part = net.op(
        "STRIDED_SLICE", [numbers, net.ints(0, 1), net.ints(5, 2), net.ints(1, 1)], (5,), FLOAT, shrink_axis_mask=2
    )
    after, removals = shrunk(net.finish(net.conv(net.conv(x, 8, 1), last), part))
    assert removals == [Removal(3, UNREAD, 4)]
    (sliced,) = (op for op in after.ops if op.kind == "SLICE")
    assert sliced.attributes()["size"] == (5, 1)
