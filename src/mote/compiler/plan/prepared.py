"""Selections, schedules and Pareto fronts of a graph, which plans for all budgets share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from mote.base.progress import Say, silent
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.scheduling.directed_plans import DirectedPlans
from mote.compiler.plan.scheduling.frontier import PlanFront, ScheduleSpace
from mote.compiler.plan.scheduling.rows import shifted_groups
from mote.compiler.plan.scheduling.schedule import Scheduler
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.config import APART, LEAN, ROOMY, SelectionConfig
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.plan.selection.select import Selection

FUSED = (SelectionConfig(fused=True), SelectionConfig(layouts=False, fused=True))
"""Configs that fuse wherever a kernel can, even if that is slower: tensors inside of regions then take no RAM."""
BOTH_DIRECTIONS = 1_500
"""Row graphs with more nodes are searched bottom-up with the leanest kernels only."""
MOST_ROOMS = 6
"""Maximum number of RAM limits for external regions that are tried."""
LEAST_RECENT = 4
"""Number of `PreparedPlans` of a graph that are kept."""


@dataclass
class PreparedPlans:
    """The selections, schedules and Pareto fronts of a graph for a goal, whatever its budgets; computed lazily."""

    candidates: Candidates
    how: Lowering
    goal: Goal
    say: Say = silent
    alone: bool = False
    """Whether external generators may not compute regions of several operators, unless they are pinned."""
    _selections: dict[SelectionConfig, Selection] = field(init=False, default_factory=dict, compare=False)
    _directed: dict[tuple[SelectionConfig, bool], DirectedPlans] = field(
        init=False, default_factory=dict, compare=False
    )
    _fronts: dict[tuple[bool, bool], PlanFront] = field(init=False, default_factory=dict, compare=False)
    """Pareto fronts by (bottom_up, searched), the arguments of `front`."""

    def selection(self, config: SelectionConfig) -> Selection:
        """The memoized selection of a config. LEAN is ROOMY if that has only NHWC tensors and no fused operators."""
        room = None if not self.external else 0 if self.alone else config.room
        roomy = replace(ROOMY, room=room)
        if self.how.optimize is Policy.SIZE:
            config = LEAN
        elif config == LEAN and self.selection(roomy).simple:
            config = roomy
        config = replace(config, room=room)
        if config not in self._selections:
            self._selections[config] = Selection(self.candidates, self.how, self.goal, config)
        return self._selections[config]

    def directed(self, config: SelectionConfig, bottom_up: bool = False) -> DirectedPlans:
        """The memoized plans of a config with rows computed in one direction."""
        selection = self.selection(config)
        key = selection.config, bottom_up
        if key not in self._directed:
            self._directed[key] = DirectedPlans(selection, self.goal, bottom_up, self.say)
        return self._directed[key]

    @property
    def directions(self) -> tuple[bool, ...]:
        """Possible values of `bottom_up`: pushed input rows arrive top-down only."""
        return (False,) if self.goal.pushed else (False, True)

    @cached_property
    def fronts(self) -> tuple[bool, ...]:
        """Values of `bottom_up` for which Pareto fronts are computed."""
        return self.directions if self.directed(LEAN).scheduler.nodes_by_rows <= BOTH_DIRECTIONS else (False,)

    def front(self, bottom_up: bool = False, searched: bool = True) -> PlanFront:
        """The Pareto front of plans with rows in one direction; `searched`: including orders of the exact search."""
        key = bottom_up, searched
        if key not in self._fronts:
            lean = self.directed(LEAN, bottom_up)
            least = lean.least if searched else 0
            spaces = [self._space(config, bottom_up, lean.scheduler if searched else None) for config in self._configs]
            self._fronts[key] = PlanFront(spaces, bottom_up, least)
        return self._fronts[key]

    @cached_property
    def _configs(self) -> list[SelectionConfig]:
        """Configs with distinct selections, one schedule space each."""
        selection = self.selection(ROOMY)
        if self.how.optimize is Policy.SIZE:
            return self._distinct([replace(LEAN, room=room) for room in self._rooms])
        groups = {k.entry.group for ops in selection.ops for k in selection.candidate_kernels(ops)}
        configs = [ROOMY, *(SelectionConfig(group=n) for n in sorted(groups) if n > 1)]
        configs += [replace(config, shifted=True) for config in configs[1:] if self._shifts(config)]
        fused = [
            config
            for config in FUSED
            if self.selection(config).ops.keys() != self.selection(replace(config, fused=False)).ops.keys()
        ]
        apart = [APART] if self.selection(APART).ops.keys() != selection.ops.keys() else []
        configs = [*configs, *fused] if selection.simple else [*configs, LEAN, *apart, *fused]
        between = [replace(config, room=room) for room in self._rooms for config in (ROOMY, LEAN)]
        return self._distinct([*configs, *between]) if self.external else configs

    def _distinct(self, configs: Iterable[SelectionConfig]) -> list[SelectionConfig]:
        """The configs without those whose selection equals that of an earlier one."""
        kept: dict[tuple[object, ...], SelectionConfig] = {}
        for config in configs:
            selection = self.selection(config)
            same = replace(config, room=None, layouts=True), tuple(selection.ops), tuple(selection.layouts.items())
            kept.setdefault(same, config)
        return list(kept.values())

    @cached_property
    def external(self) -> list[int]:
        """Distinct RAM sizes of the regions that external generators compute, ascending, in bytes."""
        if not self.candidates.external_regions():
            return []
        selection = Selection(self.candidates, self.how, self.goal, ROOMY)
        sizes = {selection.fusion.region_bytes(ops) for ops in self.candidates.regions(self.how)}
        return sorted(size for size in sizes if size is not None)

    @property
    def _rooms(self) -> list[int | None]:
        """RAM limits for external regions to try, one schedule space for each, as a region over budget may overlap with
        smaller ones that fit; None: no limit."""
        if self.alone or not self.external:
            return [None]
        step = -(-len(self.external) // MOST_ROOMS)
        return [None, *self.external[::-1][step::step], 0]

    def _shifts(self, config: SelectionConfig) -> bool:
        """Whether some groups of rows can be shifted (see `shifted_groups`). Not in model images (`mote pack`), where
        groups begin with row 0."""
        selection = self.selection(config)
        by_rows, ops = selection.by_rows, tuple(selection.ops)
        return self.how.fixed is None and any(
            shifted_groups(selection.graph, ops, by_rows.__getitem__, bottom_up=bottom_up) for bottom_up in self.fronts
        )

    def _space(self, config: SelectionConfig, bottom_up: bool, searched: Scheduler | None) -> ScheduleSpace:
        scheduler = self.directed(config, bottom_up).scheduler
        lean = self.selection(config) is self.selection(LEAN)
        return ScheduleSpace(self.selection(config), scheduler.for_space(searched if lean else None))

    @cached_property
    def peaks(self) -> tuple[tuple[int, int], set[int]]:
        """The least peak and the number of steps that reach it; the tensors with live rows at these steps."""
        return min((self.directed(ROOMY, bottom_up).peaks() for bottom_up in self.directions), key=lambda peak: peak[0])


class Memo:
    """A cache of the last few `PreparedPlans` of a graph."""

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self._recent: list[PreparedPlans] = []

    def prepared(self, how: Lowering, goal: Goal, say: Say) -> PreparedPlans:
        """The `PreparedPlans` for a goal without its budgets, from the cache if possible."""
        new = PreparedPlans(self.candidates, how, without_budgets(goal), say)
        equal = next((other for other in self._recent if other == new), new)
        self._recent = [equal, *(other for other in self._recent if other is not equal)][:LEAST_RECENT]
        return equal


@lru_cache(maxsize=2)
def memo(candidates: Candidates) -> Memo:
    """The `Memo` of a graph's candidate kernels; those of the last two graphs are kept."""
    return Memo(candidates)


def without_budgets(goal: Goal) -> Goal:
    """A goal without limits of RAM and time. That of flash remains: it decides which kernels are selected."""
    return replace(goal, ram=None, spend=True, most_cost=None, least=False)
