"""LOG_SOFTMAX, L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION and SOFTMAX of 16 bits against LiteRT."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.ops.reductions.normalize import logarithm
from mote.ir.ops.reductions.softmax import EXP_LINES
from tests.helpers.network import FLOAT, Quant
from tests.helpers.support import batch, check, check_on, exact_on, examples, needs_litert

OUTPUTS: dict[tuple[str, str, str], Quant] = {
    ("SOFTMAX", "int8", "int16"): (1 / 65536, -32768),
    ("SOFTMAX", "int16", "int16"): (1 / 32768, 0),
    ("LOG_SOFTMAX", "int8", "int8"): (1 / 16, 127),
    ("LOG_SOFTMAX", "float32", "float32"): FLOAT,
    ("L2_NORMALIZATION", "int8", "int8"): (1 / 128, 0),
    ("L2_NORMALIZATION", "float32", "float32"): FLOAT,
    ("LOCAL_RESPONSE_NORMALIZATION", "float32", "float32"): FLOAT,
}
"""Kinds, types of inputs and outputs, and the quantization that LiteRT demands of outputs."""


@dataclass(frozen=True)
class Config:
    kind: str = "LOG_SOFTMAX"
    dtype: str = "int8"
    result: str = "int8"
    shape: tuple[int, ...] = (2, 10)
    input: Quant = (0.1, 0)
    output: Quant | None = None
    options: dict[str, object] = field(default_factory=dict)


@st.composite
def configs(draw: st.DrawFn) -> Config:
    kind, dtype, result = draw(st.sampled_from(list(OUTPUTS)))
    depth = draw(st.integers(1, 20) | st.sampled_from([100, 300]))
    shape = (*draw(st.lists(st.integers(1, 3), max_size=3)), depth)
    options: dict[str, object] = {}
    if kind == "SOFTMAX":
        options = {"beta": draw(st.sampled_from([1.0, 0.5, 3.0]))}
    if kind == "LOCAL_RESPONSE_NORMALIZATION":
        shape = (1, 2, 2, depth)
        options = {name: draw(st.floats(0.25, 1.5)) for name in ("bias", "alpha", "beta")}
        options["radius"] = draw(st.integers(0, 6))
    scale = 2.0 ** draw(st.floats(-16, 0) if dtype == "int16" else st.floats(-9, 4))
    quant = FLOAT if dtype == "float32" else (scale, draw(st.integers(-128, 127)) if dtype == "int8" else 0)
    return Config(kind, dtype, result, shape, quant, options=options)


def add(w: Writer, i: int, c: Config) -> None:
    """A layer with an input and an output of the model."""
    x = w.input(f"n{i}", c.shape, c.dtype, *(FLOAT if c.dtype == "float32" else c.input))
    quant = c.output or OUTPUTS.get((c.kind, c.dtype, c.result), (0.1, 0))
    y = w.tensor(f"m{i}", c.shape, c.result, *quant)
    w.op(c.kind, [x], [y], **c.options)
    w.output(y)


def model(*layers: Config) -> bytes:
    w = Writer("normalizations")
    for i, c in enumerate(layers):
        add(w, i, c)
    return w.finish()


@needs_litert
@given(batch(configs(), 40, 20))
@settings(max_examples=examples(3, 1), deadline=None)
def test_random_configurations(layers: list[Config]) -> None:
    check(model(*layers), inputs=6)


@needs_litert
def test_ends_of_the_types() -> None:
    """Vectors of zeros, of the least value and of one that is much larger than the others."""
    layers = [
        Config("L2_NORMALIZATION", shape=(3, 4)),
        Config(shape=(3, 4), input=(16.0, 0)),
        Config("SOFTMAX", "int8", "int16", (3, 4)),
        Config("SOFTMAX", "int16", "int16", (3, 4), (0.001, 0)),
    ]
    rows = np.array([[0] * 4, [-128] * 4, [127, -128, 0, 1]])
    check_on(model(*layers), [rows.astype(c.dtype) * (256 if c.dtype == "int16" else 1) for c in layers])


def test_logarithms() -> None:
    """Of all powers of two, and between them."""
    x = np.unique(np.exp2(np.linspace(19, 31, 5000)).astype(np.int64))[:-1]
    assert np.abs(logarithm(x) / 2**26 - np.log(x / 2**19)).max() < 1e-7
    assert logarithm(np.array([1 << 19]))[0] == 0
    assert EXP_LINES[-1] == 32767 and np.all(np.diff(EXP_LINES) >= 0)


def every(depth: int) -> list[Config]:
    """A layer of every kind and type."""
    shape = (1, 2, 2, depth)
    local = {"radius": 2, "bias": 1.0, "alpha": 0.5, "beta": 0.75}
    layers = [Config(*types, shape, (0.05, 0)) for types in OUTPUTS if types[0] != "LOCAL_RESPONSE_NORMALIZATION"]
    return [*layers, Config("LOCAL_RESPONSE_NORMALIZATION", "float32", "float32", shape, options=local)]


@pytest.mark.slow
@needs_litert
def test_on_a_core() -> None:
    exact_on("cortex-m4", model(*every(7)))


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config(output=(1 / 16, 0)), "LiteRT wants 0.0625"),
        (Config(shape=(1, 5000)), "more than 4095 classes"),
        (Config(shape=()), "a scalar has no axis"),
        (Config(dtype="int16", result="int16"), "int16 input is not supported"),
        (Config("L2_NORMALIZATION", output=(1 / 64, 0)), "LiteRT wants 0.0078125"),
        (Config("L2_NORMALIZATION", shape=(1, 40000)), "vectors of more than 33025 elements"),
        (Config("L2_NORMALIZATION", options={"fused_activation_function": "RELU"}), "activation RELU is not supported"),
        (Config("LOCAL_RESPONSE_NORMALIZATION", "float32", "float32"), "must have 4 axes"),
        (Config("LOCAL_RESPONSE_NORMALIZATION", shape=(1, 1, 1, 4)), "int8 input is not supported"),
        (Config("SOFTMAX", "int16", "int16", output=(1 / 256, 0)), "LiteRT wants 1/32768"),
        (Config("SOFTMAX", "int16", "int16", (1, 70000)), "more than 65535 classes"),
        (Config("SOFTMAX", "int16", "int8"), "int16 input with int8 output"),
    ],
)
def test_unsupported(config: Config, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        tflite.parse(model(config), "model")
