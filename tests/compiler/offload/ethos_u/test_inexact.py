"""Operators that stay on the core because Vela's stream computes them in another way: the functional model shows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mote.compiler.offload.ethos_u.inexact import difference
from mote.compiler.passes.pipeline import optimize
from mote.frontends import load
from mote.frontends.tflite.writer import Writer
from tests.hardware.npu.judged import judged


def resized(made: tuple[int, int], *, centres: bool = False) -> bytes:
    w = Writer("resized")
    x, y = w.input("x", (1, 2, 2, 3), "int8", 0.5, 4), w.tensor("y", (1, *made, 3), "int8", 0.5, 4)
    size = w.const("size", np.array(made, np.int32))
    options: dict[str, Any] = {"align_corners": False, "half_pixel_centers": centres}
    w.op("RESIZE_NEAREST_NEIGHBOR", [x, size], [y], version=3, **options)
    w.output(y)
    return w.finish()


def scaled_up(bias: int) -> bytes:
    """A convolution whose sums are multiplied by about 117."""
    w = Writer("scaled_up")
    x, y = w.input("x", (1, 3, 3, 1), "int8", 1.0, 0), w.tensor("y", (1, 3, 3, 2), "int8", 1.0, 0)
    weights = w.const("w", np.array([[[[1]]], [[[-1]]]], np.int8), [117.0, 117.0], [0, 0])
    constants = [weights, w.const("b", np.array([bias, -bias], np.int32), [117.0, 117.0], [0, 0])]
    strides: dict[str, Any] = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    w.op("CONV_2D", [x, *constants], [y], version=3, padding="VALID", fused_activation_function="NONE", **strides)
    w.output(y)
    return w.finish()


def unary(kind: str, dtype: str, x: tuple[float, int], y: tuple[float, int], **options: Any) -> bytes:
    w = Writer("unary")
    shape = (1, 16, 16, 64)
    given, made = w.input("x", shape, dtype, *x), w.tensor("y", shape, dtype, *y)
    w.op(kind, [given], [made], **options)
    w.output(made)
    return w.finish()


@pytest.mark.parametrize(
    ("data", "core", "differs"),
    [
        (unary("GELU", "int8", (0.5, 36), (0.25, 27), approximate=False), "ethos-u55-128", False),
        (unary("GELU", "int8", (1.0, 36), (2.0, 27), approximate=False), "ethos-u55-128", True),
        (unary("LEAKY_RELU", "int16", (0.0028, 0), (0.0014, 0), alpha=0.1768), "ethos-u55-32", False),
        (unary("LEAKY_RELU", "int16", (0.0028, 0), (0.0028, 0), alpha=0.1), "ethos-u55-32", False),
        (unary("LEAKY_RELU", "int16", (0.0028, 0), (0.0028, 0), alpha=0.1767398864030838), "ethos-u55-32", True),
        (resized((4, 6)), "ethos-u85-256", False),
        (resized((11, 9), centres=True), "ethos-u85-256", False),
        (resized((11, 9)), "ethos-u85-256", True),
        (scaled_up(1000), "ethos-u55-128", False),
        (scaled_up(1 << 25), "ethos-u55-128", True),
    ],
)
def test_differences_are_those_of_the_functional_model(data: bytes, core: str, differs: bool) -> None:
    graph, _ = optimize(load(data))
    assert bool(difference(graph, graph.ops[0])) == differs
    assert (judged(data, core).differing(2)[0] > 0) == differs
