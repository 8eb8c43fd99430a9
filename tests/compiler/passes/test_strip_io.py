"""QUANTIZE and DEQUANTIZE at the edges are left to the caller."""

from __future__ import annotations

from mote.compiler.passes.rewriting import strip_io
from tests.compiler.passes.before_after import graph, kinds
from tests.helpers.network import FLOAT, Net


def test_strip_io() -> None:
    net = Net()
    x = net.moved("RELU", [net.op("QUANTIZE", [net.input(1, 8, quant=FLOAT)])])
    after = strip_io.run(graph(net, net.op("DEQUANTIZE", [x], quant=FLOAT))).verify()
    assert kinds(after) == ["RELU"]
    assert [after.tensors[t].dtype for t in (*after.inputs, *after.outputs)] == ["int8", "int8"]
