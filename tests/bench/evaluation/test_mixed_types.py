"""Graphs that mix int8 and float32, with several inputs and outputs."""

from __future__ import annotations

from tests.helpers.network import FLOAT, Net
from tests.helpers.support import check, needs_litert

pytestmark = needs_litert


def mixed() -> bytes:
    """Two inputs, one float; int8 and float32 layers in turn; three outputs, one of them read again inside."""
    net = Net()
    a, b = net.input(1, 6, 5, 4), net.input(1, 6, 5, 4, quant=FLOAT)
    total = net.add(a, net.op("QUANTIZE", [b], quant=(0.02, 4)), (0.07, 1))
    curved = net.moved("TANH", [net.op("DEQUANTIZE", [total], quant=FLOAT)])
    back = net.op("QUANTIZE", [curved])
    return net.finish(net.flat(net.conv(back, 3, quant=(0.3, -7))), curved, total)


def test_mixed_types_and_several_edges() -> None:
    compiled = check(mixed(), inputs=8)
    header = compiled.project.files["model.h"]
    for name in ("model_input_0", "model_input_1", "model_output_0", "model_output_1", "model_output_2"):
        assert f"*{name}(void);" in header


def test_int8_edges_strip_only_the_edges() -> None:
    compiled = check(mixed(), inputs=4, io="int8")
    graph = compiled.plan.graph
    assert [graph.tensors[t].dtype for t in graph.inputs] == ["int8", "int8"]
    assert [graph.tensors[t].dtype for t in graph.outputs] == ["int8", "float32", "int8"]


def test_an_input_can_be_an_output() -> None:
    net = Net()
    x = net.input(1, 4)
    check(net.finish(net.moved("RELU", [x]), net.reshape(x, 4)))
