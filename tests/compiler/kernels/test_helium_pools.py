"""Pools over 2x2 and 3x3 windows with vectors of channels, on an emulated Cortex-M55: windows inside of images and at
their edges, channels that fill vectors and some that do not; and the portable twins under the sanitizers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.frontends import tflite
from tests.helpers.offered import HELIUM, first
from tests.helpers.support import HOST_HELIUM, check, exact_on, examples, needs_litert
from tests.ir.ops.windows.test_pool import Config, model

CORE = "cortex-m55"
CHANNELS = {"int8": (16, 17, 31, 40), "int16": (1, 4, 7, 16, 19), "float32": (1, 3, 4, 10)}
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


@st.composite
def configs(draw: st.DrawFn) -> Config:
    dtype = draw(st.sampled_from(["int8", "int16", "float32"]))
    kernel = draw(st.sampled_from([2, 3]))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    least = kernel if padding == "VALID" else 1
    return {
        "kind": draw(st.sampled_from(["AVERAGE_POOL_2D", "MAX_POOL_2D"])),
        "dtype": dtype,
        "batch": draw(st.sampled_from([1, 1, 2])),
        "size": [draw(st.integers(least, least + 7)) for _ in range(2)],
        "channels": draw(st.sampled_from(CHANNELS[dtype])),
        "kernel": (kernel, kernel),
        "stride": (draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        "padding": padding,
        "activation": draw(st.sampled_from(ACTIVATIONS)),
        "scale": draw(st.sampled_from([0.02, 0.05, 0.3])),
        "zero_point": draw(st.integers(-128, 127)) if dtype == "int8" else 0,
    }


@needs_litert
@given(st.lists(configs(), min_size=24, max_size=24))
@settings(max_examples=examples(8, 2), deadline=None)
def test_random_pools(layers: list[Config]) -> None:
    exact_on(CORE, model(layers), 4)


@needs_litert
@given(st.lists(configs(), min_size=12, max_size=12))
@settings(max_examples=examples(3, 1), deadline=None)
def test_portable_twins(layers: list[Config]) -> None:
    check(model(layers), target=HOST_HELIUM)


@pytest.mark.parametrize("dtype", CHANNELS)
@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_small_windows_take_vectors(kind: str, dtype: str) -> None:
    usual = {"batch": 1, "size": [8, 8], "channels": 16, "padding": "SAME", "activation": "NONE", "scale": 0.05}
    layer = {**usual, "kind": kind, "dtype": dtype, "zero_point": 0, "kernel": (3, 3), "stride": (1, 1)}
    features = HELIUM | {"fpu", "fma"}
    assert "vectors" in first(tflite.parse(model([layer]), "model"), features).name
    assert "vectors" not in first(tflite.parse(model([{**layer, "kernel": (5, 5)}]), "model"), features).name
