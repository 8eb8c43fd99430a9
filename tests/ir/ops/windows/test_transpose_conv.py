"""TRANSPOSE_CONV against LiteRT, on random configurations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.helpers.network import Net
from tests.helpers.support import batch, check, examples, needs_litert

pytestmark = needs_litert
Config = dict[str, Any]


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """The output's size decides: the input's is what a convolution of it would give."""
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    kernel = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    least = kernel if padding == "VALID" else (1, 1)
    return {
        "dtype": draw(st.sampled_from(["int8", "int8", "int8", "float32"])),
        "batch": draw(st.sampled_from([1, 1, 2])),
        "size": [draw(st.integers(n, n + 8)) for n in least],
        "channels": (draw(st.integers(1, 9)), draw(st.integers(1, 9))),
        "kernel": kernel,
        "stride": draw(st.tuples(st.integers(1, 4), st.integers(1, 4))),
        "padding": padding,
        "activation": draw(st.sampled_from(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])),
        "per_channel": draw(st.booleans()),
        "bias": draw(st.booleans()),
        "gain": draw(st.sampled_from([0.02, 0.3, 1.0, 4.0])),
        "zeros": draw(st.tuples(st.integers(-128, 127), st.integers(-128, 127))),
        "seed": draw(st.integers(0, 1 << 30)),
    }


def positions(size: int, kernel: int, stride: int, padding: str) -> int:
    return -(-size // stride) if padding == "SAME" else (size - kernel) // stride + 1


def model(layers: list[Config]) -> bytes:
    w = Writer("transposed")
    for i, c in enumerate(layers):
        add_layer(w, i, c)
    return w.finish()


def add_layer(w: Writer, i: int, c: Config) -> None:
    rng = np.random.default_rng(c["seed"])
    inputs, outputs = c["channels"]
    axes = zip(c["size"], c["kernel"], c["stride"], strict=True)
    small = [positions(*axis, c["padding"]) for axis in axes]
    weights = (outputs, *c["kernel"], inputs)
    scale = rng.uniform(0.001, 0.02, outputs if c["per_channel"] else 1).astype(np.float32)
    scale_out = float(0.05 * scale.max() * 80 * (inputs * np.prod(c["kernel"])) ** 0.5 * c["gain"])
    if c["dtype"] != "float32":
        wide = c["dtype"] == "int16"
        biases = "int64" if wide and c["seed"] % 2 else "int32"
        zeros = (0, 0) if wide else c["zeros"]
        quant = [{"scale": s, "zero_point": z} for s, z in zip((0.05, scale_out), zeros, strict=True)]
        k = w.const(f"k{i}", rng.integers(-127, 128, weights).astype(np.int8), scale=scale, axis=0)
        bias = rng.integers(-2000, 2000, outputs).astype(biases)
        b = w.const(f"b{i}", bias, scale=scale * np.float32(0.05))
    else:
        quant, wide = [{}, {}], False
        k = w.const(f"k{i}", rng.normal(size=weights).astype(np.float32))
        b = w.const(f"b{i}", rng.normal(size=outputs).astype(np.float32))
    shape = w.const(f"shape{i}", np.int32([c["batch"], *c["size"], outputs]))
    x = w.input(f"x{i}", (c["batch"], *small, inputs), c["dtype"], **quant[0])
    y = w.tensor(f"y{i}", (c["batch"], *c["size"], outputs), c["dtype"], **quant[1])
    w.op(
        "TRANSPOSE_CONV",
        [shape, k, x, *([b] if c["bias"] else [])],
        [y],
        padding=c["padding"],
        stride_h=c["stride"][0],
        stride_w=c["stride"][1],
        fused_activation_function=c["activation"],
        version=4,
        **({"quantized_bias_type": biases} if wide and c["bias"] else {}),
    )
    w.output(y)


@given(batch(configs(), 24, 12))
@settings(max_examples=examples(5, 1), deadline=None)
def test_transpose_conv(layers: list[Config]) -> None:
    check(model(layers))


@given(batch(configs(), 24, 12))
@settings(max_examples=examples(3, 1), deadline=None)
def test_int16(layers: list[Config]) -> None:
    check(model([c | {"dtype": "int16"} for c in layers]))


def test_wrong_size() -> None:
    w = Writer("transposed")
    shape = w.const("shape", np.int32([1, 9, 8, 1]))
    k = w.const("k", np.zeros((1, 3, 3, 1), np.float32))
    x, y = w.input("x", (1, 4, 4, 1), "float32"), w.tensor("y", (1, 9, 8, 1), "float32")
    w.op("TRANSPOSE_CONV", [shape, k, x], [y], stride_h=2, stride_w=2)
    w.output(y)
    with pytest.raises(UnsupportedError, match=r"comes from images of \(5, 4\)"):
        tflite.parse(w.finish(), "model")


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_the_shape_is_an_input_and_in_the_file(dtype: str) -> None:
    """Then it is no input of the C: there is one shape that can be given."""
    net = Net(dtype=dtype)
    x, size = net.input(1, 3, 4, 2), net.writer.input("size", (4,), "int32")
    shape = (1, 6, 8, 3)
    operands = [size, *net.constants(x, net.weights(3, 3, 3, 2))]
    operands.insert(2, x)
    options = {"stride_h": 2, "stride_w": 2, "version": 3}
    compiled = compile(net.finish(net.op("TRANSPOSE_CONV", operands, shape, **options)))
    assert [compiled.source.tensors[t].name for t in compiled.source.inputs] != ["size"]
    assert len(compiled.source.inputs) == 1
    assert compiled.warnings[0] == "input 'size' is a constant, so that it is not an input of the compiled model"
    result = verify(compiled, 2, sanitize=True)
    assert result.exact and result.reference == "LiteRT BUILTIN_REF"
