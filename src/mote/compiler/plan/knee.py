"""The knee of the Pareto front: the plan of the balanced policy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mote.compiler.plan.budgets import Planner
from mote.compiler.plan.memory.layout import Draft
from mote.compiler.plan.scheduling.frontier import UNLIMITED, PlanFront, Sketch
from mote.compiler.plan.scheduling.strategies import NEAR
from mote.compiler.plan.selection.estimate import estimate

KNEE = 1.03
"""Maximum slowdown of the knee against the fastest plan of equal flash."""
SLOWER = 1.10
"""Maximum slowdown of a plan that also saves flash, against the fastest plan."""
WORTH = 1.05
"""Maximum increase of the weighted sum of latency and flash, against the best plan."""
DEAR = 4
"""RAM-for-time exchange rate: a plan with less flash that is 1% slower must save 4% RAM."""
KNEE_TRIES = 8
"""Number of candidates for the knee that are placed in the arena, to compare their RAM with fragmentation."""


def knee(planner: Planner) -> Draft:
    """The knee of the Pareto front: least RAM among plans whose latency is close to the fastest of equal flash, and
    whose weighted sum of latency and flash is close to the best."""
    fronts = [planner.prepared.front(bottom_up, searched=False) for bottom_up in planner.prepared.fronts]
    sketches = [
        (front, sketch) for front in fronts for sketch in _valuable(planner, front) if _hardly_costs(planner, sketch)
    ]
    if not sketches:
        return planner.within(None)
    sketches.sort(key=lambda candidate: (candidate[1].peak, candidate[1].cost))
    drafts = [planner.drafts.placed(*sketches[0])]
    for front, sketch in sketches[:KNEE_TRIES]:
        if sketch.peak < min(d.plan.arena for d in drafts):
            drafts += _placed(planner, front, sketch)
    return min(drafts, key=partial(_dear, planner))


def _valuable(planner: Planner, front: PlanFront) -> Iterator[Sketch]:
    """Plans with decreasing peak memory, until the weighted sum of latency and flash is too far from the best: it
    only grows from there. If flash is over budget at the policy's rate, that sum does not count."""
    for limit in front.rungs(planner.rate, UNLIMITED):
        sketch = front.within(limit, planner.rate)
        if sketch is None or (planner.rate == planner.rates[0] and not _is_worth(planner, sketch)):
            return
        yield sketch


def _dear(planner: Planner, draft: Draft) -> float:
    """RAM in bytes, with a penalty if the plan is slower than one with more flash (see DEAR)."""
    fastest = planner.fastest[0][0]
    if not fastest:  # a branch or a loop whose body does nothing
        return draft.plan.ram
    longer = estimate(planner.goal.costs, draft.plan) / (KNEE * fastest)
    return draft.plan.ram * max(longer, 1.0) ** DEAR


def _placed(planner: Planner, front: PlanFront, sketch: Sketch) -> Iterator[Draft]:
    """The plan of a sketch; if its arena is fragmented, also alternatives of about the same cost."""
    draft = planner.drafts.placed(front, sketch)
    yield draft
    for limit in front.looser(sketch) if draft.plan.arena > NEAR * sketch.peak else ():
        other = front.within(limit, planner.rate)
        if draft.plan.arena > NEAR * sketch.peak and other is not None and _hardly_costs(planner, other):
            draft = planner.drafts.placed(front, other)
            yield draft


def _hardly_costs(planner: Planner, sketch: Sketch) -> bool:
    """Whether latency is close to the fastest plan of equal flash, and the weighted sum of latency and flash close
    to the best."""
    (cost, _), *_ = planner.fastest
    same_flash = [cost for cost, nbytes in planner.fastest if nbytes <= sketch.constants]
    hardly_slower = sketch.cost <= min(KNEE * min(same_flash, default=planner.usual), SLOWER * cost)
    return hardly_slower and _is_worth(planner, sketch)


def _is_worth(planner: Planner, sketch: Sketch) -> bool:
    """Whether the weighted sum of latency and flash is close to the best."""
    (cost, constants), *_ = planner.fastest
    worth, most = (c + planner.rate * n for c, n in ((sketch.cost, sketch.constants), (cost, constants)))
    return worth <= WORTH * most
