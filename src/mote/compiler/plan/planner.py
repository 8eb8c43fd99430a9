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
from mote.compiler.plan.control import BoundedBodies, with_bodies
from mote.compiler.plan.goal import DoesNotFitError, Goal, TooSlowError
from mote.compiler.plan.knee import knee
from mote.compiler.plan.memory.layout import Draft
from mote.compiler.plan.memory.several_memories import UnreachableError, plan_over, room, spread
from mote.compiler.plan.memory.traffic import waits
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.prepared import Memo, PreparedPlans, memo, without_budgets
from mote.compiler.plan.scheduling.frontier import UNLIMITED, Limit
from mote.compiler.plan.scheduling.recompute import Twice, candidates, rewrite
from mote.compiler.plan.selection.cores import centred
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.external import with_external
from mote.compiler.plan.selection.offers import Offers, offers, ordered
from mote.compiler.plan.selection.pins import pinned
from mote.compiler.plan.selection.reasons import choices
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.plan.selection.select import SMALLEST, PinError
from mote.compiler.plan.selection.way import LEAN, ROOMY
from mote.hardware.targets import Memory
from mote.ir.graph import Graph

MOST_CONFLICTS = 3
"""Conflicts of external kernels about memories of which all ways out are tried."""
FREE = 1e-9
"""An exchange rate of flash at which no kernel is chosen for it; prices of kernels are whole numbers."""


def plan(
    graph: Graph,
    how: Lowering,
    goal: Goal | None = None,
    memories: Sequence[Memory] = (),
    say: Say = silent,
    offload: Offload | None = None,
) -> Plan:
    """The plan of a graph for a goal (see Goal), checked. With several memories it is spread over them; `offload` adds
    the kernels of external generators, of which those are taken that reach the tensors between them."""
    goal = goal or Goal()
    return _reachable(graph, _priced(how, goal.costs), goal, memories, say, offload, frozenset())


def least_cost(graph: Graph, how: Lowering, goal: Goal) -> float:
    """A lower bound for the cost of every plan of a graph for one core: that of its fastest kernels in memory without a
    limit. It takes a tenth of the time of a plan."""
    priced = _priced(how, goal.costs)
    coded = [replace(priced, coded=True)] if how.optimize is Policy.SIZE else []
    return min(_least_cost(graph, each, goal) for each in (priced, *coded))


def _least_cost(graph: Graph, how: Lowering, goal: Goal) -> float:
    known = offers(ordered(graph))
    bounded = BoundedBodies(known, goal, _least_cost) if any(op.bodies for op in known.graph.ops) else known
    own = replace(without_budgets(goal), loads=_loads(how, goal))
    front = PreparedPlans(pinned(bounded, goal.pins, how, goal.cores), how, own).front(searched=False)
    fastest = front.within(Limit(UNLIMITED), FREE)
    assert fastest is not None
    return fastest.cost - len(fastest.chosen)


def _priced(how: Lowering, costs: Costs) -> Lowering:
    """Conditions that rule out kernels whose costs nobody has measured on the core yet, as in a checkout with a new
    one: plans of other models stay what they are. A user's own table must have all."""
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
    """The plan without some kernels of external generators. Where no memory is left for a tensor between others, the
    best of the plans that omit one of these; after a few conflicts the first that there is."""
    try:
        return _planned(graph, how, goal, memories, say, with_external(offers(ordered(graph)), offload, omitted))
    except UnreachableError as error:
        plans: list[Plan] = []
        for kernel in error.kernels:
            if not plans or len(omitted) < MOST_CONFLICTS:
                with suppress(PinError, UnreachableError):
                    plans.append(_reachable(graph, how, goal, memories, say, offload, omitted | {kernel}))
        if not plans:
            raise
        return min(plans, key=_with_waits)


def _planned(graph: Graph, how: Lowering, wanted: Goal, memories: Sequence[Memory], say: Say, external: Offers) -> Plan:
    kept = memo(pinned(with_bodies(external, wanted, plan), wanted.pins, how, wanted.cores))

    def make(goal: Goal) -> Draft:
        return draft(kept, how, goal, say)

    result = plan_over(memories, wanted, make) if memories else make(wanted).plan
    if memories and not wanted.least and waits(result):
        result = min([result, *_in_fast_memory(memories, wanted, make)], key=_with_waits)
    result = centred(result) if wanted.cores > 1 else result
    check(result)
    return replace(result, goal=wanted)


def _in_fast_memory(memories: Sequence[Memory], goal: Goal, make: Callable[[Goal], Draft]) -> list[Plan]:
    """The plan that leaves the memories behind the first one alone, if there is one."""
    limit = room(memories[0]) if goal.ram is None else min(room(memories[0]), goal.ram)
    with suppress(DoesNotFitError, TooSlowError):
        return [spread(make(replace(goal, ram=limit, spend=True)), memories)]
    return []


def _with_waits(plan: Plan) -> float:
    """The estimated cost of a plan, with the waits for RAM."""
    return estimate(plan.goal.costs, plan) + waits(plan)


def draft(kept: Memo, how: Lowering, goal: Goal, say: Say = silent) -> Draft:
    """The plan for one memory, of the kernels that a memo is for. With --optimize size it has compressed weights, if
    these save more flash than their decoders take."""
    best = _draft(_planner(kept, how, replace(goal, loads=_loads(how, goal)), say))
    if how.optimize is Policy.SIZE:
        coded = _draft(_planner(kept, replace(how, coded=True), goal, say))
        best = min((best, coded), key=partial(_smaller, goal))
    return best


def _loads(how: Lowering, goal: Goal) -> bool:
    """Whether constants may be copied to RAM before a layer, where flash is waited for: RAM may be spent on speed, or
    there is a time limit. Images and encrypted constants have other means, and two cores would wait for the copy."""
    elsewhere = how.sealed or how.copied or how.fixed is not None or goal.cores > 1
    if not goal.costs.memory.waits or elsewhere or how.optimize is Policy.SIZE or goal.least or goal.pushed:
        return False
    spends = how.optimize is Policy.SPEED or (goal.ram is not None and goal.spend)
    return spends or goal.most_cost is not None


def _smaller(goal: Goal, draft: Draft) -> float:
    """Estimated flash of a plan, and within the flash budget its time, as the bytes that it is worth."""
    nbytes = flash_of(draft.plan)
    over = goal.flash is not None and nbytes > goal.flash
    return nbytes if over else nbytes + estimate(goal.costs, draft.plan) / SMALLEST


def _planner(kept: Memo, how: Lowering, goal: Goal, say: Say) -> Planner:
    """The planner for a goal. Those that recompute layers have graphs of their own."""
    return Planner(
        PreparedPlans(kept.offers, how, goal, say) if goal.recompute else kept.prepared(how, goal, say), goal
    )


def _draft(planner: Planner) -> Draft:
    """The plan of a planner. Where memory or time is limited and external generators have regions, it is also planned
    without these, since whole tensors may not be placed as well as rows are; the better plan is taken."""
    goal = planner.goal
    limited = goal.least or goal.pushed or goal.ram is not None
    make = _with_recomputation if goal.recompute > 0 and limited else drafted
    if planner.prepared.alone or not (limited or goal.most_cost is not None) or not planner.prepared.external:
        return make(planner)
    drafts: list[Draft] = []
    errors: list[DoesNotFitError | TooSlowError] = []
    for each in (planner, Planner(replace(planner.prepared, alone=True), goal)):
        try:
            drafts.append(make(each))
        except (DoesNotFitError, TooSlowError) as error:
            errors.append(error)
        if drafts and not goal.spend and not goal.least and goal.most_cost is None:
            break
    if not drafts:
        raise min(errors, key=lambda error: error.least if isinstance(error, DoesNotFitError) else error.taken)
    return min(drafts, key=partial(_by_goal, planner))


def _by_goal(planner: Planner, draft: Draft) -> tuple[float, float]:
    """The measures of a limited plan: the first is minimized, the second decides between equals."""
    goal, cost = planner.goal, estimate(planner.goal.costs, draft.plan)
    spends = goal.ram is not None and goal.spend
    if goal.least or goal.most_cost is not None or (goal.pushed and not spends):
        return draft.plan.ram, cost
    return (_smaller(planner.goal, draft) if planner.prepared.how.optimize is Policy.SIZE else cost), draft.plan.ram


def drafted(planner: Planner) -> Draft:
    """The plan for the goal, with the reasons for its kernels."""
    draft = _chosen(planner)
    lean, roomy = (choices(planner.prepared.selection(way), draft.plan) for way in (LEAN, ROOMY))
    return replace(draft, plan=replace(draft.plan, choices={**lean, **roomy}))


def _chosen(planner: Planner) -> Draft:
    goal = planner.goal
    if goal.most_cost is not None:
        return planner.meeting(goal.most_cost)
    if goal.least:
        return planner.smallest
    if goal.ram is not None and goal.spend:
        return planner.within(goal.ram)
    draft = _unlimited(planner)
    return draft if goal.ram is None or draft.plan.ram <= goal.ram else planner.within(goal.ram)


def _unlimited(planner: Planner) -> Draft:
    """The plan without a RAM budget, by the policy of --optimize."""
    if planner.goal.pushed:
        return planner.smallest
    if planner.prepared.how.optimize is Policy.BALANCED:
        return knee(planner)
    return planner.within(None)


def _with_recomputation(planner: Planner) -> Draft:
    """Recomputes more and more layers instead of keeping their outputs, as long as that lowers the peak, until the plan
    fits or the allowance of MACs is spent."""
    goal, graph = planner.goal, planner.prepared.offers.graph
    allowed = goal.recompute / 100 * sum(op.macs(graph) for op in graph.ops)
    while True:
        if not goal.least and goal.ram is not None and planner.prepared.peaks[0][0] <= goal.ram:
            with suppress(DoesNotFitError):
                return drafted(planner)
        better = _recomputing(planner, allowed)
        if better is None:
            return drafted(planner)
        planner, spent = better
        allowed -= spent


def _recomputing(planner: Planner, allowed: float) -> tuple[Planner, int] | None:
    """The planner after the recomputation that lowers the peak most, and its MACs; None if none lowers it. Candidates
    are tensors that are live at the peak; where several blocks reach the peak, also all of them together."""
    graph = planner.prepared.offers.graph
    best: tuple[Planner, int] | None = None
    least, live = planner.prepared.peaks
    chains: dict[int, list[Twice]] = {}
    for twice in candidates(graph):
        if twice.tensor in live:
            chains.setdefault(twice.tensor, []).append(twice)
    together = [[chain[0] for chain in chains.values()], [chain[-1] for chain in chains.values()]]
    for choice in [*together, *([twice] for chain in chains.values() for twice in chain)]:
        macs = sum(twice.macs(graph) for twice in choice)
        if choice and macs <= allowed:
            rewritten = planner.prepared.offers.of(reduce(rewrite, choice, graph))
            other = PreparedPlans(rewritten, planner.prepared.how, planner.goal, planner.prepared.say)
            if other.peaks[0] < least:
                best, least = (Planner(other, planner.goal), macs), other.peaks[0]
    return best
