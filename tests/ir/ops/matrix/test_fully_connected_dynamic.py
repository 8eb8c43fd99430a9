"""FULLY_CONNECTED with weights that are computed, int16, or have a zero point, against LiteRT."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.helpers.support import batch, check, exact_on, examples, needs_litert
from tests.ir.ops.matrix.test_batch_matmul import any_values

pytestmark = needs_litert
TYPES = (
    ("int8", "int8", "int32"),
    ("int8", "int8", "int32"),
    ("int16", "int8", "int64"),
    ("int16", "int8", "int32"),
    ("int16", "int16", "int64"),
    ("int16", "int16", "int32"),
    ("float32", "float32", "float32"),
)


@dataclass(frozen=True)
class Config:
    """One layer: types of input, weights and bias; the axes before the last one."""

    types: tuple[str, str, str] = TYPES[0]
    batch: tuple[int, ...] = (2,)
    depth: int = 5
    channels: int = 4
    keep_dims: bool = False
    constant: bool = False
    biased: bool = True
    activation: str = "NONE"
    zeros: tuple[int, int, int] = (3, -5, 7)
    gain: float = 1.0
    seed: int = 0


def configs() -> st.SearchStrategy[Config]:
    zeros = st.integers(-128, 127)
    return st.builds(
        Config,
        types=st.sampled_from(TYPES),
        batch=st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple),
        depth=st.integers(1, 30),
        channels=st.integers(1, 9),
        keep_dims=st.booleans(),
        constant=st.booleans(),
        biased=st.booleans(),
        activation=st.sampled_from(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"]),
        zeros=st.tuples(zeros, zeros, zeros),
        gain=st.sampled_from([0.02, 0.3, 1.0, 4.0]),
        seed=st.integers(0, 1 << 30),
    )


def add_layer(w: Writer, i: int, c: Config) -> None:
    rng = np.random.default_rng(c.seed)
    kind, weights, biases = c.types
    real, wide = kind == "float32", kind == "int16"
    zeros = (0, 0, 0) if wide else c.zeros
    shape = (*c.batch, c.depth)
    result = (*c.batch, c.channels) if c.keep_dims else (int(np.prod(c.batch)), c.channels)
    spread = {"int8": 70.0, "int16": 19000.0}.get(weights, 1.0)
    scales = (0.05, 0.01, float(0.05 * 0.01 * spread * c.depth**0.5 * c.gain))
    quants = [{} if real else {"scale": s, "zero_point": z} for s, z in zip(scales, zeros, strict=True)]
    x = w.input(f"x{i}", shape, kind, **quants[0])
    values = any_values(rng, weights, (c.channels, c.depth))
    constant = c.constant and (weights == "int16" or (weights == "int8" and zeros[1] != 0))
    k = w.const(f"k{i}", values, **quants[1]) if constant else w.input(f"k{i}", values.shape, weights, **quants[1])
    bias = rng.integers(-2000, 2000, c.channels).astype(biases)
    b = [w.const(f"b{i}", bias, **({} if real else {"scale": scales[0] * scales[1]}))] if c.biased else []
    y = w.tensor(f"y{i}", result, kind, **quants[2])
    options = {"quantized_bias_type": biases} if wide and c.biased else {}
    options |= {"keep_num_dims": c.keep_dims, "fused_activation_function": c.activation}
    w.op("FULLY_CONNECTED", [x, k, *b], [y], version=12, **options)
    w.output(y)


def model(*layers: Config) -> bytes:
    w = Writer("projections")
    for i, c in enumerate(layers):
        add_layer(w, i, c)
    return w.finish()


@given(batch(configs(), 16, 8))
@settings(max_examples=examples(3, 1), deadline=None)
def test_random_layers(layers: list[Config]) -> None:
    check(model(*layers))


@pytest.mark.slow
def test_on_cores() -> None:
    for core in ("cortex-m4", "rv32imc"):
        exact_on(core, model(*(Config(types, gain=0.3, depth=9) for types in TYPES)))


def test_constant_weights_run_by_rows() -> None:
    """int16 weights that are constants."""
    w = Writer("rows")
    rng = np.random.default_rng(1)
    x = w.input("x", (16, 3), "int16", scale=0.01)
    scales = (0.02, 80.0, 60.0)
    for i, (depth, channels) in enumerate([(3, 40), (40, 2)]):
        k = w.const(f"k{i}", any_values(rng, "int16", (channels, depth)), scale=0.01)
        y = w.tensor(f"y{i}", (16, channels), "int16", scale=scales[i + 1])
        w.op("FULLY_CONNECTED", [x, k], [y], version=12)
        x = y
    w.output(x)
    assert not any(step.whole for step in check(w.finish(), least_ram=True).plan.steps)


def test_sums_that_wrap() -> None:
    deep = Config(("int16", "int8", "int32"), depth=1_000, gain=20.0)
    assert check(model(deep)).plan.graph.sums_wrap


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (Config(("int8", "int16", "int32")), "int8 input with computed int16 weights"),
        (Config(("int8", "int8", "int64")), "a int64 bias is not supported with int8 input"),
        (Config(gain=1e-9), "leave 32 bits"),
        (Config(("int16", "int16", "int64"), gain=1e-8), r"multiplied by 2\^7 and more"),
    ],
)
def test_what_is_refused(config: Config, why: str) -> None:
    with pytest.raises(UnsupportedError, match=why):
        tflite.parse(model(config), "model")
