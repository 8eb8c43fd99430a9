"""Variants of kernels for cores without SIMD: every value of every knob computes what the reference does, on the host
and on the cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Refusal, View
from mote.frontends import tflite
from mote.ir.graph import Graph
from tests.compiler.kernels import test_variants
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.compiler.kernels.test_four_pixels import layer
from tests.compiler.kernels.test_lanes import WINDOWS
from tests.helpers.support import examples
from tests.ir.ops.windows import test_conv

FEW = settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
FEATURES = {"cortex-m0plus": frozenset({"armv6m", "mul32"}), "rv32imc": frozenset({"rv32m", "mul32"})}
PLACES = [(place, core) for core in FEATURES for place in ("host", core)]


def variants(configs: Sequence[test_conv.Config], core: str) -> list[Case]:
    """Every variant of the core's kernels for each layer that is none of defaults alone."""
    return variants_of([tflite.parse(test_conv.model([c]), "model") for c in configs], core)


def variants_of(graphs: Sequence[Graph], core: str) -> list[Case]:
    return [
        Case(g, g.ops[0], kernel, i)
        for i, g in enumerate(graphs)
        for kernel in catalogue.variants(View(g, (g.ops[0],)), FEATURES[core])
        if kernel.knobs
    ]


TILES = [
    layer((8, 8), 8, 4, kernel=(3, 3)), layer((5, 7), 16, 4, kernel=(3, 3), activation="NONE"),
    layer((9, 13), 4, 2, kernel=(3, 3), padding="VALID"), layer((2, 2), 12, 6, kernel=(3, 3), batch=2),
    layer((6, 6), 32, 4, kernel=(3, 3), weights="ends"),
]  # fmt: skip
VECTORS = [
    layer((1, 1), 30, 9, kind="FULLY_CONNECTED", per_channel=False, activation="NONE"),
    layer((3, 1), 64, 12, kind="FULLY_CONNECTED", per_channel=False),
    layer((1, 1), 129, 5, kind="FULLY_CONNECTED", per_channel=False, gain=0.0005),
    layer((2, 1), 16, 3, kind="FULLY_CONNECTED", per_channel=True, weights="ends"),
]
PIXELS = [
    layer((5, 5), 64, 6), layer((2, 12), 40, 4, activation="NONE"), layer((4, 3), 72, 3, weights="ends"),
    layer((9, 16), 3, 4, kernel=(3, 3), stride=(2, 2)), layer((9, 10), 1, 6, kernel=(10, 4), stride=(2, 2)),
    layer((5, 9), 4, 3, kernel=(3, 3), dilation=(2, 2)), layer((1, 9), 16, 10, batch=2),
]  # fmt: skip
SHAPES = [*TILES, *VECTORS, *WINDOWS, *PIXELS]


@pytest.mark.slow
@pytest.mark.parametrize(("place", "core"), PLACES)
def test_shapes(place: str, core: str) -> None:
    cases = variants(SHAPES, core)
    tiled = {case.seed for case in cases if ("tile", 4) in case.kernel.knobs}
    assert len(tiled) == len(TILES)
    check_cases(cases, Program(place))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("place", ["host", "rv32imc"])
def test_constant_channels_with_large_biases(place: str) -> None:
    """Nothing else than their biases keeps a layer from being computed two pixels in a word."""
    g = tflite.parse(test_conv.model([layer((3, 5), 8, 5)]), "model")
    bias = g.tensors[g.ops[0].inputs[2]]
    assert bias.data is not None
    data = np.where(np.arange(5) % 2, -(1 << 30), bias.data).astype(np.int32)
    g = replace(g, tensors={**g.tensors, bias.id: replace(bias, data=data)})
    refused = [
        r.why for k, r in catalogue.attempts(View(g, (g.ops[0],)), FEATURES["rv32imc"]) if isinstance(r, Refusal)
    ]
    assert "four times an accumulator might not fit 32 bits" in refused
    cases = variants_of([g], "rv32imc")
    assert "pointwise4x3_plain[biases=used]" in [case.kernel.variant for case in cases]
    check_cases(cases, Program(place))


@pytest.mark.slow
@pytest.mark.parametrize(("place", "core"), PLACES)
@given(st.lists(test_variants.layers(), min_size=6, max_size=6))
@FEW
def test_any_layer(place: str, core: str, configs: list[test_conv.Config]) -> None:
    check_cases(variants(configs, core), Program(place))


@pytest.mark.slow
@pytest.mark.parametrize("place", ["host", "cortex-m0plus"])
@given(st.lists(test_conv.configs("DEPTHWISE_CONV_2D"), min_size=6, max_size=6))
@FEW
def test_any_depthwise_layer(place: str, configs: list[test_conv.Config]) -> None:
    check_cases(variants([c for c in configs if c.dtype == "int8"], "cortex-m0plus"), Program(place))


@pytest.mark.slow
@pytest.mark.parametrize(("place", "core"), PLACES)
@given(st.lists(test_conv.configs("FULLY_CONNECTED"), min_size=6, max_size=6))
@FEW
def test_any_fully_connected_layer(place: str, core: str, configs: list[test_conv.Config]) -> None:
    check_cases(variants([replace(c, bias=True) for c in configs if c.dtype == "int8"], core), Program(place))
