"""AVERAGE_POOL_2D over whole images becomes MEAN."""

from __future__ import annotations

from mote.compiler.passes.rewriting import pools_to_means
from tests.compiler.passes.before_after import becomes, graph, kinds
from tests.helpers.network import Net


def test_the_average_of_an_image() -> None:
    net = Net(dtype="float32")
    before = graph(net, net.pool(net.input(1, 4, 4, 2), 4))
    line = "%1: float32[1x1x1x2] = MEAN(%0) {axes=(1, 2), keep_dims=True}"
    becomes(before, pools_to_means.run(before), line, exact=False)


def test_smaller_windows_stay() -> None:
    net = Net(dtype="float32")
    assert kinds(pools_to_means.run(graph(net, net.pool(net.input(1, 4, 4, 2), 2)))) == ["AVERAGE_POOL_2D"]
