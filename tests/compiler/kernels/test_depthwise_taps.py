"""Depthwise kernels with taps in lanes against NumPy: their portable twins under the sanitizers, and the assembly on an
emulated Cortex-M55."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.bench.evaluation.verify import verify
from mote.compiler.kernels.contract import Refusal, View
from mote.compiler.kernels.helium.depthwise.depthwise_assembly import Window, arrangements
from mote.compiler.kernels.helium.depthwise.depthwise_taps import KERNELS, LEAN, ROOMY, MemoryWeight, best
from mote.compiler.line import compile
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.compiler.kernels.test_depthwise_planar import WEIGHTS, Layer, graph, model
from tests.helpers.offered import named
from tests.helpers.support import batch, emulated, examples, needs_litert, soaked

CORE = "cortex-m55"


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    high, wide = draw(st.sampled_from([(3, 3), (3, 3), (5, 5), (7, 7), (1, 3), (5, 3), (3, 1), (2, 2), (7, 5), (4, 6)]))
    padding = draw(st.sampled_from(["SAME", "SAME", "VALID"]))
    dilated = draw(st.sampled_from([False, False, True]))
    dilation = draw(st.sampled_from([(2, 2), (2, 2), (4, 4), (3, 1), (1, 2), (2, 3)])) if dilated else (1, 1)
    reach = ((high - 1) * dilation[0] + 1, (wide - 1) * dilation[1] + 1)
    least = reach if padding == "VALID" else (1, 1)
    plain = [(4, 1), (8, 1), (12, 1), (16, 1), (20, 1), (36, 1), (48, 1), (3, 1), (5, 1), (13, 1), (19, 1), (33, 1)]
    channels, multiplier = draw(st.sampled_from([*plain, (8, 2), (13, 2), (4, 8), (5, 4), (1, 16), (2, 32), (3, 8)]))
    return Layer(
        size=(draw(st.integers(least[0], least[0] + 9)), draw(st.integers(max(least[1], 6), least[1] + 22))),
        channels=channels,
        multiplier=multiplier,
        kernel=(high, wide),
        stride=draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (2, 2), (1, 2), (3, 1)])) if not dilated else (1, 1),
        dilation=dilation,
        padding=padding,
        weights=draw(st.sampled_from(WEIGHTS)),
        bias=draw(st.sampled_from([0, 2000, 2000, 100_000])),
        zero_in=draw(st.sampled_from([-128, -128, 5, 127])),
        zero=draw(st.sampled_from([-128, -128, -128, -127, 3, 127])),
        gain=draw(st.sampled_from([0.5, 1.0, 1.0, 2.0])),
        spread=draw(st.sampled_from([0.0, 2.0, 6.0])),
        seed=draw(st.integers(0, 1 << 30)),
    )


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("room", [ROOMY, LEAN])
@pytest.mark.parametrize(
    "window",
    [
        Window((3, 3), (1, 1), (6, 6), (6, 6), (1, 1), 32),
        Window((3, 3), (2, 2), (9, 12), (5, 6), (0, 0), 16),
        Window((5, 3), (1, 2), (7, 11), (3, 5), (0, 0), 8),
        Window((7, 1), (1, 1), (7, 1), (1, 1), (0, 0), 64),
        Window((10, 4), (2, 2), (8, 7), (4, 4), (4, 1), 4),
    ],
)
def test_the_best_way_is_the_first_of_least_estimate(window: Window, room: MemoryWeight) -> None:
    found = [taps for taps in arrangements(window) if taps.group == 1 or not room.single]
    assert all(taps.least_estimate(room.memory) <= taps.estimate(room.memory) for taps in found)
    assert all(4 * taps.quads == len(taps.places) for taps in found)
    assert best(window, room) == min(found, key=lambda taps: taps.estimate(room.memory), default=None)


@st.composite
def over_time(draw: st.DrawFn) -> Layer:
    """Rows of one pixel."""
    taps = draw(st.integers(1, 16))
    return Layer(
        size=(taps + draw(st.sampled_from([0, 0, 1, 5, 14, 30])), 1),
        channels=draw(st.sampled_from([16, 20, 40, 64])),
        kernel=(taps, 1),
        stride=(draw(st.sampled_from([1, 1, 2])), 1),
        padding="VALID",
        zero_in=draw(st.sampled_from([-128, 7])),
        zero=draw(st.sampled_from([-128, 3])),
        gain=draw(st.sampled_from([0.5, 1.0])),
        spread=2.0,
        seed=draw(st.integers(0, 1 << 30)),
    )


def cases(chosen: list[Layer]) -> list[Case]:
    graphs = [(graph(c), c.seed) for c in chosen]
    names = [("depthwise_taps", "depthwise_taps_row")[seed % 3 == 0] for _, seed in graphs]
    found = [(g, named(name, g, g.ops[0]), seed) for (g, seed), name in zip(graphs, names, strict=True)]
    return [Case(g, g.ops[0], kernel, seed) for g, kernel, seed in found if kernel is not None]


BATCH = batch(layers() | over_time(), 8, 8)
TRIES = settings(max_examples=examples(4, 1), deadline=None, suppress_health_check=list(HealthCheck))


@given(BATCH)
@TRIES
def test_portable_twins(chosen: list[Layer]) -> None:
    check_cases(cases(chosen), Program())


@given(BATCH)
@TRIES
def test_on_cortex_m55(chosen: list[Layer]) -> None:
    check_cases(cases(chosen), Program(emulated(CORE)))


def test_layers_of_one_width_in_one_program() -> None:
    """A single output has all channels interleaved at once, several of them sixteen."""
    check_cases(cases([Layer((n, 1), 32, (5, 1), padding="VALID", seed=1) for n in (5, 12)]), Program())


CHOSEN = [
    (Layer((12, 12), 24), "gcc"),
    (Layer((9, 7), 40, (5, 5), (2, 2)), "zig"),
    (Layer((28, 1), 16, (5, 1)), "gcc"),
    (Layer((9, 10), 13, dilation=(2, 2)), "gcc"),
    (Layer((9, 10), 6, multiplier=8), "gcc"),
]


@needs_litert
@pytest.mark.parametrize(
    ("layer", "compiler"),
    soaked(CHOSEN, CHOSEN[::2]),
)
def test_the_planner_chooses_it(layer: Layer, compiler: str) -> None:
    compiled = compile(model(layer), target=emulated(CORE), optimize="speed")
    assert compiled.plan.steps[0].kernel.family == "depthwise_taps"
    result = verify(compiled, 3, compiler=compiler)
    assert result.passed, result.mismatches


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (Layer(channels=8, multiplier=3), "no power of two"),
        (Layer(channels=4, multiplier=2), "too short"),
        (Layer(channels=8, dilation=(2, 2), stride=(2, 2)), "without strides"),
        (Layer((5, 3), 4), "too short"),
        (Layer((20, 20), 4, (17, 17)), "too large"),
        (Layer(channels=4, batch=2), "one image"),
        (Layer(channels=4, gain=1e-9), "no constants"),
    ],
)
def test_what_it_is_not_for(layer: Layer, why: str) -> None:
    g = graph(layer)
    assert isinstance(g.ops[0], DepthwiseConv2D)
    refused = KERNELS[0].bind(View(g, (g.ops[0],)))
    assert isinstance(refused, Refusal) and why in refused.why
