"""Graphs that mix int8 and float32, with several inputs and outputs."""

from __future__ import annotations

import numpy as np

from support import check, needs_litert
from tflite_writer import Writer

pytestmark = needs_litert
Q = {"scale": 0.05, "zero_point": -3}


def mixed() -> bytes:
    """Two inputs, one float; int8 and float32 layers in turn; three outputs, one of them read again inside."""
    rng = np.random.default_rng(0)
    w = Writer("mixed")
    shape = (1, 6, 5, 4)
    a = w.input("a", shape, "int8", **Q)
    b = w.input("b", shape, "float32")
    qb = w.tensor("qb", shape, "int8", scale=0.02, zero_point=4)
    total = w.tensor("total", shape, "int8", scale=0.07, zero_point=1)
    real = w.tensor("real", shape, "float32")
    curved = w.tensor("curved", shape, "float32")
    back = w.tensor("back", shape, "int8", **Q)
    conv = w.tensor("conv", (1, 6, 5, 3), "int8", scale=0.3, zero_point=-7)
    flat = w.tensor("flat", (1, 90), "int8", scale=0.3, zero_point=-7)
    w.op("QUANTIZE", [b], [qb])
    w.op("ADD", [a, qb], [total])
    w.op("DEQUANTIZE", [total], [real])
    w.op("TANH", [real], [curved])
    w.op("QUANTIZE", [curved], [back])
    k = w.const("k", rng.integers(-127, 128, (3, 3, 3, 4)).astype(np.int8), scale=[0.01, 0.02, 0.03], axis=0)
    bias = w.const("bias", rng.integers(-99, 99, 3).astype(np.int32), scale=[0.0005, 0.001, 0.0015])
    w.op("CONV_2D", [back, k, bias], [conv], padding="SAME")
    w.op("RESHAPE", [conv, w.const("shape", np.array([1, 90], np.int32))], [flat])
    w.output(flat)
    w.output(curved)
    w.output(total)
    return w.finish()


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
    w = Writer("through")
    x = w.input("x", (1, 4), "int8", **Q)
    y = w.tensor("y", (1, 4), "int8", **Q)
    flat = w.tensor("flat", (4,), "int8", **Q)
    w.op("RELU", [x], [y])
    w.op("RESHAPE", [x, w.const("shape", np.array([4], np.int32))], [flat])
    w.output(y)
    w.output(flat)
    check(w.finish())
