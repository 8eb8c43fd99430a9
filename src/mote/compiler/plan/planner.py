"""Graph -> Plan: searches the Pareto front of RAM, flash and latency for the plan that meets the goal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce

from mote.base.progress import Say, silent
from mote.compiler.kernels.catalogue import KERNELS
from mote.compiler.kernels.contract import Packed
from mote.compiler.kernels.cost import Costs
from mote.compiler.offload.contract import Offload
from mote.compiler.plan.budgets import Planner, flash_of
from mote.compiler.plan.check import check
from mote.compiler.plan.control import BoundedCandidates, with_bodies
from mote.compiler.plan.goal import DoesNotFitError, Goal, TooSlowError
from mote.compiler.plan.knee import knee
from mote.compiler.plan.memory.layout import PlacedPlan
from mote.compiler.plan.memory.several_memories import UnreachableError, plan_over, room, spread
from mote.compiler.plan.memory.traffic import waits
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.prepared import Memo, PreparedPlans, memo, without_budgets
from mote.compiler.plan.scheduling.frontier import UNLIMITED, Limit
from mote.compiler.plan.scheduling.recompute import Recomputation, recomputations, rewrite
from mote.compiler.plan.selection.candidates import Candidates, candidates_of, ordered
from mote.compiler.plan.selection.config import LEAN, ROOMY
from mote.compiler.plan.selection.cores import centred
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.external import with_external
from mote.compiler.plan.selection.pins import pinned
from mote.compiler.plan.selection.reasons import choices
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.plan.selection.select import SMALLEST, PinError
from mote.hardware.targets import Memory
from mote.ir.graph import Graph

MOST_CONFLICTS = 3
"""Maximum number of nested memory conflicts between external kernels that are resolved by exhaustive search."""
FREE = 1e-9
"""Exchange rate of flash that is too small to change the choice of kernels, whose costs are whole numbers."""


def plan(
    graph: Graph,
    how: Lowering,
    goal: Goal | None = None,
    memories: Sequence[Memory] = (),
    say: Say = silent,
    offload: Offload | None = None,
) -> Plan:
    """The checked plan of a graph for a goal. With several `memories` its arena is spread over them. `offload` adds the
    kernels of external generators; those whose tensors would lie in memories that they cannot reach are dropped."""
    goal = goal or Goal()
    return _reachable(graph, _priced(how, goal.costs), goal, memories, say, offload, frozenset())


def least_cost(graph: Graph, how: Lowering, goal: Goal) -> float:
    """A lower bound for the cost of every plan of a graph for one core: the cost of its fastest kernels with unlimited
    RAM. It takes a tenth of the time of a plan."""
    priced = _priced(how, goal.costs)
    coded = [replace(priced, coded=True)] if how.optimize is Policy.SIZE else []
    return min(_least_cost(graph, each, goal) for each in (priced, *coded))


def _least_cost(graph: Graph, how: Lowering, goal: Goal) -> float:
    known = candidates_of(ordered(graph))
    bounded = BoundedCandidates(known, goal, _least_cost) if any(op.bodies for op in known.graph.ops) else known
    own = replace(without_budgets(goal), loads=_loads(how, goal))
    front = PreparedPlans(pinned(bounded, goal.pins, how, goal.cores), how, own).front(searched=False)
    fastest = front.within(Limit(UNLIMITED), FREE)
    assert fastest is not None
    return fastest.cost - len(fastest.chosen)


def _priced(how: Lowering, costs: Costs) -> Lowering:
    """Kernel conditions that exclude kernels without measured costs on the core (as in a checkout with a new kernel),
    so that existing plans do not change. A user's own cost table must have all kernels, and excludes none."""
    kernels = [k for k in KERNELS if len(k.computes) == 1 and not k.coded and k.on(how.features)]
    if costs.own or how.fixed is not None or all((k.costs or k.name) in costs.families for k in kernels):
        return how
    return replace(how, priced=frozenset(costs.families))


def _reachable(
    graph: Graph,
    how: Lowering,
    goal: Goal,
    memories: Sequence[Memory],
    say: Say,
    offload: Offload | None,
    omitted: frozenset[Packed],
) -> Plan:
    """The plan without the `omitted` kernels of external generators. If a tensor between the others has no memory that
    all of them reach, the best plan that omits one of these; from MOST_CONFLICTS on, the first that exists."""
    try:
        return _planned(how, goal, memories, say, with_external(candidates_of(ordered(graph)), offload, omitted))
    except UnreachableError as error:
        plans: list[Plan] = []
        for kernel in error.kernels:
            if not plans or len(omitted) < MOST_CONFLICTS:
                with suppress(PinError, UnreachableError):
                    plans.append(_reachable(graph, how, goal, memories, say, offload, omitted | {kernel}))
        if not plans:
            raise
        return min(plans, key=_with_waits)


def _planned(how: Lowering, wanted: Goal, memories: Sequence[Memory], say: Say, external: Candidates) -> Plan:
    kept = memo(pinned(with_bodies(external, wanted, plan), wanted.pins, how, wanted.cores))

    def make(goal: Goal) -> PlacedPlan:
        return plan_one_memory(kept, how, goal, say)

    result = plan_over(memories, wanted, make) if memories else make(wanted).plan
    if memories and not wanted.least and waits(result):
        result = min([result, *_in_fast_memory(memories, wanted, make)], key=_with_waits)
    result = centred(result) if wanted.cores > 1 else result
    check(result)
    return replace(result, goal=wanted)


def _in_fast_memory(memories: Sequence[Memory], goal: Goal, make: Callable[[Goal], PlacedPlan]) -> list[Plan]:
    """The plan in the fastest memory alone, as a list; empty if none fits."""
    limit = room(memories[0]) if goal.ram is None else min(room(memories[0]), goal.ram)
    with suppress(DoesNotFitError, TooSlowError):
        return [spread(make(replace(goal, ram=limit, spend=True)), memories)]
    return []


def _with_waits(plan: Plan) -> float:
    """The estimated cost of a plan, wait states of RAM included."""
    return estimate(plan.goal.costs, plan) + waits(plan)


def plan_one_memory(kept: Memo, how: Lowering, goal: Goal, say: Say = silent) -> PlacedPlan:
    """The plan of a graph for a single memory. With --optimize size it has compressed weights, if these save more flash
    than their decoders take."""
    best = _with_or_without_external(_planner(kept, how, replace(goal, loads=_loads(how, goal)), say))
    if how.optimize is Policy.SIZE:
        coded = _with_or_without_external(_planner(kept, replace(how, coded=True), goal, say))
        best = min((best, coded), key=partial(_smaller, goal))
    return best


def _loads(how: Lowering, goal: Goal) -> bool:
    """Whether constants may be copied to RAM before a layer: flash has wait states, and RAM may be spent on speed or
    time is limited. Not for images and encrypted constants (copied anyway), nor for two cores (both would wait)."""
    elsewhere = how.sealed or how.copied or how.fixed is not None or goal.cores > 1
    if not goal.costs.memory.waits or elsewhere or how.optimize is Policy.SIZE or goal.least or goal.pushed:
        return False
    spends = how.optimize is Policy.SPEED or (goal.ram is not None and goal.spend)
    return spends or goal.most_cost is not None


def _smaller(goal: Goal, placed: PlacedPlan) -> float:
    """The objective of --optimize size: estimated flash in bytes, plus latency in bytes unless flash is over budget."""
    nbytes = flash_of(placed.plan)
    over = goal.flash is not None and nbytes > goal.flash
    return nbytes if over else nbytes + estimate(goal.costs, placed.plan) / SMALLEST


def _planner(kept: Memo, how: Lowering, goal: Goal, say: Say) -> Planner:
    """The planner for a goal. Selections and fronts are shared with other goals, except with recomputation, which
    changes the graph."""
    return Planner(
        PreparedPlans(kept.candidates, how, goal, say) if goal.recompute else kept.prepared(how, goal, say), goal
    )


def _with_or_without_external(planner: Planner) -> PlacedPlan:
    """The plan for the goal. Where RAM or time is limited and external generators compute regions, the better of two
    plans, with and without these: they need whole tensors, which may take more RAM than rows."""
    goal = planner.goal
    limited = goal.least or goal.pushed or goal.ram is not None
    make = _with_recomputation if goal.recompute > 0 and limited else plan_with_reasons
    if planner.prepared.alone or not (limited or goal.most_cost is not None) or not planner.prepared.external:
        return make(planner)
    placed_plans: list[PlacedPlan] = []
    errors: list[DoesNotFitError | TooSlowError] = []
    for each in (planner, Planner(replace(planner.prepared, alone=True), goal)):
        try:
            placed_plans.append(make(each))
        except (DoesNotFitError, TooSlowError) as error:
            errors.append(error)
        if placed_plans and not goal.spend and not goal.least and goal.most_cost is None:
            break
    if not placed_plans:
        raise min(errors, key=lambda error: error.least if isinstance(error, DoesNotFitError) else error.taken)
    return min(placed_plans, key=partial(_by_goal, planner))


def _by_goal(planner: Planner, placed: PlacedPlan) -> tuple[float, float]:
    """The objective of a plan with limited RAM or time, and the tie-breaker; both are minimized."""
    goal, cost = planner.goal, estimate(planner.goal.costs, placed.plan)
    spends = goal.ram is not None and goal.spend
    if goal.least or goal.most_cost is not None or (goal.pushed and not spends):
        return placed.plan.ram, cost
    return (_smaller(planner.goal, placed) if planner.prepared.how.optimize is Policy.SIZE else cost), placed.plan.ram


def plan_with_reasons(planner: Planner) -> PlacedPlan:
    """The plan for the goal, with the reasons for its kernels."""
    placed = _chosen(planner)
    lean, roomy = (choices(planner.prepared.selection(config), placed.plan) for config in (LEAN, ROOMY))
    return replace(placed, plan=replace(placed.plan, choices={**lean, **roomy}))


def _chosen(planner: Planner) -> PlacedPlan:
    goal = planner.goal
    if goal.most_cost is not None:
        return planner.within_latency(goal.most_cost)
    if goal.least:
        return planner.smallest
    if goal.ram is not None and goal.spend:
        return planner.within(goal.ram)
    placed = _unlimited(planner)
    return placed if goal.ram is None or placed.plan.ram <= goal.ram else planner.within(goal.ram)


def _unlimited(planner: Planner) -> PlacedPlan:
    """The plan without a RAM budget, by the policy of --optimize."""
    if planner.goal.pushed:
        return planner.smallest
    if planner.prepared.how.optimize is Policy.BALANCED:
        return knee(planner)
    return planner.within(None)


def _with_recomputation(planner: Planner) -> PlacedPlan:
    """The plan with recomputation: greedily recomputes layers instead of keeping their outputs, as long as that lowers
    the peak, until the plan fits or the allowed MACs are spent."""
    goal, graph = planner.goal, planner.prepared.candidates.graph
    allowed = goal.recompute / 100 * sum(op.macs(graph) for op in graph.ops)
    while True:
        if not goal.least and goal.ram is not None and planner.prepared.peaks[0][0] <= goal.ram:
            with suppress(DoesNotFitError):
                return plan_with_reasons(planner)
        better = _recomputing(planner, allowed)
        if better is None:
            return plan_with_reasons(planner)
        planner, spent = better
        allowed -= spent


def _recomputing(planner: Planner, allowed: float) -> tuple[Planner, int] | None:
    """The planner for the graph with the recomputation that lowers the peak most, and its extra MACs; None if none
    lowers it. Tried are tensors that are live at the peak, one by one and (where several blocks reach it) all
    together."""
    graph = planner.prepared.candidates.graph
    best: tuple[Planner, int] | None = None
    least, live = planner.prepared.peaks
    chains: dict[int, list[Recomputation]] = {}
    for recomputation in recomputations(graph):
        if recomputation.tensor in live:
            chains.setdefault(recomputation.tensor, []).append(recomputation)
    together = [[chain[0] for chain in chains.values()], [chain[-1] for chain in chains.values()]]
    for choice in [*together, *([recomputation] for chain in chains.values() for recomputation in chain)]:
        macs = sum(recomputation.macs(graph) for recomputation in choice)
        if choice and macs <= allowed:
            rewritten = planner.prepared.candidates.of(reduce(rewrite, choice, graph))
            other = PreparedPlans(rewritten, planner.prepared.how, planner.goal, planner.prepared.say)
            if other.peaks[0] < least:
                best, least = (Planner(other, planner.goal), macs), other.peaks[0]
    return best
