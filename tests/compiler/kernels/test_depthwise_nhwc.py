"""Depthwise kernels that make NHWC rows planar in working memory, against NumPy: their portable twins under the
sanitizers, and the assembly on an emulated Cortex-M4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.compiler.kernels.rooms import Rooms, calls
from tests.compiler.kernels.test_depthwise_planar import OTHER_WINDOWS, Layer, graph, layers
from tests.helpers.offered import named
from tests.helpers.support import batch, emulated, examples

MUTANTS = examples(150)
NAMES = ("depthwise_two_nhwc", "depthwise3_nhwc", "depthwise_wide_nhwc", "depthwise_long_nhwc")


@st.composite
def any_layers(draw: st.DrawFn) -> Layer:
    found = draw(layers(st.sampled_from([(3, 3), (3, 3), *OTHER_WINDOWS])))
    if draw(st.integers(0, 3)) == 0:
        taps, size = draw(st.integers(1, 28)), draw(st.integers(28, 40))
        column = draw(st.booleans())
        found = replace(found, kernel=(taps, 1) if column else (1, taps), stride=(1, 1))
        found = replace(found, size=(size, 1) if column else (2, size))
    dilation = draw(st.sampled_from([(1, 1), (1, 1), (1, 1), (2, 2), (2, 1), (1, 3), (2, 3)]))
    if dilation != (1, 1):
        found = replace(found, stride=(1, 1), dilation=dilation, padding="SAME")
    return replace(
        found,
        multiplier=draw(st.sampled_from([1, 1, 2, 3])),
        zero_in=draw(st.sampled_from([-128, -128, -127, 0, 5, 127])),
    )


def kernels(c: Layer) -> list[Case]:
    g = graph(c)
    op = g.ops[0]
    assert isinstance(op, DepthwiseConv2D)
    found = [k for k in (named(name, g, op) for name in NAMES) if k is not None]
    return [Case(g, op, kernel, c.seed) for kernel in found]


def batches() -> st.SearchStrategy[list[Layer]]:
    return batch(any_layers(), 24, 12)


@given(batches())
@settings(max_examples=examples(6, 1), deadline=None, suppress_health_check=list(HealthCheck))
def test_portable_twins(chosen: list[Layer]) -> None:
    check_cases([case for c in chosen for case in kernels(c)], Program())


@given(batches())
@settings(max_examples=examples(6, 1), deadline=None, suppress_health_check=list(HealthCheck))
def test_on_cortex_m4(chosen: list[Layer]) -> None:
    check_cases([case for c in chosen for case in kernels(c)], Program(emulated("cortex-m4")))


def shapes() -> Iterator[Layer]:
    """Every number of channels up to nine and of those behind each, zero points with padding that is zero and that is
    not, several images, rows that are jumped over, and columns in phases of unequal length."""
    for channels in range(1, 10):
        for zero_in, multiplier in ((-128, 1), (7, 1 + channels % 3)):
            size = 5, 8 + channels
            plain = Layer(size, channels, multiplier=multiplier, zero_in=zero_in, batch=1 + channels % 2, seed=channels)
            yield plain
            yield replace(plain, stride=(2, 2), size=(6, size[1]))
            yield replace(plain, kernel=(5, 5), padding="VALID")
            yield replace(plain, dilation=(2, 2), size=(7, size[1]))
            yield replace(plain, kernel=(1, 4), stride=(3, 1))
            yield replace(plain, kernel=(2, 4), stride=(3, 1))
            yield replace(plain, kernel=(1, 8 + channels), stride=(1, 1 + channels % 2))
            yield replace(plain, kernel=(3 + channels, 1), size=(20 + channels, 1))
            yield replace(plain, kernel=(9, 1), size=(30 + channels, 1), dilation=(1 + channels % 4, 1))


@pytest.mark.parametrize("core", ["host", "cortex-m4"])
def test_shapes(core: str) -> None:
    found = [case for c in shapes() for case in kernels(c)]
    assert {case.kernel.family for case in found} == set(NAMES)
    check_cases(found, Program() if core == "host" else Program(emulated(core)))


@pytest.mark.parametrize("zero_in", [-128, 3])
def test_every_shape_has_one(zero_in: int) -> None:
    for layer in (Layer(), Layer(dilation=(2, 2)), Layer(kernel=(7, 7)), Layer(multiplier=8)):
        assert kernels(replace(layer, zero_in=zero_in))


CHECKED = (
    Layer(channels=4, zero_in=3),
    Layer((6, 7), 6, dilation=(2, 2), zero_in=3),
    Layer((6, 9), 2, (5, 5), multiplier=2, batch=2),
    Layer((30, 1), 5, (9, 1), dilation=(3, 1), zero_in=3),
)


@pytest.mark.parametrize("layer", CHECKED, ids=lambda layer: f"{layer.channels}")
def test_what_is_admitted_breaks_nothing(layer: Layer, tmp_path: Path) -> None:
    found = [one for case in kernels(layer) for one in calls(case.graph, case.op, case.kernel)]
    rooms = Rooms(found, tmp_path)
    findings = rooms.run(MUTANTS)
    assert not findings, "\n".join(map(str, findings))
    assert min(rooms.admitted.values()) > MUTANTS / 50, rooms.admitted
