"""SOFTMAX against LiteRT, on random shapes and scales."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.numeric.fixedpoint import EXP_BITS
from tests.helpers.support import batch, check, exact_on, examples, needs_litert


@dataclass(frozen=True)
class Config:
    shape: tuple[int, ...] = (1, 10)
    dtype: str = "int8"
    scale: float = 0.1
    zero_point: int = 0
    beta: float = 1.0
    output: tuple[float, int] = (1 / 256, -128)


def configs() -> st.SearchStrategy[Config]:
    """Few classes, as models have; sometimes many. Scales from nearly flat to one winner only."""
    depth = st.integers(1, 20) | st.sampled_from([100, 256, 500])
    return st.builds(
        Config,
        shape=st.tuples(st.lists(st.integers(1, 3), max_size=3), depth).map(lambda s: (*s[0], s[1])),
        dtype=st.sampled_from(["int8", "int8", "int8", "float32"]),
        scale=st.floats(-9, 4).map(lambda e: float(np.float32(2.0**e))),
        zero_point=st.integers(-128, 127),
        beta=st.sampled_from([1.0, 1.0, 0.5, 3.0]),
    )


def model(*layers: Config) -> bytes:
    w = Writer("softmax")
    for i, c in enumerate(layers):
        quants = ((c.scale, c.zero_point), c.output)
        x_quant, y_quant = ({"scale": s, "zero_point": z} if c.dtype != "float32" else {} for s, z in quants)
        x = w.input(f"x{i}", c.shape, c.dtype, **x_quant)
        y = w.tensor(f"y{i}", c.shape, c.dtype, **y_quant)
        w.op("SOFTMAX", [x], [y], beta=c.beta)
        w.output(y)
    return w.finish()


@needs_litert
def test_exponentials_in_a_table() -> None:
    """Of large tensors, with scales from nearly flat to one winner only; not where flash counts more."""
    layers = [
        Config((8, 128), scale=2.0**e, zero_point=3 * e, beta=beta) for e in range(-9, 5, 2) for beta in (1.0, 3.0)
    ]
    compiled = check(model(*layers), inputs=3)
    assert {step.kernel.name for step in compiled.plan.steps} == {"softmax_table_s8"}
    small = compile(model(*layers), optimize="size")
    assert {step.kernel.name for step in small.plan.steps} == {"softmax_s8"}
    odd = [Config((n, depth), scale=0.07, zero_point=depth) for n, depth in ((300, 1), (70, 5), (20, 19), (9, 37))]
    for core in ("cortex-m4", "cortex-m55"):
        exact_on(core, model(*layers[::4], *odd), inputs=1)


@needs_litert
@given(batch(configs(), 25, 12))
@settings(max_examples=examples(6, 1), deadline=None)
def test_random_configurations(layers: list[Config]) -> None:
    check(model(*layers), inputs=6)


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("scale", [0.0146362, 0.0525284, 0.144693, 0.171854])
def test_scales_of_published_models(scale: float) -> None:
    """VWW, keywords, KWS and image classification of MLPerf Tiny, on more inputs."""
    check(model(*(Config((4, n), scale=scale) for n in (2, 10, 12))), inputs=40)


@needs_litert
def test_float_inputs_of_any_size() -> None:
    """A factor of 100 on inputs from -1 to 1: nothing overflows, one class takes all."""
    w = Writer("wide")
    x = w.input("x", (8, 5), "float32")
    z = w.tensor("z", (8, 5), "float32")
    y = w.tensor("y", (8, 5), "float32")
    w.op("MUL", [x, w.const("c", np.float32(100))], [z])
    w.op("SOFTMAX", [z], [y])
    w.output(y)
    check(w.finish(), inputs=6)


def test_factors_are_exponentials() -> None:
    for k, factor in EXP_BITS:
        assert abs(factor / 2**31 - np.exp(-(2.0**k))) < 2**-31


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config(dtype="int16"), "has the zero point -128, LiteRT wants 0"),
        (Config(dtype="int32"), "int32 input with int32 output is not supported"),
        (Config(output=(1 / 128, -128)), "LiteRT wants"),
        (Config(output=(1 / 256, 0)), "LiteRT wants"),
        (Config(beta=0.0), "beta 0 is too small"),
        (Config(shape=(1, 5000)), "more than 4095 classes"),
        (Config(shape=()), "a scalar has no axis"),
    ],
)
def test_unsupported(config: Config, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        tflite.parse(model(config), "model")
