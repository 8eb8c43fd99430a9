"""Budgets: more memory is never slower, and less time never takes less of it."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest

from mote.compiler.plan.budgets import Planner
from mote.compiler.plan.check import check
from mote.compiler.plan.goal import DoesNotFitError, Goal, TooSlowError
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.planner import plan, plan_with_reasons
from mote.compiler.plan.prepared import PreparedPlans
from mote.compiler.plan.scheduling.frontier import UNLIMITED, grid_limit_above, grid_limit_below
from mote.compiler.plan.selection.candidates import Candidates, ordered
from mote.compiler.plan.selection.code_size_model import flash
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.request import Lowering, Policy
from tests.compiler.plan.test_plan import DSP, model

MODELS = ("digits", "keywords", "ad")
"""Others: benchmarks/budgets.py."""
BUDGETS = 4
COSTS = Goal().costs


@cache
def offered(name: str) -> Candidates:
    return Candidates(ordered(model(name)))


def planner(name: str, policy: Policy, goal: Goal | None = None) -> Planner:
    goal = goal or Goal()
    return Planner(PreparedPlans(offered(name), Lowering(DSP, policy), goal), goal)


def budgets(least: int, most: int) -> list[int]:
    """Some between the two, closer to one another near the least, and both."""
    return sorted({least, least + 1, *(least + (most - least) * k * k // BUDGETS**2 for k in range(1, BUDGETS + 1))})


def flash_of(found: Plan) -> float:
    return flash(steps[0].kernel for _, steps in found.works)


def test_rungs() -> None:
    found = [1 << 20]
    while found[-1] > 1:
        found.append(grid_limit_below(found[-1]))
    assert len(found) < 64 * 16
    for above, below in pairwise(found):
        assert below < above <= below + max(below // 32, 1)
        assert grid_limit_above(below + 1) == above and grid_limit_above(above) == above


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", MODELS)
def test_more_ram_is_never_slower(name: str) -> None:
    ways = {policy: planner(name, policy) for policy in (Policy.SPEED, Policy.BALANCED)}
    before = dict.fromkeys(ways, float("inf"))
    least = min(way.smallest.plan.ram for way in ways.values())
    for ram in budgets(least, ways[Policy.SPEED].within(None).plan.ram):
        costs = {}
        for policy, way in ways.items():
            try:
                found = way.within(ram).plan
            except DoesNotFitError as error:
                assert ram < error.least == way.smallest.plan.ram
                continue
            check(found)
            assert found.ram <= ram
            costs[policy] = estimate(COSTS, found)
            assert costs[policy] <= before[policy]
        before |= costs
        assert costs.get(Policy.SPEED, 0.0) <= 1.0001 * costs.get(Policy.BALANCED, float("inf"))
    assert before[Policy.SPEED] == estimate(COSTS, ways[Policy.SPEED].within(UNLIMITED).plan)


@pytest.mark.slow
@pytest.mark.parametrize("name", ("digits",))
def test_more_flash_is_never_slower(name: str) -> None:
    smallest, fastest = (planner(name, policy).within(None).plan for policy in (Policy.SIZE, Policy.SPEED))
    for ram in (None, (planner(name, Policy.SPEED).smallest.plan.ram + fastest.ram) // 2):
        before = float("inf")
        for nbytes in budgets(int(1.05 * flash_of(smallest)), int(flash_of(fastest)) + 1):
            found = planner(name, Policy.SPEED, Goal(flash=nbytes)).within(ram).plan
            assert ram is None or found.ram <= ram
            if flash_of(found) > nbytes:
                assert ram is not None and before == float("inf"), "both together may be too little"
                continue
            assert estimate(COSTS, found) <= before
            before = estimate(COSTS, found)
        assert before == estimate(COSTS, planner(name, Policy.SPEED).within(ram).plan)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ("digits", "ad"))
def test_nothing_takes_less_flash_than_size(name: str) -> None:
    """But for the constants of a few kernels that run by sums."""
    least = flash_of(plan(model(name), Lowering(DSP, Policy.SIZE), Goal(flash=0)))
    for policy in Policy:
        for goal in (Goal(), Goal(least=True)):
            assert least <= 1.01 * flash_of(plan(model(name), Lowering(DSP, policy), goal))


@pytest.mark.parametrize("name", ("digits",))
def test_more_time_takes_no_more_ram(name: str) -> None:
    way = planner(name, Policy.BALANCED)
    fastest = estimate(COSTS, planner(name, Policy.SPEED).within(None).plan)
    before = UNLIMITED
    for percent in (101, 110, 150, 1000):
        most = fastest * percent / 100
        found = plan_with_reasons(planner(name, Policy.BALANCED, Goal(most_cost=most))).plan
        assert estimate(COSTS, found) <= most and found.ram <= before
        before = found.ram
    assert before == way.smallest.plan.ram
    with pytest.raises(TooSlowError) as refused:
        plan_with_reasons(planner(name, Policy.BALANCED, Goal(most_cost=0.9 * fastest)))
    assert refused.value.taken <= 1.02 * fastest
    with pytest.raises(TooSlowError):
        plan_with_reasons(planner(name, Policy.BALANCED, Goal(ram=before, most_cost=1.1 * fastest)))
