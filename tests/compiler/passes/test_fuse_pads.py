"""PAD becomes a part of the convolution that reads it."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compiler.passes.fusing import fuse_pads
from tests.compiler.passes.before_after import graph, kinds, unchanged
from tests.helpers.network import SCALE, Net


@pytest.mark.parametrize(("offset", "fused"), [(0, True), (8, False)])
def test_fuse_pads(offset: int, fused: bool) -> None:
    """Exact only where the padding holds the zero point."""
    net = Net()
    x = net.input(1, 5, 6, 2)
    zero = net.quants[x][1]
    number = net.writer.const("value", np.array(zero + offset, np.int8), SCALE, zero)
    padded = net.moved("PADV2", [x, net.ints((0, 0), (1, 2), (2, 1), (0, 0)), number], (1, 8, 9, 2))
    before = graph(net, net.conv(padded, 4, stride=2, padding="VALID"))
    after = fuse_pads.run(before)
    assert kinds(after) == kinds(before)[1 if fused else 0 :]
    unchanged(before, after)
