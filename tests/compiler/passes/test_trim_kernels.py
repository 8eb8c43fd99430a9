"""Rows and columns of kernels that cannot matter are trimmed."""

from __future__ import annotations

import pytest

from mote.compiler.passes.shrinking.report import Removal
from mote.compiler.passes.shrinking.trim_kernels import TRIMMED
from tests.compiler.passes.test_shrink import shrunk
from tests.helpers.network import Net


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
