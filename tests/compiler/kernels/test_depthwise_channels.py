"""Depthwise kernels with channels in lanes against NumPy: their portable twins under the sanitizers, and the assembly
on an emulated Cortex-M55."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.bench.evaluation.verify import verify
from mote.compiler.kernels.contract import Refusal, View
from mote.compiler.kernels.helium.depthwise.channels_assembly import REGISTERS, Channels
from mote.compiler.kernels.helium.depthwise.depthwise_assembly import cycles
from mote.compiler.kernels.helium.depthwise.depthwise_channels import KERNELS, groups_of
from mote.compiler.kernels.helium.ordering import VectorInstruction, ordered
from mote.compiler.kernels.helium.requantize import Requantize
from mote.compiler.kernels.pack.requantize.vector import LaneForm
from mote.compiler.line import compile
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.compiler.kernels.test_depthwise_planar import WEIGHTS, Layer, graph, model
from tests.helpers.offered import named
from tests.helpers.support import batch, emulated, examples, needs_litert, soaked

CORE = "cortex-m55"
NAME = "depthwise_channels"


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    high, wide = draw(st.sampled_from([(3, 3), (3, 3), (3, 3), (5, 5), (7, 7), (1, 3), (5, 3), (3, 1), (2, 2), (4, 6)]))
    padding = draw(st.sampled_from(["SAME", "SAME", "VALID"]))
    least = (high, wide) if padding == "VALID" else (1, 1)
    return Layer(
        size=(draw(st.integers(least[0], least[0] + 6)), draw(st.integers(least[1], least[1] + 9))),
        channels=draw(st.sampled_from([16, 20, 28, 36, 48, 60, 164] if high < 7 else [16, 20, 36])),
        kernel=(high, wide),
        stride=draw(st.sampled_from([(1, 1), (2, 2), (2, 2), (1, 2), (3, 1)])),
        padding=padding,
        weights=draw(st.sampled_from(WEIGHTS)),
        bias=draw(st.sampled_from([0, 2000, 2000, 100_000])),
        zero_in=draw(st.sampled_from([-128, -128, 5, 127])),
        zero=draw(st.sampled_from([-128, -128, -128, -127, 3, 127])),
        gain=draw(st.sampled_from([0.5, 1.0, 1.0, 2.0])),
        spread=draw(st.sampled_from([0.0, 2.0, 6.0])),
        batch=draw(st.sampled_from([1, 1, 2])),
        seed=draw(st.integers(0, 1 << 30)),
    )


def cases(chosen: list[Layer]) -> list[Case]:
    graphs = [(graph(c), c.seed) for c in chosen]
    kernels = [(g, named(NAME, g, g.ops[0]), seed) for g, seed in graphs]
    return [Case(g, g.ops[0], kernel, seed) for g, kernel, seed in kernels if kernel is not None]


BATCH = batch(layers(), 8, 8)
TRIES = settings(max_examples=examples(4, 1), deadline=None, suppress_health_check=list(HealthCheck))


@given(BATCH)
@TRIES
def test_portable_twins(chosen: list[Layer]) -> None:
    check_cases(cases(chosen), Program())


@given(BATCH)
@TRIES
def test_on_cortex_m55(chosen: list[Layer]) -> None:
    check_cases(cases(chosen), Program(emulated(CORE)))


def test_many_channels() -> None:
    check_cases(cases([Layer((3, 3), 436), Layer((5, 3), 240, (5, 5), (2, 2))]), Program(emulated(CORE)))


CHOSEN = [(Layer((12, 12), 48, stride=(2, 2)), "gcc"), (Layer((3, 3), 96), "zig")]


@needs_litert
@pytest.mark.parametrize(("layer", "compiler"), soaked(CHOSEN, CHOSEN[:1]))
def test_the_planner_chooses_it(layer: Layer, compiler: str) -> None:
    compiled = compile(model(layer), target=emulated(CORE), optimize="speed")
    assert compiled.plan.steps[0].kernel.family == NAME
    result = verify(compiled, 3, compiler=compiler)
    assert result.passed, result.mismatches


@given(
    st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 6)),
    st.sampled_from([1, 20, 128]),
    st.integers(0, 1 << 30),
)
@settings(max_examples=40, deadline=None)
def test_sums_of_groups_fit(shape: tuple[int, int, int], most: int, seed: int) -> None:
    """Every tap is in one group, and the extremes of its sums in every channel are int16."""
    weights = np.random.default_rng(seed).integers(-most, min(most, 127) + 1, shape)
    groups = groups_of(weights)
    taps = [tap for group in groups for tap in group]
    assert sorted(taps) == [(row, column) for row in range(shape[0]) for column in range(shape[1])]
    for group in groups:
        own = np.stack([weights[tap] for tap in group])
        extremes = np.maximum(127 * own, -128 * own).sum(axis=0), np.minimum(127 * own, -128 * own).sum(axis=0)
        assert extremes[0].max() < 1 << 15 and extremes[1].min() >= -(1 << 15)
    assert len(groups) == 1 or most > 1


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (Layer(channels=18), "no multiple of four"),
        (Layer(channels=12), "fewer than sixteen"),
        (Layer((9, 9), 16, (8, 3)), "too many rows"),
        (Layer((5, 5), 512), "too many channels"),
        (Layer(channels=16, gain=1e-9), "no constants"),
    ],
)
def test_what_it_is_not_for(layer: Layer, why: str) -> None:
    g = graph(layer)
    answer = KERNELS[0].pack(View(g, g.ops[:1]))
    assert isinstance(answer, Refusal) and why in answer.why


@pytest.mark.parametrize(("form", "most"), [(LaneForm.LINE, 122), (LaneForm.TWICE, 144)])
def test_pipelines_overlap(form: LaneForm, most: int) -> None:
    """Hardly two neighbours are for the same pipeline."""
    taps = [(row, column) for row in range(3) for column in range(3)]
    pairs = tuple(tuple(taps[n : n + 2]) for n in range(0, 9, 2))
    assert cycles(Channels((3, 3), 2, 48, pairs).lines(Requantize(form, 16))) <= most


def test_registers_hold_what_is_read() -> None:
    lines = [
        VectorInstruction("load {d}, a", "memory", (), "a"),
        VectorInstruction("load {d}, b", "memory", (), "b"),
        VectorInstruction("mul {d}, {0}, {1}", "multiply", ("a", "b"), "c"),
        VectorInstruction("add {d}, {1}", "rest", ("a", "c"), "e", adds=True),
        VectorInstruction("store {0}", "memory", ("e",)),
        VectorInstruction("load {d}, back", "memory", (), "f", after=(4,)),
        VectorInstruction("store {0}", "memory", ("f",)),
    ]
    assert ordered(lines, ["q0", "q1"]) == [
        *("load q0, a", "load q1, b", "mul q1, q0, q1", "add q0, q1", "store q0", "load q1, back", "store q1")
    ]
    with pytest.raises(AssertionError, match="too few registers"):
        ordered(lines, REGISTERS[:1])
