"""Convolutions with few distinct weights, by sums of inputs of equal weight: on the host and on the cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote import compile, verify
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Refusal, View
from mote.compiler.kernels.swar.lists import FAR, LONGEST, pieces
from mote.frontends import tflite
from tests.compiler.kernels import test_variants
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.compiler.kernels.test_four_pixels import layer
from tests.helpers.offered import offered
from tests.helpers.support import emulated, examples, soaked
from tests.ir.ops.windows import test_conv

QUICK = settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
ISA = {"cortex-m0plus": "armv6m", "cortex-m3": "armv7m", "rv32imc": "rv32m"}
FEW = ("few", "ternary", "ends", "sparse")
"""Ways to spread weights with at most four values; of sparse ones only some channels have so few."""
SHAPES = [
    layer((3, 8), 4, 2), layer((5, 5), 64, 6), layer((2, 12), 40, 4, activation="NONE"),
    layer((1, 9), 16, 10, batch=2), layer((9, 9), 3, 4, kernel=(3, 3), stride=(2, 2)),
    layer((5, 7), 8, 4, kernel=(3, 3), activation="NONE"), layer((4, 4), 32, 2, kernel=(3, 3)),
    layer((5, 11), 2, 1, kernel=(2, 5), padding="VALID"), layer((2, 4), 600, 2), layer((1, 1), 32, 5),
    layer((5, 9), 4, 3, kernel=(3, 3), dilation=(2, 2)),
]  # fmt: skip


def cases(configs: Sequence[test_conv.Config], isa: str) -> list[Case]:
    graphs = [tflite.parse(test_conv.model([c]), "model") for c in configs]
    return [
        Case(g, g.ops[0], kernel, i)
        for i, g in enumerate(graphs)
        for kernel in offered(g, g.ops[0], frozenset({isa}))
        if "_lists" in kernel.family
    ]


CASES = [("host", "armv6m"), ("host", "armv7m"), *ISA.items()]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("core", "isa"), soaked(CASES, [CASES[0], CASES[2]]))
def test_shapes(core: str, isa: str) -> None:
    layers = cases([replace(c, weights=FEW[i % 3]) for i, c in enumerate(SHAPES)], isa)
    assert len(layers) == len(SHAPES)
    check_cases(layers, Program(core if core == "host" else emulated(core)))


@pytest.mark.slow
@given(st.lists(st.builds(replace, test_variants.layers(), weights=st.sampled_from(FEW)), min_size=6, max_size=6))
@QUICK
def test_any_layer(configs: list[test_conv.Config]) -> None:
    check_cases(cases(configs, "armv6m"), Program("host"))
    check_cases(cases(configs, "armv6m"), Program(emulated("cortex-m0plus")))


@given(st.sets(st.integers(0, 2000), min_size=1, max_size=600))
def test_lists_are_short_and_near(places: set[int]) -> None:
    wanted = np.array(sorted(places))
    lists = list(pieces(wanted))
    assert np.array_equal(np.concatenate(lists), wanted)
    assert all(0 < len(one) <= LONGEST and (np.diff(one) - 1 <= FAR).all() for one in lists)


@pytest.mark.parametrize(
    ("config", "why"),
    [(layer((4, 4), 8, 3), "more than 4 distinct weights"), (layer((1, 1), 8192, 1, weights="ends"), "more than 8191")],
    ids=str,
)
def test_refusals(config: test_conv.Config, why: str) -> None:
    g = tflite.parse(test_conv.model([config]), "model")
    asked = catalogue.attempts(View(g, (g.ops[0],)), frozenset({"armv6m"}))
    refused = [r.why for kernel, r in asked if "_lists" in kernel.name and isinstance(r, Refusal)]
    assert any(why in reason for reason in refused), refused


def test_the_planner_takes_them_where_they_are_cheaper() -> None:
    """For ternary weights, whose sums take less time and flash than their products; the same model with any weights has
    none of them."""
    for weights, wanted in (("ternary", True), ("any", False)):
        layers = [layer((6, 8), 64, 16, weights=weights), layer((6, 8), 16, 16, kernel=(3, 3), weights=weights)]
        compiled = compile(test_conv.model(layers), target="cortex-m0plus", optimize="speed")
        assert all(("_lists" in step.kernel.family) == wanted for step in compiled.plan.steps)
        if wanted:
            emulated("cortex-m0plus")
            assert verify(compiled, 1).passed
