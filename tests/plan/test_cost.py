"""What kernels are said to cost against what they take on an emulated Cortex-M4."""

from __future__ import annotations

import pytest
from test_plan import MODELS, model

import cost_layers
import fit_costs
import mlperf_tiny
from cost_layers import Layer
from fit_costs import Core, Sample
from mote import compile, run, targets, toolchain
from mote.graph import Graph
from mote.kernels import cost
from mote.plan.rows import Arrival
from support import emulated

NETWORKS = ("digits", "keywords", *mlperf_tiny.NAMES)
MARGIN, LOOSE = 0.15, 0.3
IN_C = ("conv2d", "depthwise", "pointwise", "fully_connected", "fully_connected_coded")
"""Families of kernels without assembly: what compilers make of them depends on how often a model calls them."""
LARGE = 20_000
"""Instructions of a layer whose estimate must be good."""
UPDATE = "PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4 --update"
M4 = Core("cortex-m4")
TABLE = {family: dict(costs) for family, costs in cost.load("cortex-m4").families.items()}
LAYERS = [
    Layer("CONV_2D", (14, 14), 20, 36),
    Layer("CONV_2D", (9, 9), 16, 32, (3, 3), linear=True),
    Layer("CONV_2D", (20, 20), 8, 16, (3, 3), 2),
    Layer("DEPTHWISE_CONV_2D", (14, 14), 40, 40, (3, 3), before=8),
    Layer("DEPTHWISE_CONV_2D", (14, 14), 40, 40, (3, 3)),
    Layer("DEPTHWISE_CONV_2D", (7, 7), 72, 72, (5, 5)),
    Layer("CONV_2D", (5, 5), 64, 48, kept=0.2),
    Layer("FULLY_CONNECTED", (1, 1), 320, 96),
    Layer("FULLY_CONNECTED", (1, 1), 320, 96, clamped=True),
]
PRUNED = [
    Layer("CONV_2D", (14, 14), 40, 36, kept=0.3, block=(2, 4)),
    Layer("CONV_2D", (9, 9), 16, 32, (3, 3), linear=True, kept=0.4, block=(2, 4)),
    Layer("CONV_2D", (20, 20), 8, 16, (3, 3), 2, kept=0.2, block=(2, 4)),
    Layer("FULLY_CONNECTED", (1, 1), 960, 196, kept=0.3, block=(4, 8)),
]


@pytest.fixture(scope="module")
def core() -> str:
    found = emulated("cortex-m4")
    compiler = toolchain.find_compiler(targets.load(found))
    if compiler.kind != "gcc":
        pytest.skip(f"the table is for gcc, here is {compiler.kind}")
    return found


def test_every_family_has_a_cost_and_every_cost_a_family() -> None:
    graphs: list[Graph] = [cost_layers.graph_of(cost_layers.layers()), *map(model, NETWORKS)]
    kernels = [kernels for graph in graphs for _, kernels in fit_costs.ops_of(graph, M4.how)]
    named = {k.family for found in kernels for k in found}
    table = set(TABLE) - {cost.BY_ROWS, cost.CODED, cost.SLIDE}
    assert named == table, f"new: {named - table}, gone: {table - named}; {UPDATE}"


def test_operators_with_a_choice_have_families() -> None:
    for op, kernels in fit_costs.ops_of(cost_layers.graph_of(cost_layers.layers()), M4.how):
        able = [k for k in kernels if not k.sums and k.coding is None]
        families = [k.family for k in able]
        if len(able) > 1:
            assert cost.OTHER not in families and len(set(families)) == len(families), (op.name, families)


def test_costs_are_rounded_and_not_negative() -> None:
    for costs in TABLE.values():
        assert costs and all(value > 0 and float(f"{value:.{fit_costs.DIGITS}g}") == value for value in costs.values())


@pytest.mark.parametrize(
    "options", ({}, {"optimize": "speed"}, {"least_ram": True}), ids=("balanced", "speed", "least")
)
@pytest.mark.parametrize("name", ("digits", "keywords"))
def test_bundled_models(core: str, name: str, options: dict[str, object]) -> None:
    compiled = compile(MODELS / f"{name}.tflite", target=core, **options)
    works = [(op, steps[0]) for op, steps in compiled.plan.works]
    samples = []
    for (op, step), layer in zip(works, run(compiled).layers, strict=True):
        assert layer.instructions is not None
        if not isinstance(op, Arrival):
            features = cost.features(compiled.plan.graph, op, step.kernel, step.whole)
            rows = 0 if step.whole else step.kernel.group
            samples.append(Sample(step.kernel.family, op.name, step.kernel.name, rows, features, layer.instructions))
    _check(samples)


def test_other_layers_than_those_that_were_fitted(core: str) -> None:
    samples = fit_costs.measure_model(M4, LAYERS)
    assert {s.family for s in samples} >= {"pointwise3_wide", "winograd2", "depthwise", "fully_connected4"}
    _check(samples)


def test_other_layers_with_zeros(core: str) -> None:
    samples = fit_costs.measure_model(M4, PRUNED)
    assert len({s.family for s in samples if "sparse" in s.family}) == 12
    _check(samples)


def _check(samples: list[Sample]) -> None:
    wrong = []
    for s in samples:
        error = fit_costs.predicted(TABLE, s) / s.instructions - 1
        margin = LOOSE if s.family in IN_C or s.expands else MARGIN
        if s.instructions > LARGE and s.family != cost.OTHER and abs(error) > margin:
            wrong.append(f"{error:+.0%} of {s.instructions:,}: {s.layer}, {s.kernel}, {s.rows or 'all'} rows at once")
    assert not wrong, "\n".join([*wrong, UPDATE])
