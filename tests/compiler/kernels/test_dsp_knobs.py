"""Variants of kernels with DSP instructions: every value of every knob computes what the reference does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.armv7em.depthwise.depthwise_planar import planar_layout
from mote.compiler.kernels.contract import NHWC, View
from mote.frontends import tflite
from tests.compiler.kernels import test_variants
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.compiler.kernels.test_depthwise_planar import Layer, graph
from tests.compiler.kernels.test_four_pixels import layer
from tests.helpers.support import emulated, examples
from tests.ir.ops.windows import test_conv

FEW = settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
FEATURES = {"cortex-m4": frozenset({"dsp", "fpu"}), "cortex-m7": frozenset({"dsp", "dual", "fpu"})}


def variants(configs: Sequence[test_conv.Config], core: str) -> list[Case]:
    """Every variant of the core's kernels for each layer that is none of defaults alone."""
    graphs = [tflite.parse(test_conv.model([c]), "model") for c in configs]
    return [
        Case(g, g.ops[0], kernel, i)
        for i, g in enumerate(graphs)
        for kernel in catalogue.variants(View(g, (g.ops[0],)), FEATURES[core])
        if kernel.knobs
    ]


DEEP = layer((3, 5), 72, 4)
WINDOW = layer((4, 4), 4, 2, kernel=(3, 3), activation="NONE")
VECTOR = layer((1, 1), 41, 15, kind="FULLY_CONNECTED", per_channel=False, activation="NONE")
PIXELS = layer((2, 4), 16, 8)
SHAPES = {
    "deep": [DEEP],
    "window": [WINDOW, layer((6, 5), 12, 4, kernel=(3, 3))],
    "vector": [VECTOR, layer((1, 1), 150, 9, kind="FULLY_CONNECTED", per_channel=True)],
    "time": [layer((9, 1), 8, 1, kind="DEPTHWISE_CONV_2D", kernel=(4, 1), padding="VALID")],
    "pixels": [PIXELS, layer((3, 3), 24, 6, weights="small")],
}
PLACES = [(shapes, core) for shapes in SHAPES for core in FEATURES]


@pytest.mark.slow
@pytest.mark.parametrize(("shapes", "core"), PLACES)
def test_shapes(shapes: str, core: str) -> None:
    cases = variants(SHAPES[shapes], core)
    assert len({case.seed for case in cases}) == len(SHAPES[shapes])
    check_cases(cases, Program(emulated(core)))


def planar_rows(kernel: int, stride: int, core: str) -> Iterator[Case]:
    """Variants for planar rows of few outputs, whole and with padding, and of any form of outputs."""
    for width in range(1, 7 * stride):
        for padding in ("SAME", "VALID") if width >= kernel else ("SAME",):
            zero = (-128, 5)[width % 2]
            c = Layer((kernel + 2, width), 6, (kernel, kernel), (stride, stride), padding, zero=zero, seed=width)
            g = graph(c)
            view = View(g, (g.ops[0],))
            planar = replace(view, reads=planar_layout(view) or NHWC)
            yield from (Case(g, g.ops[0], k, width) for k in catalogue.variants(planar, FEATURES[core]) if k.knobs)


ROWS = [(kernel, stride, core) for kernel in (3, 5, 7) for stride in (1, 2) for core in FEATURES]


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "stride", "core"), ROWS)
def test_planar_rows(kernel: int, stride: int, core: str) -> None:
    cases = list(planar_rows(kernel, stride, core))
    wanted = {"depthwise3", "depthwise_two"} if kernel == 3 else {"depthwise_wide", "depthwise_wide_compact"}
    assert {case.kernel.family for case in cases} >= wanted
    check_cases(cases, Program(emulated(core)))


def test_unrolled_sums() -> None:
    """A layer with a loop over the products of a sum can have code without one, and no other layer can."""
    for config, values in ((DEEP, {"usual", "all"}), (PIXELS, set())):
        g = tflite.parse(test_conv.model([config]), "model")
        knobs = catalogue.knobs(View(g, (g.ops[0],)), FEATURES["cortex-m7"])
        assert {value for choices in knobs.values() for value in choices.get("unroll", ())} == values


@pytest.mark.slow
@pytest.mark.parametrize("core", FEATURES)
@given(st.lists(test_variants.layers(), min_size=4, max_size=4))
@FEW
def test_any_layer(core: str, configs: list[test_conv.Config]) -> None:
    if cases := variants(configs, core):
        check_cases(cases, Program(emulated(core)))
