"""Functions of one tensor against LiteRT: int8 on all 256 inputs, float32 over a wide range; and PRELU."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from mote.ir.ops.elementwise.activations import LookupTable, Unary
from tests.helpers.offered import first
from tests.helpers.support import batch, check, check_numpy, examples, needs_litert

KINDS = ("LOGISTIC", "TANH", "RELU", "RELU6", "RELU_N1_TO_1", "LEAKY_RELU", "HARD_SWISH", "QUANTIZE")
FUNCTIONS = KINDS[:-1]
RAMP = 6
"""The sixth stimulus is a ramp: 256 int8 elements take every value."""

Quant = tuple[float, int]
PReluConfig = tuple[tuple[int, ...], tuple[int, ...], str, list[Quant], int]


@dataclass(frozen=True)
class Config:
    kind: str
    x: Quant = (0.05, 3)
    y: Quant = (0.04, -5)
    alpha: float = 0.2
    dtype: str = "int8"
    shape: tuple[int, ...] = (256,)


def scales() -> st.SearchStrategy[float]:
    wide = st.floats(-9, 1).map(lambda e: float(np.float32(2.0**e)))
    return wide | st.sampled_from([2.0**-k for k in range(9)])


def zero_points() -> st.SearchStrategy[int]:
    return st.sampled_from([-128, 0, 127]) | st.integers(-128, 127)


@st.composite
def configs(draw: st.DrawFn) -> Config:
    kind = draw(st.sampled_from(KINDS))
    x = (draw(scales()), draw(zero_points()))
    y = draw(st.just(x) | st.tuples(scales(), zero_points()))
    if kind == "LOGISTIC":
        y = (1 / 256, draw(st.just(-128) | zero_points()))
    if kind == "TANH":
        y = draw(st.sampled_from([(1 / 128, 0), y]))
    if kind == "HARD_SWISH":
        y = (max(y[0], float(np.float32(x[0] / 100))), y[1])
    return Config(kind, x, y, alpha=draw(st.sampled_from([0.01, 0.1, 0.3, 1.5, 0.0, -0.3])))


def model(*layers: Config) -> bytes:
    w = Writer("unary")
    for i, c in enumerate(layers):
        x_quant, y_quant = ({"scale": s, "zero_point": z} if c.dtype == "int8" else {} for s, z in (c.x, c.y))
        x = w.input(f"x{i}", c.shape, c.dtype, **x_quant)
        y = w.tensor(f"y{i}", c.shape, c.dtype, **y_quant)
        w.op(c.kind, [x], [y], **({"alpha": c.alpha} if c.kind == "LEAKY_RELU" else {}))
        w.output(y)
    return w.finish()


def graph(*layers: Config) -> Graph:
    return tflite.parse(model(*layers), "model")


@needs_litert
@given(batch(configs(), 32, 16))
@settings(max_examples=examples(20), deadline=None)
def test_tables(layers: list[Config]) -> None:
    check_numpy(graph(*layers), model(*layers), inputs=RAMP)


@needs_litert
@given(batch(configs(), 32, 16))
@settings(max_examples=examples(3, 1), deadline=None)
def test_tables_in_c(layers: list[Config]) -> None:
    check(model(*layers), inputs=RAMP)


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("factor", [1e-4, 0.1, 1.0, 9.0, 30.0])
def test_float32(factor: float) -> None:
    """Inputs from -1 to 1, multiplied by `factor`."""
    w = Writer("floats")
    for kind in FUNCTIONS:
        x = w.input(f"x_{kind}", (1001,), "float32")
        c = w.const(f"c_{kind}", np.float32(factor))
        z = w.tensor(f"z_{kind}", (1001,), "float32")
        y = w.tensor(f"y_{kind}", (1001,), "float32")
        w.op("MUL", [x, c], [z])
        w.op(kind, [z], [y], **({"alpha": -0.3} if kind == "LEAKY_RELU" else {}))
        w.output(y)
    check(w.finish(), inputs=RAMP)


@st.composite
def prelus(draw: st.DrawFn) -> PReluConfig:
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    some = tuple(n if draw(st.booleans()) else 1 for n in shape)
    alpha = draw(st.sampled_from([shape[-1:], (1,) * (len(shape) - 1) + shape[-1:], some, shape]))
    quants = draw(st.lists(st.tuples(scales(), zero_points()), min_size=3, max_size=3))
    return shape, alpha, draw(st.sampled_from(["int8", "int8", "float32"])), quants, draw(st.integers(0, 999))


def prelu_model(layers: list[PReluConfig]) -> bytes:
    w = Writer("prelu")
    for i, (shape, alpha, dtype, quants, seed) in enumerate(layers):
        a, b, c = ({"scale": s, "zero_point": z} if dtype == "int8" else {} for s, z in quants)
        values = np.random.default_rng(seed).uniform(-128, 128, alpha).astype(dtype)
        x = w.input(f"x{i}", shape, dtype, **a)
        y = w.tensor(f"y{i}", shape, dtype, **c)
        w.op("PRELU", [x, w.const(f"alpha{i}", values, **b)], [y])
        w.output(y)
    return w.finish()


@needs_litert
@given(batch(prelus(), 20, 10))
@settings(max_examples=examples(5, 1), deadline=None)
def test_prelu(layers: list[PReluConfig]) -> None:
    check(prelu_model(layers))


def test_a_table_stands_for_a_chain() -> None:
    """What a pass does: the table of the second operator, looked up in that of the first."""
    w = Writer("chain")
    x = w.input("x", (300,), "int8", 0.05, 3)
    y = w.tensor("y", (300,), "int8", 0.04, -5)
    z = w.tensor("z", (300,), "int8", 1 / 256, -128)
    w.op("LEAKY_RELU", [x], [y], alpha=0.3)
    w.op("LOGISTIC", [y], [z])
    w.output(z)
    g = tflite.parse(w.finish(), "model")
    inner, outer = g.ops
    assert isinstance(inner, Unary) and isinstance(outer, Unary)
    chain = outer.table(g)[inner.table(g).astype(int) + 128]
    fused = g.with_ops([LookupTable(inputs=(x,), outputs=(z,), name="chain", values=chain)]).verify()
    values = np.random.default_rng(0).integers(-128, 128, 300).astype(np.int8)
    assert np.array_equal(fused.evaluate({x: values})[z], g.evaluate({x: values})[z])
    kernel = first(fused)
    assert (kernel.name, kernel.entry.units, kernel.needs.in_place) == ("lut_s8", 300, (0,))
    assert "TABLE(%0)" in fused.text()


def test_identity() -> None:
    same = graph(Config("QUANTIZE", (0.05, 3), (0.05, 3)), Config("RELU", (0.05, -128), (0.05, -128)))
    assert [op.is_identity(same) for op in same.ops] == [True, True]
    other = graph(Config("QUANTIZE", (0.05, 3), (0.05, 4)), Config("RELU", (0.05, 0), (0.05, 0)))
    assert [op.is_identity(other) for op in other.ops] == [False, False]


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config("HARD_SWISH", dtype="int16"), "int16 input is not supported"),
        (Config("LOGISTIC", y=(0.01, -128)), "LiteRT wants 1/256"),
        (Config("HARD_SWISH", x=(1.0, 0), y=(0.001, 0)), "overflow LiteRT's 16 bits"),
    ],
)
def test_unsupported(config: Config, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        graph(config)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize(("scale", "alpha"), [(0.1, 3e38), (100.0, 3e38), (100.0, -3e38)])
def test_slopes_that_overflow_are_refused(dtype: str, scale: float, alpha: float) -> None:
    """What one scale, the slope and the other scale make together may be more than float32 holds."""
    w = Writer("steep")
    x, y = w.input("x", (1, 4), dtype, scale), w.tensor("y", (1, 4), dtype, 0.05)
    w.op("LEAKY_RELU", [x], [y], alpha=alpha)
    w.output(y)
    with warnings.catch_warnings(), pytest.raises(UnsupportedError, match="results would be multiplied by"):
        warnings.simplefilter("error")
        tflite.parse(w.finish(), "steep")
