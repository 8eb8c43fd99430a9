"""Graph -> Plan: strategies are tried in turn, until one is good enough, and the best is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

from mote.graph import Graph
from mote.plan.check import check
from mote.plan.control import with_bodies
from mote.plan.estimate import estimate
from mote.plan.goal import DoesNotFitError, Goal, Say, silent
from mote.plan.layout import Draft
from mote.plan.lowering import Lowering, Policy
from mote.plan.memories import plan_over
from mote.plan.pins import pinned
from mote.plan.plan import Plan
from mote.plan.recompute import Twice, candidates, rewrite
from mote.plan.select import LEAN, ROOMY, Offers, Selection, Way, offers, ordered
from mote.plan.strategies import KNEES, LEANEST, NEAR, ROWS, Layers, Side, Strategy, with_room
from mote.targets import Memory

DECODER, DECODING = 280, 160
"""Bytes of code that decode weights, and of each kernel that has it done."""
KNEE = 1.03
"""How much more than the fastest a plan may cost that takes less RAM."""
NEAR_FASTEST = 1.02
"""A plan this close to the fastest kernels, all operators whole, is not worth looking further."""


def plan(
    graph: Graph, how: Lowering, goal: Goal | None = None, memories: Sequence[Memory] = (), say: Say = silent
) -> Plan:
    """The plan of a graph: see Goal. Where there are several memories it is spread over them."""
    wanted = goal or Goal()
    known = pinned(with_bodies(offers(ordered(graph)), wanted, plan), wanted.pins, how)

    def make(goal: Goal) -> Draft:
        return draft(known, how, goal, say)

    found = plan_over(memories, wanted, make) if memories else make(wanted).plan
    check(found)
    return replace(found, goal=wanted)


def draft(known: Offers, how: Lowering, goal: Goal, say: Say = silent) -> Draft:
    """The plan for one memory. For --optimize size weights are coded, if that is worth the code that it takes."""
    found = _draft(Planner(known, how, goal, say))
    if how.optimize is Policy.SIZE:
        coded = _draft(Planner(known, replace(how, coded=True), goal, say))
        found = coded if _flash(coded.plan) < _flash(found.plan) else found
    return found


def _draft(planner: Planner) -> Draft:
    goal = planner.goal
    limited = goal.least or goal.pushed or goal.ram is not None
    return _with_recomputation(planner) if goal.recompute > 0 and limited else planner.draft()


def _flash(found: Plan) -> int:
    """Bytes of constants, and of the code that expands those that are coded."""
    kernels = [steps[0].kernel for _, steps in found.works]
    coded = {k.name for k in kernels if k.coding is not None}
    code = DECODER * bool(coded) + DECODING * len(coded)
    return sum(k.constants for k in kernels) + code


@dataclass(frozen=True, eq=False)
class Planner:
    """The plans of a graph for one goal. What several strategies need is made once."""

    offers: Offers
    how: Lowering
    goal: Goal
    say: Say = silent
    _selections: dict[Way, Selection] = field(default_factory=dict)
    _sides: dict[tuple[Way, bool], Side] = field(default_factory=dict)

    def selection(self, way: Way) -> Selection:
        """The kernels that are chosen in a way. Without planar tensors and chains lean ones are the same as roomy
        ones."""
        way = ROOMY if way == LEAN and self.selection(ROOMY).simple else way
        if way not in self._selections:
            self._selections[way] = Selection(self.offers, self.how, self.goal, way)
        return self._selections[way]

    def side(self, strategy: Strategy) -> Side:
        selection = self.selection(strategy.way)
        key = selection.way, strategy.bottom_up
        if key not in self._sides:
            self._sides[key] = Side(selection, self.goal, strategy.bottom_up, self.say)
        return self._sides[key]

    def sides(self, strategies: Sequence[Strategy]) -> list[Side]:
        """Those of strategies, each once. Rows that the caller hands over come from the top only."""
        found = (self.side(s) for s in strategies if not (s.bottom_up and self.goal.pushed))
        return list(dict.fromkeys(found))

    def draft(self) -> Draft:
        """The plan that the goal asks for, and why it has its kernels."""
        found = self._draft()
        choices = [self.selection(way).choices(found.plan) for way in (LEAN, ROOMY)]
        return replace(found, plan=replace(found.plan, choices={**choices[0], **choices[1]}))

    def _draft(self) -> Draft:
        ram = self.goal.ram
        if self.goal.least:
            return self.smallest()
        if ram is not None and self.goal.spend:
            return self.within(ram)
        found = self._unlimited()
        return found if ram is None or found.plan.ram <= ram else self.within(ram)

    def _unlimited(self) -> Draft:
        """What is wanted where RAM has no price but the one that --optimize gives it."""
        if self.goal.pushed:
            return self.smallest()
        if self.goal.small_steps:
            return self.side(ROWS[0]).unlimited()
        if self.how.optimize is Policy.BALANCED:
            return self.knee()
        if self.how.optimize is Policy.SPEED:
            return self.layers.within(None)
        found = self.layers.within(self._enough)
        return found if found.plan.ram <= self._enough else self.within(self._enough)

    def knee(self) -> Draft:
        """The least RAM among plans that cost hardly more than the fastest."""
        enough = KNEE * self.selection(ROOMY).fastest
        best = self.layers.within(self._enough)
        if estimate(self.goal.costs, best.plan) > enough:
            best = self.layers.within(None)
        sketches = [(side, sketch) for side in self.sides(KNEES) if (sketch := side.leanest(enough)) is not None]
        for side, sketch in sorted(sketches, key=lambda found: found[1].schedule.peak):
            if sketch.schedule.peak < best.plan.ram:
                best = min(best, side.placed(sketch, enough), key=lambda d: d.plan.ram)
        return best

    @cached_property
    def layers(self) -> Layers:
        """Layer by layer."""
        return Layers(self.selection(ROOMY), self.goal)

    @property
    def _whole(self) -> bool:
        """Whether operators may run whole, one after another."""
        return not self.goal.pushed and not self.goal.small_steps

    @property
    def _most(self) -> int | None:
        """The bytes of RAM that layer by layer may take."""
        if self.goal.ram is not None or self.how.optimize is Policy.SPEED:
            return self.goal.ram
        return self._enough

    @cached_property
    def _enough(self) -> int:
        """What layer by layer takes in the leanest layout, and a little more."""
        return Layers(self.selection(LEAN), self.goal).enough

    def within(self, ram: int) -> Draft:
        """The fastest plan that takes at most `ram` bytes: strategies are tried until one is near the fastest kernels,
        all operators whole."""
        found: list[Draft] = []
        enough = NEAR_FASTEST * self.selection(ROOMY).fastest
        for attempt in self._attempts():
            new = attempt(ram)
            if new is not None and new.plan.ram <= ram:
                found.append(new)
                if estimate(self.goal.costs, new.plan) <= enough:
                    break
        if found:
            return min(found, key=lambda d: estimate(self.goal.costs, d.plan))
        smallest = self.smallest()
        if smallest.plan.ram > ram:
            raise DoesNotFitError(smallest.plan.ram)
        return smallest

    def _attempts(self) -> list[Callable[[int], Draft | None]]:
        """What to try for the fastest plan within a budget, in this order."""
        whole = [self.layers.within] if self._whole else []
        return [*whole, *(side.within for side in self.sides(ROWS))]

    def smallest(self) -> Draft:
        """The least RAM that was found: top-down and bottom-up, whole operators where they cost nothing."""
        selection = self.selection(LEAN)
        best = Layers(selection, self.goal).within(self._most) if self._whole else None
        sides = self.sides(LEANEST)
        for side in sorted(sides, key=lambda side: side.least):
            if best is None or side.least < best.plan.arena:
                best = min([side.smallest, *([best] if best else [])], key=lambda d: d.plan.ram)
        assert best is not None
        for side in sides:
            if NEAR * side.least < best.plan.arena:
                best = side.within(best.plan.ram - 1) or best
        return with_room(selection, best, best.plan.arena)

    @cached_property
    def peaks(self) -> tuple[tuple[int, int], set[int]]:
        """The least peak and how often it is reached; the tensors of which something is live then."""
        return min((side.peaks() for side in self.sides(ROWS[:2])), key=lambda found: found[0])


def _with_recomputation(planner: Planner) -> Draft:
    """Compute more and more twice, as long as it makes the model smaller, until the plan fits or the allowance is
    spent."""
    goal, graph = planner.goal, planner.offers.graph
    allowed = goal.recompute / 100 * sum(op.macs(graph) for op in graph.ops)
    while True:
        if not goal.least and goal.ram is not None and planner.peaks[0][0] <= goal.ram:
            with suppress(DoesNotFitError):
                return planner.draft()
        better = _recomputing(planner, allowed)
        if better is None:
            return planner.draft()
        planner, spent = better
        allowed -= spent


def _recomputing(planner: Planner, allowed: float) -> tuple[Planner, int] | None:
    """The planner of the same model with more layers computed twice, and what that costs: what lowers the peak
    most. Only what is live at the peak is worth it; where several blocks reach the peak, all of them together."""
    graph = planner.offers.graph
    best: tuple[Planner, int] | None = None
    least, live = planner.peaks
    chains: dict[int, list[Twice]] = {}
    for twice in candidates(graph):
        if twice.tensor in live:
            chains.setdefault(twice.tensor, []).append(twice)
    together = [[found[0] for found in chains.values()], [found[-1] for found in chains.values()]]
    for choice in [*together, *([twice] for found in chains.values() for twice in found)]:
        macs = sum(twice.macs(graph) for twice in choice)
        if choice and macs <= allowed:
            rewritten = planner.offers.of(reduce(rewrite, choice, graph))
            other = Planner(rewritten, planner.how, planner.goal, planner.say)
            if other.peaks[0] < least:
                best, least = (other, macs), other.peaks[0]
    return best
