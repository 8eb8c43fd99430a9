"""A depthwise convolution of one channel becomes a convolution."""

from __future__ import annotations

import pytest

from mote.compiler.passes.rewriting import depthwise_to_convolutions
from tests.compiler.passes.before_after import becomes, graph, kinds
from tests.helpers.network import Net
from tests.helpers.support import check


def test_one_channel_with_a_multiplier() -> None:
    net = Net()
    before = graph(net, net.depthwise(net.input(1, 9, 8, 1), 8, (5, 4), stride=2))
    becomes(
        before,
        depthwise_to_convolutions.run(before),
        "%3: int8[1x5x4x8] = CONV_2D(%0, const int8[8x5x4x1], const int32[8]) {activation=NONE, rounding=twice}",
    )


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_results_are_those_of_litert(dtype: str) -> None:
    net = Net(3, dtype)
    x = net.input(1, 12, 10, 1)
    ys = [net.depthwise(x, 4, 3), net.depthwise(x, 1, (3, 5), padding="VALID"), net.depthwise(x, 6, 3, dilation=2)]
    check(net.finish(*ys))


def test_several_channels_stay() -> None:
    net = Net()
    before = graph(net, net.depthwise(net.input(1, 6, 6, 2), 2))
    assert kinds(depthwise_to_convolutions.run(before)) == ["DEPTHWISE_CONV_2D"]
