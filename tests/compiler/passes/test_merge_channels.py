"""Channels that always have equal values become one."""

from __future__ import annotations

import numpy as np

from mote.compiler.passes.shrinking.merge_channels import COPIES
from mote.compiler.passes.shrinking.report import Removal
from tests.compiler.passes.test_shrink import channels, shrunk
from tests.helpers.network import Net


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
