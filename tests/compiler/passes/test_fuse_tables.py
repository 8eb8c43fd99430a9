"""Chains of int8 functions become one table."""

from __future__ import annotations

from mote.compiler.passes.fusing import fuse_tables
from tests.compiler.passes.before_after import graph, kinds, unchanged
from tests.helpers.network import FLOAT, Net


def test_fuse_tables() -> None:
    net = Net()
    x = net.op("QUANTIZE", [net.input(1, 64)], quant=(0.03, 7))
    x = net.op("QUANTIZE", [net.op("DEQUANTIZE", [x], quant=FLOAT)], quant=(0.1, -20))
    before = graph(net, net.op("LOGISTIC", [x], quant=(1 / 256, -128)))
    after = fuse_tables.run(before)
    assert kinds(after) == ["TABLE"]
    unchanged(before, after)
