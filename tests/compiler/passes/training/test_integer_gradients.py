"""Gradients of int8 layers with constant weights are layers: they compute what the gradient in float32 is."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compiler.passes.training.integer_gradients import IntegerTape, convolution, symmetric
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import WEIGHTS
from mote.ir.ops.elementwise.quantize import dequantized
from mote.ir.ops.training.window_gradients import ConvInputGradient
from tests.helpers.network import Net

LIKE = 0.9995
"""The least cosine of the angle between both gradients."""
SCALE = 0.02


@pytest.mark.parametrize(
    "size, kernel, stride, padding, kinds",
    [
        ((8, 6), 3, 1, "SAME", {"CONV_2D"}),
        ((7, 8), 3, 1, "VALID", {"CONV_2D"}),
        ((8, 6), 3, 2, "SAME", {"CONV_2D", "CONCATENATION", "DEPTH_TO_SPACE"}),
        ((8, 8), (4, 2), 2, "VALID", {"CONV_2D", "CONCATENATION", "DEPTH_TO_SPACE"}),
        ((8, 8), 2, 2, "VALID", {"CONV_2D", "CONCATENATION", "DEPTH_TO_SPACE"}),
        ((9, 6), 5, 3, "SAME", {"CONV_2D", "CONCATENATION", "DEPTH_TO_SPACE"}),
        ((8, 4), 1, 2, "SAME", {"CONV_2D", "PAD", "DEPTH_TO_SPACE"}),
        ((7, 9), 3, 2, "SAME", {"TRANSPOSE_CONV"}),
        ((8, 8), 3, (1, 2), "SAME", {"TRANSPOSE_CONV"}),
    ],
)
def test_windows_of_all_kinds(
    size: tuple[int, int], kernel: int | tuple[int, int], stride: int | tuple[int, int], padding: str, kinds: set[str]
) -> None:
    net = Net(1)
    x = net.input(1, *size, 5)
    weights = net.rng.integers(-127, 128, (6, *(kernel if isinstance(kernel, tuple) else (kernel, kernel)), 5))
    graph = tflite.parse(net.finish(net.conv(x, weights.astype(np.int8), stride=stride, padding=padding)), "layer")
    (op,) = graph.ops
    t = IntegerTape(graph, (), {op.inputs[0]: SCALE})
    given = t.tensor("gradient", op.output(graph).shape, op.output(graph).dtype, quant=symmetric(0.01))
    made = convolution(t, op, given, {0})[0]
    assert {o.kind for o in t.ops} == kinds
    step = Graph("step", t.tensors, tuple(t.ops), (given,), (made,)).verify()
    gradient = np.random.default_rng(2).integers(-127, 128, t.shape(given)).astype(np.int8)
    integers = dequantized(step.evaluate({given: gradient})[made], t.tensors[made])
    real = _real(graph, dequantized(gradient, t.tensors[given]))
    assert integers.shape == real.shape
    inside = np.abs(real) < 126 * SCALE
    a, b = integers[inside], real[inside]
    assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > LIKE


def _real(graph: Graph, gradient: Array) -> Array:
    (op,) = graph.ops
    weights = op.input(graph, WEIGHTS)
    assert weights.data is not None
    _, *size, _ = op.input(graph).shape
    rule = ConvInputGradient(
        inputs=(0, 1), outputs=(2,), name="", index=0, size=tuple(size), vertical=op.vertical, horizontal=op.horizontal
    )
    (made,) = rule.evaluate(graph, [gradient.astype(np.float32), dequantized(weights.data, weights)])
    return made
