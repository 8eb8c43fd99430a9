"""Convolutions whose weights have 4 bits and are expanded before they are used: on the host and on emulated cores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.frontends import tflite
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.compiler.kernels.test_four_pixels import layer
from tests.helpers.offered import DSP, PORTABLE, offered
from tests.helpers.support import examples
from tests.ir.ops.windows import test_conv

HELIUM = frozenset({"mve", "dsp"})
LAYERS = [
    layer((3, 8), 4, 12), layer((5, 5), 20, 34), layer((6, 8), 3, 10, kernel=(3, 3)),
    layer((5, 4), 8, 9, kernel=(3, 3), activation="NONE"), layer((4, 4), 2, 36, kernel=(2, 3), padding="VALID"),
]  # fmt: skip


def kernels(weights: str, features: frozenset[str]) -> list[Case]:
    graphs = [tflite.parse(test_conv.model([replace(c, weights=weights)]), "model") for c in LAYERS]
    return [
        Case(g, g.ops[0], kernel, i)
        for i, g in enumerate(graphs)
        for kernel in offered(g, g.ops[0], features)
        if kernel.name.startswith("nibbles_")
    ]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("core", "features"), [("host", PORTABLE), ("host", DSP), ("cortex-m4", DSP)])
def test_expanded_weights(core: str, features: frozenset[str]) -> None:
    cases = kernels("small", features)
    families = {case.kernel.family for case in cases}
    assert {"conv2d", "pointwise"} <= families
    assert features == PORTABLE or {"conv4x2_pair", "pointwise4x2_pair"} <= families
    assert {case.kernel.price.coding.passes for case in cases if case.kernel.price.coding} >= {2, 5}
    check_cases(cases, Program(core))


def connected(depth: int, outputs: int, **more: object) -> test_conv.Config:
    config = replace(layer((1, 1), depth, outputs), kind="FULLY_CONNECTED", per_channel=False, weights="small")
    return replace(config, **more)  # type: ignore[arg-type]


def vectors(features: frozenset[str], *configs: test_conv.Config) -> list[Case]:
    graphs = [tflite.parse(test_conv.model([c]), "model") for c in configs]
    return [
        Case(g, g.ops[0], kernel, i)
        for i, g in enumerate(graphs)
        for kernel in offered(g, g.ops[0], features)
        if kernel.name.startswith("fully_connected_nibbles")
    ]


VECTORS = (
    connected(32, 8), connected(40, 13, activation="NONE"), connected(7, 3), connected(64, 4, size=(3, 1)),
    connected(131, 22, zeros=(-128, 5), seed=4), connected(1, 1),
)  # fmt: skip


@pytest.mark.parametrize(
    ("core", "features"), [("host", DSP), ("host", HELIUM), ("cortex-m4", DSP), ("cortex-m55", HELIUM)]
)
def test_fully_connected(core: str, features: frozenset[str]) -> None:
    cases = vectors(features, *VECTORS)
    assert len(cases) == len(VECTORS)
    check_cases(cases, Program(core))


@given(st.lists(test_conv.configs("FULLY_CONNECTED"), min_size=6, max_size=6))
@settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
def test_any_fully_connected(configs: list[test_conv.Config]) -> None:
    small = [replace(c, weights="small", dtype="int8", bias=True) for c in configs]
    check_cases([*vectors(DSP, *small), *vectors(HELIUM, *small)], Program("host"))


def test_flash_is_about_half() -> None:
    g = tflite.parse(test_conv.model([replace(layer((5, 5), 64, 64), weights="small")]), "model")
    kernels = offered(g, g.ops[0], DSP)
    for family in ("pointwise4x2_pair", "pointwise"):
        packed, plain = (
            min(k.constants for k in kernels if k.family == family and k.name.startswith("nibbles_") == how)
            for how in (True, False)
        )
        assert packed < 0.65 * plain


def test_weights_of_more_bits_are_not_packed() -> None:
    assert not kernels("any", DSP)
    assert np.abs(test_conv.spread(np.random.default_rng(0), (64,), "small")).max() <= 8
