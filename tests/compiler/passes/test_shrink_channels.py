"""Channels that cannot matter are removed, with the weights that read them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.passes.shrinking.report import Removal
from mote.compiler.passes.shrinking.shrink_channels import SETTLED, SILENT, UNREAD
from tests.compiler.passes.test_shrink import channels, shrunk
from tests.helpers.network import FLOAT, SCALE, Net
from tests.helpers.shrinkable import BY_CHANNEL, LARGE, channel_model
from tests.helpers.support import check, examples, needs_litert


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


@pytest.mark.quick_cases(2)
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
