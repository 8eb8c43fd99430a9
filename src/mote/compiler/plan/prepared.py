"""Selections, schedules and Pareto fronts of a graph for one lowering, which plans for all budgets share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from mote.base.progress import Say, silent
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.scheduling.frontier import Lane, PlanFront
from mote.compiler.plan.scheduling.rows import shifted_groups
from mote.compiler.plan.scheduling.schedule import Scheduler
from mote.compiler.plan.scheduling.strategies import Side
from mote.compiler.plan.selection.offers import Offers
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.plan.selection.select import Selection
from mote.compiler.plan.selection.way import APART, LEAN, ROOMY, Way

FUSED = (Way(fused=True), Way(layouts=False, fused=True))
"""Selections with forced fusion, which take less RAM where they differ from the others."""
BOTH_WAYS = 1_500
"""Maximum number of nodes by rows for which bottom-up plans are searched with all kernels; in larger models only with
lean ones."""
MOST_ROOMS = 6
"""Maximum number of limits of the RAM of external regions for which plans are searched."""
LEAST_RECENT = 4
"""Number of lowerings and goals of a graph of which everything is kept."""


@dataclass
class PreparedPlans:
    """The selections, schedules and Pareto fronts for a goal without its budgets, each computed when it is first asked
    for."""

    offers: Offers
    how: Lowering
    goal: Goal
    say: Say = silent
    alone: bool = False
    """Whether only kernels of the core compute several operators at once, unless others are pinned."""
    _selections: dict[Way, Selection] = field(init=False, default_factory=dict, compare=False)
    _sides: dict[tuple[Way, bool], Side] = field(init=False, default_factory=dict, compare=False)
    _fronts: dict[tuple[bool, bool], PlanFront] = field(init=False, default_factory=dict, compare=False)
    """By (bottom_up, searched)."""

    def selection(self, way: Way) -> Selection:
        """The selection of a way. LEAN equals ROOMY if no tensor is planar and no operators are fused."""
        room = None if not self.external else 0 if self.alone else way.room
        roomy = replace(ROOMY, room=room)
        if self.how.optimize is Policy.SIZE:
            way = LEAN
        elif way == LEAN and self.selection(roomy).simple:
            way = roomy
        way = replace(way, room=room)
        if way not in self._selections:
            self._selections[way] = Selection(self.offers, self.how, self.goal, way)
        return self._selections[way]

    def side(self, way: Way, bottom_up: bool = False) -> Side:
        """The plans of a way with rows in one direction."""
        selection = self.selection(way)
        key = selection.way, bottom_up
        if key not in self._sides:
            self._sides[key] = Side(selection, self.goal, bottom_up, self.say)
        return self._sides[key]

    @property
    def directions(self) -> tuple[bool, ...]:
        """Possible values of `bottom_up`: input rows that the caller hands over arrive top-down only."""
        return (False,) if self.goal.pushed else (False, True)

    @cached_property
    def fronts(self) -> tuple[bool, ...]:
        """Values of `bottom_up` for which Pareto fronts are computed."""
        return self.directions if self.side(LEAN).scheduler.nodes_by_rows <= BOTH_WAYS else (False,)

    def front(self, bottom_up: bool = False, searched: bool = True) -> PlanFront:
        """The Pareto front of plans with rows in one direction; `searched`: including orders of the exact search."""
        key = bottom_up, searched
        if key not in self._fronts:
            lean = self.side(LEAN, bottom_up)
            least = lean.least if searched else 0
            lanes = [self._lane(way, bottom_up, lean.scheduler if searched else None) for way in self._ways]
            self._fronts[key] = PlanFront(lanes, bottom_up, least)
        return self._fronts[key]

    @cached_property
    def _ways(self) -> list[Way]:
        """The ways with distinct selections, one lane each."""
        selection = self.selection(ROOMY)
        if self.how.optimize is Policy.SIZE:
            return self._distinct([replace(LEAN, room=room) for room in self._rooms])
        groups = {k.entry.group for ops in selection.ops for k in selection.offered(ops)}
        ways = [ROOMY, *(Way(group=n) for n in sorted(groups) if n > 1)]
        ways += [replace(way, shifted=True) for way in ways[1:] if self._shifts(way)]
        fused = [
            way
            for way in FUSED
            if self.selection(way).ops.keys() != self.selection(replace(way, fused=False)).ops.keys()
        ]
        apart = [APART] if self.selection(APART).ops.keys() != selection.ops.keys() else []
        ways = [*ways, *fused] if selection.simple else [*ways, LEAN, *apart, *fused]
        between = [replace(way, room=room) for room in self._rooms for way in (ROOMY, LEAN)]
        return self._distinct([*ways, *between]) if self.external else ways

    def _distinct(self, ways: Iterable[Way]) -> list[Way]:
        """The ways without those that select what one before them does."""
        kept: dict[tuple[object, ...], Way] = {}
        for way in ways:
            selection = self.selection(way)
            same = replace(way, room=None, layouts=True), tuple(selection.ops), tuple(selection.layouts.items())
            kept.setdefault(same, way)
        return list(kept.values())

    @cached_property
    def external(self) -> list[int]:
        """The RAM that regions of external generators take, in ascending order."""
        if not self.offers.claimed():
            return []
        selection = Selection(self.offers, self.how, self.goal, ROOMY)
        sizes = {selection.fusion.region_bytes(ops) for ops in self.offers.regions(self.how)}
        return sorted(size for size in sizes if size is not None)

    @property
    def _rooms(self) -> list[int | None]:
        """Limits of the RAM of external regions, a lane for each: a region that takes more than the budget may overlap
        with smaller ones."""
        if self.alone or not self.external:
            return [None]
        step = -(-len(self.external) // MOST_ROOMS)
        return [None, *self.external[::-1][step::step], 0]

    def _shifts(self, way: Way) -> bool:
        """Whether groups of rows could be shifted; images have groups that begin with row 0."""
        selection = self.selection(way)
        by_rows, ops = selection.by_rows, tuple(selection.ops)
        return self.how.fixed is None and any(
            shifted_groups(selection.graph, ops, by_rows.__getitem__, bottom_up=bottom_up) for bottom_up in self.fronts
        )

    def _lane(self, way: Way, bottom_up: bool, searched: Scheduler | None) -> Lane:
        scheduler = self.side(way, bottom_up).scheduler
        lean = self.selection(way) is self.selection(LEAN)
        return Lane(self.selection(way), scheduler.lane(searched if lean else None))

    @cached_property
    def peaks(self) -> tuple[tuple[int, int], set[int]]:
        """The least peak and how often it is reached; the tensors that are partly live at that point."""
        return min((self.side(ROOMY, bottom_up).peaks() for bottom_up in self.directions), key=lambda peak: peak[0])


class Memo:
    """The last few `PreparedPlans` of a graph, by lowering and goal without budgets."""

    def __init__(self, offers: Offers) -> None:
        self.offers = offers
        self._recent: list[PreparedPlans] = []

    def prepared(self, how: Lowering, goal: Goal, say: Say) -> PreparedPlans:
        """The selections and fronts for a goal, whatever its budgets."""
        new = PreparedPlans(self.offers, how, without_budgets(goal), say)
        equal = next((other for other in self._recent if other == new), new)
        self._recent = [equal, *(other for other in self._recent if other is not equal)][:LEAST_RECENT]
        return equal


@lru_cache(maxsize=2)
def memo(offers: Offers) -> Memo:
    """The memo of a graph's kernels, for as long as few other graphs are planned."""
    return Memo(offers)


def without_budgets(goal: Goal) -> Goal:
    """A goal without limits of RAM and time. That of flash remains: it decides which kernels are selected."""
    return replace(goal, ram=None, spend=True, most_cost=None, least=False)
