"""Operators that change nothing are removed, reshapes of reshapes collapse."""

from __future__ import annotations

from mote.compiler.passes.folding import remove_identities
from tests.compiler.passes.before_after import graph, unchanged
from tests.helpers.network import Net


def test_remove_identities_and_collapse_reshapes() -> None:
    net = Net()
    x = net.input(1, 2, 2, 2)
    flat = net.reshape(net.reshape(net.moved("QUANTIZE", [x]), 1, 4, 2), 1, 8)
    before = graph(net, net.add(flat, flat))
    after = remove_identities.run(before)
    assert after.text() == (
        "graph(%0: int8[1x2x2x2])\n"
        "  %5: int8[1x8] = RESHAPE(%0) {shape=(1, 8)}\n"
        "  %6: int8[1x8] = ADD(%5, %5) {activation=NONE}\n"
        "  return %6"
    )
    unchanged(before, after)
