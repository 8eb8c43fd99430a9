"""Costs of networks are those of the compiled model; bounds are never above them, estimates are near."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.fitting.code_size import code_size
from mote.compiler.line import compile_graph
from mote.compiler.settings import Settings, make_settings
from mote.optimize.nas.costs.network_costs import CostLimits, DoesNotFit, NetworkCosts
from mote.optimize.nas.costs.pricer import NEAR, Pricer, constants_of
from mote.optimize.nas.graphs.integers import integer_graph
from mote.optimize.nas.spaces.layers import INPUT, ConvLayer, GruLayer, LastLayer
from mote.optimize.nas.spaces.network import Network
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.space_file import builtin
from mote.optimize.nas.spaces.stage import SpaceHead, SpaceStage
from tests.optimize.nas.costs.drawn_networks import drawn_network

TARGETS = ("cortex-m4", "cortex-m0plus", "cortex-m55", "rv32imc")
FITS = CostLimits(ram=32 << 10)
RAM_NEAR = 1.5
"""How close estimated RAM is to that of the plan, which may run layers by rows (docs: Costs)."""
CODE_ERROR = 4600
"""The most bytes by which linked code has differed from the model of its size (docs: Costs)."""


def _settings(target: str = "cortex-m4") -> Settings:
    return make_settings(target=target)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("limits", [FITS, CostLimits(ram=2000)], ids=["loose", "tight"])
def test_costs_are_those_of_the_compiled_model(seed: int, limits: CostLimits) -> None:
    network, pricer = drawn_network(Random(seed)), Pricer(_settings(), limits)
    costs = pricer.costs(network)
    assert isinstance(costs, NetworkCosts)
    compiled = compile_graph(integer_graph(network), pricer.compiled_with(network))
    assert costs.ram == compiled.plan.ram
    assert costs.cycles == compiled.cost
    assert constants_of(compiled.plan, compiled.settings) == compiled.project.constants


def test_recurrent_networks_have_costs() -> None:
    """Operators with absent inputs, which cannot be estimated one by one."""
    network = Network((8, 1, 3), (GruLayer("gru", (INPUT,), units=4), LastLayer("last", ("gru",))), classes=False)
    pricer = Pricer(_settings(), FITS)
    costs = pricer.costs(network)
    assert isinstance(costs, NetworkCosts)
    assert costs.cycles == compile_graph(integer_graph(network), pricer.compiled_with(network)).cost


def test_networks_that_end_with_the_last_row_are_costed_as_streams() -> None:
    stem = SpaceStage("conv", width=4, kernel="3x3", stride="1x2")
    space = SearchSpace("last", (SpaceStage("separable"),), stem=stem, head=SpaceHead(pool="last"), causal=True)
    network = space.network({}, (12, 6, 1), 3)
    streamed = replace(_settings(), stream=1, causal=True)
    whole, each = (Pricer(chosen).costs(network) for chosen in (_settings(), streamed))
    assert isinstance(whole, NetworkCosts) and isinstance(each, NetworkCosts), each
    assert each.cycles < whole.cycles / 6


@pytest.mark.slow
def test_flash_is_near_that_of_the_linked_model() -> None:
    network, pricer = drawn_network(Random(3)), Pricer(_settings(), CostLimits(ram=32 << 10))
    costs = pricer.costs(network)
    assert isinstance(costs, NetworkCosts)
    compiled = compile_graph(integer_graph(network), pricer.compiled_with(network))
    code = code_size(compiled)
    if code.estimated:
        pytest.skip("there is no compiler for the core")
    assert abs(compiled.project.constants + code.nbytes - costs.flash) <= CODE_ERROR


@settings(max_examples=6, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), target=st.sampled_from(TARGETS), tight=st.booleans())
def test_bounds_are_never_above_the_costs_and_estimates_are_near(seed: int, target: str, tight: bool) -> None:
    network = drawn_network(Random(seed), (8, 8, 3), blocks=1)
    pricer = Pricer(_settings(target), CostLimits(ram=1500 if tight else 64 << 10))
    bound, quick, exact = pricer.bound(network), pricer.estimate(network), pricer.costs(network)
    if isinstance(exact, DoesNotFit):
        assert tight
        return
    assert isinstance(quick, NetworkCosts)
    assert bound.ram <= exact.ram
    assert bound.flash <= exact.flash
    assert bound.cycles <= exact.cycles
    assert exact.cycles / NEAR <= quick.cycles <= exact.cycles * NEAR or tight


def test_bounds_leave_out_taps_outside_of_the_image() -> None:
    """Shrinking trims a 5x5 kernel over one pixel to 1x1."""
    network = Network((1, 1, 16), (ConvLayer("conv", (INPUT,), kernel=(5, 5), filters=64),), classes=False)
    pricer = Pricer(_settings(), CostLimits())
    bound, quick, exact = pricer.bound(network), pricer.estimate(network), pricer.costs(network)
    assert isinstance(quick, NetworkCosts)
    assert isinstance(exact, NetworkCosts)
    assert (bound.flash <= exact.flash, bound.cycles <= exact.cycles) == (True, True)
    assert bound.flash == 16 * 64
    assert exact.cycles / NEAR <= quick.cycles <= exact.cycles * NEAR


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("flash", [None, 24 << 10], ids=["any flash", "little flash"])
def test_estimates_of_a_space_are_near_the_plan(flash: int | None) -> None:
    """Kernels of a class of layers cost others of the class as much as their own would."""
    space = builtin("separable")
    network = replace(space.network(space.random(Random(0)), (16, 16, 3), 10), preprocess="")
    pricer = Pricer(_settings(), CostLimits(ram=32 << 10, flash=flash))
    quick, exact = pricer.estimate(network), pricer.costs(network)
    assert isinstance(quick, NetworkCosts)
    assert isinstance(exact, NetworkCosts)
    assert exact.cycles / NEAR <= quick.cycles <= exact.cycles * NEAR
    assert exact.flash / NEAR <= quick.flash <= exact.flash * NEAR
    assert exact.ram / RAM_NEAR <= quick.ram <= exact.ram * RAM_NEAR


@pytest.mark.parametrize("name", ["ram", "flash", "cycles"])
def test_exceeding_a_limit_is_seen_without_a_graph(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mote.optimize.nas.costs.pricer.integer_graph", None)
    verdict = Pricer(_settings(), replace(CostLimits(), **{name: 100})).costs(drawn_network(Random(0)))
    assert isinstance(verdict, DoesNotFit)
    assert "are allowed" in verdict.reason


def test_a_network_above_the_time_limit_is_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    network = drawn_network(Random(0))
    quick = Pricer(_settings()).estimate(network)
    assert isinstance(quick, NetworkCosts)
    monkeypatch.setattr("mote.optimize.nas.costs.pricer.planned", None)
    assert isinstance(Pricer(_settings(), CostLimits(cycles=quick.cycles // 2)).costs(network), DoesNotFit)


def test_latency_and_energy_come_from_the_part() -> None:
    part = make_settings(target="stm32l4r5")
    bound = Pricer(part).bound(drawn_network(Random(0)))
    assert part.target.clock_hz
    assert bound.latency == bound.cycles / part.target.clock_hz
    assert (bound.energy is not None) == bool(part.target.ua_per_mhz)


def test_a_limit_of_latency_is_one_of_cycles() -> None:
    pricer = Pricer(make_settings(target="stm32l4r5"), CostLimits(latency=1e-9))
    assert isinstance(pricer.costs(drawn_network(Random(0))), DoesNotFit)


def test_a_network_without_a_plan_is_said_not_to_fit() -> None:
    wide = Network((20, 20, 8), (ConvLayer("conv", (INPUT,), kernel=(3, 3), filters=16),), classes=False)
    verdict = Pricer(_settings(), CostLimits(ram=3300)).costs(wide)
    assert isinstance(verdict, DoesNotFit)
    assert "RAM" in verdict.reason


def test_equal_networks_are_costed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pricer = Pricer(_settings(), FITS)
    costs = pricer.costs(drawn_network(Random(1)))
    monkeypatch.setattr("mote.optimize.nas.costs.pricer.planned", None)
    assert pricer.costs(drawn_network(Random(1))) is costs


def test_networks_whose_bounds_exceed_a_limit_do_not_fit() -> None:
    network = drawn_network(Random(0))
    costs = Pricer(_settings(), FITS).costs(network)
    assert isinstance(costs, NetworkCosts)
    pricer = Pricer(_settings(), CostLimits(cycles=costs.cycles))
    assert pricer.may_fit(network)
    assert not Pricer(_settings(), CostLimits(cycles=pricer.bound(network).cycles - 1)).may_fit(network)


def test_a_network_well_within_the_limits_is_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    network, tight = drawn_network(Random(1)), Pricer(_settings(), CostLimits(ram=2000))
    assert tight.likely(network) == tight.costs(network)
    monkeypatch.setattr("mote.optimize.nas.costs.pricer.planned", None)
    roomy = Pricer(_settings(), FITS)
    assert roomy.likely(network) is roomy.estimate(network)
    assert isinstance(roomy.likely(network), NetworkCosts)
