"""MEAN against LiteRT, on random shapes, axes and quantizations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.frontends.tflite.writer import Writer
from tests.helpers.support import batch, check, examples, needs_litert

pytestmark = needs_litert
Config = dict[str, Any]


@st.composite
def configs(draw: st.DrawFn) -> Config:
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=6))
    usual = draw(st.sampled_from([True, False])) and len(shape) == 4
    axes = draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, max_size=len(shape)))
    same = draw(st.booleans())
    scales = draw(st.tuples(*[st.floats(0.004, 0.2)] * 2))
    zeros = draw(st.tuples(*[st.integers(-128, 127)] * 2))
    return {
        "dtype": draw(st.sampled_from(["int8", "int8", "int8", "float32"])),
        "shape": shape,
        "axes": draw(st.sampled_from([[1, 2], [2, 1]])) if usual else axes,
        "keep_dims": draw(st.booleans()),
        "scales": (scales[0], scales[0] if same else scales[1]),
        "zeros": (zeros[0], zeros[0] if same else zeros[1]),
    }


def model(layers: list[Config]) -> bytes:
    w = Writer("means")
    for i, c in enumerate(layers):
        quant = [{}, {}]
        if c["dtype"] == "int8":
            quant = [{"scale": s, "zero_point": z} for s, z in zip(c["scales"], c["zeros"], strict=True)]
        x = w.input(f"x{i}", c["shape"], c["dtype"], **quant[0])
        axes = tuple({a % len(c["shape"]) for a in c["axes"]})
        shape = np.zeros(c["shape"]).mean(axis=axes, keepdims=c["keep_dims"]).shape
        y = w.tensor(f"y{i}", shape, c["dtype"], **quant[1])
        w.op("MEAN", [x, w.const(f"axes{i}", np.int32(c["axes"]))], [y], keep_dims=c["keep_dims"])
        w.output(y)
    return w.finish()


@given(batch(configs(), 24, 12))
@settings(max_examples=examples(7, 1), deadline=None)
def test_mean(layers: list[Config]) -> None:
    check(model(layers))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("keep_dims", [True, False])
@pytest.mark.parametrize("shape", [(1, 7, 7, 64), (2, 25, 5, 13), (1, 40, 40, 4)])
def test_global_average(shape: tuple[int, ...], keep_dims: bool) -> None:
    """The usual use, in sizes that overflow 16-bit sums."""
    layer = {"dtype": "int8", "shape": shape, "axes": [1, 2], "keep_dims": keep_dims}
    outputs = ((0.05, -128), (0.01, 17))
    check(model([layer | {"scales": (0.05, s), "zeros": (-128, z)} for s, z in outputs]), inputs=6)
