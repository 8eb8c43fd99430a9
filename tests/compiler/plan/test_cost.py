"""What kernels are said to cost against what they take on emulated cores."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from mote import compile, profile
from mote.base.errors import MoteError
from mote.compiler.kernels import cost
from mote.compiler.kernels.catalogue import KERNELS
from mote.compiler.kernels.contract import OTHER, OTHER_F32, OTHER_S16, Instance, Packed
from mote.compiler.kernels.cost import Costs
from mote.compiler.plan.scheduling.rows import PushedInput, operator
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.hardware import targets, toolchain
from mote.hardware.targets import Reads
from mote.ir.graph import Graph
from mote.optimize.tune.calibration import cost_fit, cost_layers
from mote.optimize.tune.calibration.cost_fit import CostCore, CostSample
from mote.optimize.tune.calibration.cost_layers import CostLayer
from mote.quantize import post_training
from tests.compiler.plan.test_plan import MODELS, model
from tests.helpers.support import emulated, soaked

WHOLE, MARGIN, LOOSE = 0.1, 0.15, 0.3
IN_C = ("conv2d", "depthwise", "pointwise", "fully_connected", "fully_connected_coded")
"""Families of kernels without assembly: what compilers make of them depends on how often a model calls them."""
WRITTEN = ("conv4x2_pair", "conv4x2_wide", "depthwise_two", "depthwise_two_compact")
"""Families whose code is written for the layer, and so is not for all layers alike."""
LARGE = 30_000
"""Cycles of a layer whose estimate must be good."""
UPDATE = "PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4 --update"
USED = frozenset().union(*(k.isa for k in KERNELS))
"""Features of cores that there are kernels for."""
M4 = CostCore("cortex-m4")
TABLE = {family: dict(costs) for family, costs in cost.load("cortex-m4").families.items()}
LAYERS = [
    CostLayer("CONV_2D", (14, 14), 40, 36, kept=0.3, block=(2, 4)),
    CostLayer("CONV_2D", (9, 9), 16, 32, (3, 3), linear=True, kept=0.4, block=(2, 4)),
    CostLayer("DEPTHWISE_CONV_2D", (14, 14), 40, 40, (3, 3), before=8),
    CostLayer("DEPTHWISE_CONV_2D", (7, 7), 72, 72, (5, 5)),
    CostLayer("FULLY_CONNECTED", (1, 1), 960, 196, kept=0.3, block=(4, 8)),
]
"""Those with zeros have kernels that skip them, and all others as well."""


@pytest.fixture(scope="module")
def core() -> str:
    return fitted("cortex-m4")


def fitted(name: str) -> str:
    """The core, where there are the tools that its table was fitted with."""
    compiler = toolchain.find_compiler(targets.load(emulated(name)))
    if compiler.kind != "gcc":
        pytest.skip(f"the tables are for gcc, here is {compiler.kind}")
    return name


def test_tables_are_in_cycles_and_named_after_cores_that_use_them() -> None:
    assert [targets.load(name).costs for name in cost.tables()] == cost.tables()
    assert {cost.load(name).unit for name in cost.tables()} == {cost_fit.UNIT}
    assert {targets.load(name).costs for name in targets.names()} == set(cost.tables())


@cache
def graphs(half: bool) -> list[Graph]:
    """The layers and the preprocessing that costs are fitted to."""
    layers = [cost_layers.graph_of(part) for part in cost_layers.models(cost_fit.EVERY, half)]
    return [*layers, *cost_layers.preprocessing_graphs()]


@cache
def offered(features: frozenset[str]) -> list[tuple[str, list[Packed]]]:
    """The operators of these layers, and their kernels."""
    found = []
    for graph in graphs("mve" in features):
        kernels = cost_fit.ops_of(graph, Lowering(features, Policy.SIZE))
        found += [(operator(graph, ops).name, each) for ops, each in kernels.items()]
    return found


def families_on(name: str) -> set[str]:
    """The families of these kernels on a core."""
    found = offered(targets.load(name).features & USED)
    return {family for _, kernels in found for k in kernels for family in cost_fit.families_of(k)}


def priced(name: str) -> set[str]:
    return set(cost.load(name).families) - {cost.BY_ROWS, cost.SLIDE}


@pytest.mark.slow
def test_layers_have_every_kernel_that_has_a_cost() -> None:
    """A family that no layer of cost_layers.py has is never measured."""
    measured = {family for name in cost.tables() for family in families_on(name)}
    missing = {family for name in cost.tables() for family in priced(name)} - measured
    assert not missing, f"cost_layers.py has no layer for {', '.join(sorted(missing))}"


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", cost.tables())
def test_every_family_has_a_cost_and_every_cost_a_family(name: str) -> None:
    how = Lowering(targets.load(name).features, Policy.SIZE)
    kernels = [
        k
        for graph in (model("digits"), model("keywords"))
        for each in cost_fit.ops_of(graph, how).values()
        for k in each
    ]
    wanted = families_on(name) | {family for k in kernels for family in cost_fit.families_of(k)}
    new, gone = wanted - priced(name), priced(name) - wanted - cost_fit.usable(targets.load(name))
    assert not new and not gone, f"new: {new}, gone: {gone}; {UPDATE.replace('cortex-m4', name)}"


@pytest.mark.parametrize("name", cost.tables())
def test_every_kernel_of_a_core_has_a_cost(name: str) -> None:
    coded = {k.name for k in KERNELS if k.coded}
    unmeasured = cost_fit.usable(targets.load(name)) - coded - priced(name)
    update = UPDATE.replace("cortex-m4", name).replace("--update", f"--only {','.join(sorted(unmeasured))} --update")
    assert not unmeasured, f"measure what they cost: {update}"
    assert all(name.rstrip("0123456789").removesuffix("_coded") in priced("cortex-m4") for name in coded)


@pytest.mark.slow
def test_operators_with_a_choice_have_families() -> None:
    for name, kernels in offered(targets.load("cortex-m4").features & USED):
        able = [k for k in kernels if not k.needs.sums and k.price.coding is None and k.family == k.price.costs]
        families = [k.price.costs for k in able]
        if len(able) > 1:
            assert OTHER not in families and len(set(families)) == len(families), (name, families)


@pytest.mark.parametrize("name", cost.tables())
def test_costs_are_rounded_and_not_negative(name: str) -> None:
    for costs in cost.load(name).families.values():
        assert costs and all(value > 0 and float(f"{value:.{cost_fit.DIGITS}g}") == value for value in costs.values())


LONG = ("keywords", "avr5")
"""A model and a core on which it takes a simulator long."""
SLOW = ("cv32e40p", "hazard3", "ibex", "picorv32")
"""Cores whose tables estimate digits an eighth too high."""
BUNDLED = [(bundled, name) for bundled in ("digits", "keywords") for name in cost.tables()]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("bundled", "name"), soaked(BUNDLED, [case for case in BUNDLED if case != LONG]))
def test_bundled_models_on_every_core(bundled: str, name: str) -> None:
    compiled = compile(MODELS / f"{bundled}.tflite", target=fitted(name))
    taken = profile(compiled, layers=False).cycles
    large = MARGIN if bundled == "digits" and name in SLOW else WHOLE
    margin = large if taken > 2 * LARGE else LOOSE
    assert estimate(compiled.costs, compiled.plan) == pytest.approx(taken, rel=margin)


@cache
def wide(name: str) -> bytes:
    """A bundled model with int16 activations."""
    return post_training(MODELS / f"{name}_float.tflite", precision="int16", random_calibration=True).data


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("name", "core"),
    [("keywords", "cortex-m4"), *(("digits", core) for core in ("cortex-m0plus", "cortex-m4", "rv32imc"))],
)
def test_models_with_int16_activations(name: str, core: str) -> None:
    """Float kernels are no measure of them: they take twice as much with a floating-point unit, and twenty times
    without."""
    compiled = compile(wide(name), target=fitted(core))
    taken = profile(compiled, layers=False).cycles
    assert estimate(compiled.costs, compiled.plan) == pytest.approx(taken, rel=0.25)


@pytest.mark.parametrize(
    ("text", "says"),
    (
        ("", "'costs' is missing"),
        ('costs = "cortex-m99"', "there is no table of costs 'cortex-m99'"),
        ('costs = "mine.json"', "mine.json'"),
        ('costs = "bad.json"', "is no table of costs"),
    ),
)
def test_a_target_without_a_table_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.json").write_text('{"unit": "instructions"}')
    (tmp_path / "mine.toml").write_text(f'arch = "arm"\ncpu = "mine"\n{text}\n')
    with pytest.raises(MoteError, match=says) as error:
        compile(MODELS / "digits.tflite", target=str(tmp_path / "mine.toml"))
    assert error.value.remedy


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ("cortex-m0plus", "cortex-m4", "cortex-m55", "rv32imc"))
@pytest.mark.parametrize("bundled", ("digits", "keywords"))
def test_speed_is_not_estimated_to_be_slower_than_balanced(bundled: str, name: str) -> None:
    """benchmarks/lock.py measures the same."""
    speed, balanced = (
        compile(MODELS / f"{bundled}.tflite", target=name, optimize=optimize) for optimize in ("speed", "balanced")
    )
    assert speed.cost <= balanced.cost


WAITS = Reads(wait_states=5, read_bytes=8, line_bytes=8, data_lines=8)


def test_reading_constants_from_slow_flash_costs_its_waits() -> None:
    graph = model("digits")
    ((op, (step, *_)), *_) = compile(MODELS / "digits.tflite", target="cortex-m4").plan.works
    costs = cost.load("cortex-m4")
    family = step.kernel.price.costs
    plain = replace(costs, families={**costs.families, family: {"call": 100.0}}, reads={family: {"pixel": 80.0}})
    read = 80 * cost.features(graph, op, step.kernel, True)["pixel"]

    def waits(memory: Reads) -> float:
        return plain.on(memory).of(graph, op, step.kernel, True) - 100

    assert waits(Reads()) == 0
    assert waits(WAITS) == read / 8 * 5
    assert waits(replace(WAITS, data_lines=0)) == read / 4 * 5
    everything = replace(WAITS, data_lines=step.kernel.constants)
    assert waits(everything) == everything.stream(step.kernel.constants) < waits(WAITS)


def test_code_that_runs_apart_is_not_kept_beside_the_rest() -> None:
    """Code longer than the cache waits for every line in every turn, but two pieces that never take turns do not."""
    graph = model("digits")
    ((op, (step, *_)), *_) = compile(MODELS / "digits.tflite", target="cortex-m4").plan.works
    costs = cost.load("cortex-m4")
    pieces = [Instance("MOTE_CODE", (n,), ("nop",) * 200, apart=n > 0) for n in range(3)]
    in_turns, apart = (
        replace(step.kernel, instances=tuple(replace(i, apart=i.apart and behind) for i in pieces))
        for behind in (False, True)
    )
    assert (in_turns.code_bytes, apart.code_bytes) == (2400, 800)

    def taken(kernel: Packed) -> float:
        return costs.on(Reads(), replace(WAITS, code_lines=128)).of(graph, op, kernel, True)

    assert taken(apart) == costs.of(graph, op, apart, True) < taken(in_turns)


def test_where_flash_is_slow_less_is_read_from_it() -> None:
    core = targets.load("cortex-m4")
    slow = replace(core, reads=replace(WAITS, wait_states=40))
    costs = cost.load("cortex-m4").on(slow.constant_reads)
    usual, chosen = (compile(MODELS / "keywords.tflite", target=t, optimize="speed") for t in (core, slow))
    assert estimate(costs, chosen.plan) < estimate(costs, usual.plan)


def test_a_table_of_a_users_own(tmp_path: Path) -> None:
    families = cost.load("cortex-m4").families
    table = {"unit": "cycles", "measured": "by hand", "families": families}
    (tmp_path / "mine.json").write_text(json.dumps(table))
    (tmp_path / "mine.toml").write_text('extends = "cortex-m4"\ncosts = "mine.json"\n')
    (tmp_path / "part.toml").write_text('extends = "mine.toml"\n')
    costs = compile(MODELS / "digits.tflite", target=str(tmp_path / "part.toml")).settings.costs
    assert costs == Costs("mine", "cycles", "by hand", families)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "options", ({}, {"optimize": "speed"}, {"least_ram": True}), ids=("balanced", "speed", "least")
)
@pytest.mark.parametrize("name", ("digits", "keywords"))
def test_bundled_models(core: str, name: str, options: dict[str, object]) -> None:
    compiled = compile(MODELS / f"{name}.tflite", target=core, **options)
    works = [(op, steps[0]) for op, steps in compiled.plan.works]
    samples = []
    for (op, step), layer in zip(works, profile(compiled).layers, strict=True):
        if not isinstance(op, PushedInput):
            features = cost.features(compiled.plan.graph, op, step.kernel, step.whole)
            rows = 0 if step.whole else step.kernel.entry.group
            families = cost_fit.families_of(step.kernel)
            named = (families[0], families[1:], op.name, step.kernel.name)
            samples.append(CostSample(*named, rows, features, layer.cycles))
    _check(samples)


@pytest.mark.slow
def test_a_layer_of_each_kind_that_was_not_fitted(core: str) -> None:
    samples = cost_fit.measure_model(M4, [LAYERS[1], LAYERS[3]])
    assert {s.family for s in samples} >= {"winograd2", "depthwise"}
    _check(samples)


@pytest.mark.slow
def test_other_layers_than_those_that_were_fitted(core: str) -> None:
    samples = cost_fit.measure_model(M4, LAYERS)
    families = {s.family for s in samples}
    assert families >= {"pointwise3_wide", "winograd2", "depthwise", "fully_connected4"}
    assert len({family for family in families if "sparse" in family}) == 12
    _check(samples)


def _check(samples: list[CostSample]) -> None:
    wrong = []
    for s in samples:
        error = cost_fit.predicted(TABLE, s) / s.cycles - 1
        margin = LOOSE if {s.family, *s.beside} & {*IN_C, *WRITTEN, cost.CODED} else MARGIN
        if s.cycles > LARGE and s.family not in (OTHER, OTHER_S16, OTHER_F32) and abs(error) > margin:
            wrong.append(f"{error:+.0%} of {s.cycles:,}: {s.layer}, {s.kernel}, {s.rows or 'all'} rows at once")
    assert not wrong, "\n".join([*wrong, UPDATE])
