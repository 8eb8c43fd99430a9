"""Two pixels in a word on cores without SIMD: convolutions whole and by rows, on the host and on emulated cores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Call, Refusal, View
from mote.compiler.kernels.pack.requantize.high import LARGEST, HighWords, high_words
from mote.compiler.kernels.pack.weights.lanes import LEAST, MOST, product_ends, spilled
from mote.frontends import tflite
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.ranges import Range
from mote.ir.ops.matrix.accumulators import Accumulators
from tests.compiler.kernels import test_variants
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.compiler.kernels.test_four_pixels import layer
from tests.helpers.offered import offered
from tests.helpers.support import examples
from tests.ir.ops.windows import test_conv

RISCV = frozenset({"rv32m"})
FEW = settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=examples(50), deadline=None)
GEMM = ("pointwise4x3", "conv4x3")


def cases(
    configs: Sequence[test_conv.Config], features: frozenset[str] = RISCV, names: Sequence[str] = GEMM
) -> list[Case]:
    """Every kernel of these names for each layer."""
    graphs = [tflite.parse(test_conv.model([c]), "model") for c in configs]
    return [
        Case(g, g.ops[0], kernel, i)
        for i, g in enumerate(graphs)
        for kernel in offered(g, g.ops[0], features)
        if kernel.family in names
    ]


SHAPES = [
    layer((3, 8), 4, 2), layer((5, 5), 64, 6), layer((2, 12), 40, 4, activation="NONE"), layer((2, 6), 37, 5),
    layer((4, 3), 72, 2, activation="NONE"), layer((1, 9), 16, 10, batch=2), layer((3, 20), 8, 4, gain=0.1),
    layer((9, 16), 3, 7, kernel=(3, 3), stride=(2, 2)), layer((6, 8), 3, 4, kernel=(3, 3)),
    layer((9, 10), 1, 6, kernel=(10, 4), stride=(2, 2)), layer((5, 7), 8, 3, kernel=(3, 3), activation="NONE"),
    layer((5, 11), 2, 2, kernel=(2, 5), padding="VALID"), layer((7, 9), 12, 4, stride=(2, 2)),
    layer((6, 3), 4, 4, kernel=(3, 3), batch=2), layer((6, 5), 8, 2, kernel=(3, 2), dilation=(2, 3)),
    layer((4, 1), 3, 3, kernel=(3, 1)), layer((1, 2), 5, 2), layer((2, 5), 6, 3, activation="RELU6"),
    layer((3, 3), 20, 3, weights="ends"),
]  # fmt: skip


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["host", "rv32imc", "hazard3", pytest.param("rv32emc", marks=pytest.mark.slow)])
def test_shapes(core: str) -> None:
    found = cases(SHAPES)
    assert len(found) == len(SHAPES)
    check_cases(found, Program(core))


@pytest.mark.slow
@pytest.mark.parametrize("core", ["host", "rv32imc"])
@given(st.lists(test_variants.layers(), min_size=5, max_size=5))
@FEW
def test_any_layer(core: str, configs: list[test_conv.Config]) -> None:
    check_cases(cases(configs), Program(core))


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (layer((4, 4), 8, 1), "there is one output channel"),
        (layer((4, 4), 8, 2, gain=1e-4), "a scale is 1 or more, or 1/2 and negative results can be seen"),
        (layer((1, 1), 1 << 15, 2), "sums are too long"),
    ],
    ids=["one channel", "scale", "depth"],
)
def test_refusals(config: test_conv.Config, why: str) -> None:
    g = tflite.parse(test_conv.model([config]), "model")
    assert why in [r.why for k, r in catalogue.attempts(View(g, (g.ops[0],)), RISCV) if isinstance(r, Refusal)]


LONG, SHORT = frozenset({"mul32"}), frozenset({"mul32", "armv6m"})
DEPTHWISE = ("depthwise_planes", "depthwise_planes_short")
PLACES = [("host", LONG), ("host", SHORT), ("rv32imc", LONG), ("cortex-m3", LONG), ("cortex-m0plus", SHORT)]
CLAMPED = ("hazard3", LONG)
"""A core with instructions for minimum and maximum."""
SIXTEEN = pytest.param("rv32emc", LONG, marks=pytest.mark.slow)
"""A core with sixteen registers, for which there is no assembly."""


def depthwise(size: tuple[int, int], channels: int, kernel: tuple[int, int], **more: object) -> test_conv.Config:
    return layer(size, channels, 1, kind="DEPTHWISE_CONV_2D", kernel=kernel, **more)


WINDOWS = [
    depthwise((6, 5), 4, (3, 3)), depthwise((5, 7), 3, (3, 3), activation="NONE"), depthwise((2, 4), 2, (3, 3)),
    depthwise((7, 8), 2, (3, 3), stride=(2, 2)), depthwise((6, 4), 3, (3, 3), padding="VALID", batch=2),
    depthwise((9, 9), 2, (5, 5)), depthwise((6, 7), 2, (7, 7), stride=(2, 2), activation="NONE"),
    depthwise((9, 2), 5, (5, 1), padding="VALID"), depthwise((4, 3), 2, (2, 4), stride=(1, 2)),
    layer((5, 6), 2, 3, kind="DEPTHWISE_CONV_2D", kernel=(3, 3)), depthwise((4, 4), 3, (3, 3), weights="ends"),
    depthwise((3, 3), 2, (3, 3), gain=0.1), depthwise((2, 9), 1, (1, 3)),
]  # fmt: skip
BOUNDED = [depthwise((4, 5), 3, (3, 3), activation="RELU6"), depthwise((4, 5), 3, (4, 3), activation="RELU6")]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("core", "features"), [*PLACES, CLAMPED, SIXTEEN], ids=lambda p: p if isinstance(p, str) else "+".join(sorted(p))
)
def test_depthwise_shapes(core: str, features: frozenset[str]) -> None:
    configs = WINDOWS if features == SHORT else [*WINDOWS, *BOUNDED]
    found = cases(configs, features, DEPTHWISE)
    assert len(found) == len(configs)
    check_cases(found, Program(core))


@pytest.mark.parametrize(("core", "features"), PLACES, ids=lambda p: p if isinstance(p, str) else "+".join(sorted(p)))
def test_runs_of_channels(core: str, features: frozenset[str]) -> None:
    """What two cores compute, each for channels of its own, is what one call computes."""
    configs = WINDOWS if features == SHORT else [*WINDOWS, *BOUNDED]
    found = []
    for i, g in enumerate(tflite.parse(test_conv.model([c]), "model") for c in configs):
        offered = catalogue.variants(View(g, (g.ops[0],)), features)
        shared = [kernel.for_channels() for kernel in offered if kernel.family in DEPTHWISE]
        assert shared and all(kernel.entry.call is Call.CHANNELS for kernel in shared)
        found += [Case(g, g.ops[0], kernel, i) for kernel in shared]
    check_cases(found, Program(core))


@pytest.mark.slow
@pytest.mark.parametrize(("core", "features"), PLACES[:1] + PLACES[2:], ids=lambda p: p if isinstance(p, str) else "")
@given(st.lists(test_conv.configs("DEPTHWISE_CONV_2D"), min_size=6, max_size=6))
@FEW
def test_any_depthwise_layer(core: str, features: frozenset[str], configs: list[test_conv.Config]) -> None:
    check_cases(cases([c for c in configs if c.dtype == "int8"], features, DEPTHWISE), Program(core))


WEIGHTS = st.lists(
    st.lists(st.sampled_from([-128, -127, -64, -1, 0, 1, 63, 127]), min_size=9, max_size=9), min_size=1, max_size=4
)


@given(WEIGHTS, st.integers(-128, 0), st.integers(0, 127), st.integers(-128, 127))
@MANY
def test_groups_fit_a_lane(weights: list[list[int]], low: int, high: int, zero: int) -> None:
    """Whatever the inputs are, with what was taken out nothing is lost."""
    matrix: Ints = np.array(weights)
    inputs = Range(np.full(9, low), np.full(9, high))
    found = spilled(matrix, inputs, zero, 4)
    padded = np.pad(matrix, [(0, 0), (0, 3)])
    assert np.array_equal(found.weights + found.taken, padded)
    assert not np.any((found.weights != 0) & (found.taken != 0))
    least, most = product_ends(found.weights[:, :9], inputs, zero)
    ends = [np.pad(end, [(0, 0), (0, 3)]).reshape(len(matrix), 3, 4).sum(axis=2) for end in (least, most)]
    assert ends[0].min() >= LEAST and ends[1].max() <= MOST
    numbers = found.lists.tolist()
    for row in found.taken:
        count = numbers.pop(0)
        listed = {numbers.pop(0): numbers.pop(0) for _ in range(count)}
        assert listed == {i: w for i, w in enumerate(row.tolist()) if w}
    assert not numbers


def byte(words: HighWords, x: int) -> int:
    """`mote_lanes_byte`, or `mote_lanes_byte_halves`, of the first channel."""
    mult, add, shift = (int(part[0]) for part in (words.mult, words.add, words.shift))
    assert -(1 << 31) <= x << 2 < 1 << 31
    high = (x << 2) * mult >> 32
    if words.halves:
        high = (high + 1) >> 1
        high += -1 if high < 0 else 0
    assert -(1 << 31) <= high + add < 1 << 31
    return max(words.lo, min(words.hi, high + add >> shift))


@given(
    st.integers(1 << 30, (1 << 31) - 1),
    st.integers(-30, 0),
    st.integers(-128, 127),
    st.integers(-128, 127),
    st.integers(0, LARGEST - 1),
    st.lists(st.floats(-1, 1), min_size=20, max_size=20),
)
@example(1 << 30, -1, -128, -128, LARGEST - 1, [0.0])
@example((1 << 31) - 1, 0, -128, -128, 1000, [0.001])
@MANY
def test_the_high_word_rounds_as_the_reference(
    mult: int, shift: int, zero: int, lo: int, largest: int, at: list[float]
) -> None:
    sums = Accumulators(np.array([-largest]), np.array([largest]), np.array([mult]), np.array([shift]), zero)
    words = high_words(sums, (lo, 127))
    if isinstance(words, Refusal):
        assert largest >= LARGEST // 2 or shift < -20 or (shift == 0 and lo < zero)
        return
    one = mult / 2.0 ** (31 - shift)
    steps = [round((r * 256 + 0.5) / one) + d for r in at for d in (-1, 0, 1)]
    for x in [round(r * largest) for r in at] + [s for s in steps if abs(s) <= largest] + [0, -1, 1]:
        if abs(x) <= largest:
            assert byte(words, x) == max(lo, int(sums.outputs(np.array([x]), 0)[0])), x
