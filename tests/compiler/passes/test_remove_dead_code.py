"""Operators whose results nobody reads are removed."""

from __future__ import annotations

from mote.compiler.passes.folding import remove_dead_code
from tests.compiler.passes.before_after import graph, kinds, unchanged
from tests.helpers.network import Net


def test_remove_dead_code() -> None:
    net = Net(dtype="float32")
    x = net.input(1, 4)
    y = net.op("RELU", [x])
    net.op("RELU", [net.op("TANH", [x])])
    before = graph(net, y)
    after = remove_dead_code.run(before)
    assert kinds(after) == ["RELU"]
    unchanged(before, after)
