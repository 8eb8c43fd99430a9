"""What depends on constants only is computed at compile time."""

from __future__ import annotations

import numpy as np

from mote.compiler.passes.folding import fold_constants
from tests.compiler.passes.before_after import graph, kinds, unchanged
from tests.helpers.network import SCALE, Net


def test_fold_constants() -> None:
    net = Net()
    x, a = net.input(1, 4), net.writer.const("a", np.int8([[1, 2, 3, 4]]), SCALE)
    before = graph(net, net.add(x, net.op("ADD", [a, a], (1, 4))))
    after = fold_constants.run(before)
    assert after.text() == (
        "graph(%0: int8[1x4])\n  %3: int8[1x4] = ADD(%0, const int8[1x4]) {activation=NONE}\n  return %3"
    )
    unchanged(before, after)


def test_constant_outputs_stay_operators() -> None:
    net = Net()
    x, a = net.input(1, 4), net.writer.const("a", np.int8([[1, 2, 3, 4]]), SCALE)
    y = net.op("ADD", [a, a], (1, 4))
    before = graph(net, y, net.add(x, y))
    unchanged(before, fold_constants.run(before))
    assert kinds(fold_constants.run(before)) == ["ADD", "ADD"]
