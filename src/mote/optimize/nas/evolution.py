"""Regularized evolution with non-dominated sorting.

Each generation is scored at once, then the oldest members of the population are dropped, however good; the Pareto front
is kept separately. Generation size and results do not depend on the number of workers."""

from __future__ import annotations

from collections.abc import Sequence, Set
from random import Random

from mote.base.errors import MoteError
from mote.optimize.nas.candidates import CandidateEvaluator, SearchCandidate, ranked

POPULATION = 48
GENERATION = 16
"""Children scored per generation."""
TOURNAMENT = 6
"""Tournament size: the best of this many random members becomes a parent."""
CROSSED = 0.3
"""Probability of crossover."""
MOST_TRIED = 3
"""Limit on candidates per trial: those whose plans turn out not to fit are not counted as trials, up to this factor."""
TRIES = 500
"""Attempts to draw a new choice that fits, before giving up."""


def evolve(
    evaluator: CandidateEvaluator,
    first: Sequence[SearchCandidate],
    trials: int,
    rng: Random,
    share: float = 1.0,
    epochs: int = 0,
) -> list[SearchCandidate]:
    """Evolves candidates for `trials` trials (including `first`) or until a share of the time budget is spent; returns
    all that were scored. `epochs` is the training of each candidate; ignored for subnets of a supernet."""
    what = f"{epochs} epochs: " if epochs else ""
    tried = {c.key for c in first}
    population = list(evaluator.scored(first, epochs, share=share, what=what))
    if not population and evaluator.refusals:
        raise _nothing_fits(evaluator.refusals)
    scored = list(population)
    while population and _spent(evaluator, tried) < trials and not evaluator.effort.over(share):
        order = {c.key: rank for rank, c in enumerate(ranked(population))}
        children: dict[str, SearchCandidate] = {}
        for _ in range(min(GENERATION, trials - _spent(evaluator, tried))):
            child = _child(evaluator, population, order, {*tried, *children}, rng)
            if child is not None:
                children[child.key] = child
        if not children:
            break
        tried |= children.keys()
        good = list(evaluator.scored(children.values(), epochs, share=share, what=what))
        scored += good
        population = [*population, *good][-POPULATION:]
    return scored


def _spent(evaluator: CandidateEvaluator, tried: Set[str]) -> int:
    """Trials used so far: candidates that did not fit although their estimates did are not counted, up to a limit."""
    return max(len(tried) - len(evaluator.refusals), len(tried) // MOST_TRIED)


def beginning(evaluator: CandidateEvaluator, families: Sequence[int], count: int, rng: Random) -> list[SearchCandidate]:
    """The initial population: each family's own initial choices, then random ones that fit, equally many per family."""
    chosen: dict[str, SearchCandidate] = {}
    reasons: list[str] = []
    for number, family in enumerate(families):
        space = evaluator.families[family]
        first = list(space.first())
        wanted = len(chosen) + max(1, count // len(families) + (number < count % len(families)))
        tries = 0
        while len(chosen) < wanted and tries < TRIES:
            choice = first.pop(0) if first else space.random(rng)
            candidate = evaluator.candidate(family, choice)
            if candidate is None:
                reasons.append(str(getattr(space.costs(choice), "reason", "")))
            tries = tries + 1 if candidate is None or candidate.key in chosen else 0
            if candidate is not None:
                chosen[candidate.key] = candidate
    if not chosen:
        raise _nothing_fits(reasons)
    return list(chosen.values())


def _nothing_fits(reasons: Sequence[str]) -> MoteError:
    return MoteError(
        f"none of {len(reasons):,} networks fits: {reasons[0] if reasons else 'there is nothing to choose from'}",
        where="option ram",
        remedy="allow more RAM, flash or time, or give a space of smaller networks",
    )


def _child(
    evaluator: CandidateEvaluator,
    population: Sequence[SearchCandidate],
    order: dict[str, int],
    known: Set[str],
    rng: Random,
) -> SearchCandidate | None:
    """A new child that fits, or None after TRIES failed attempts."""
    for _ in range(TRIES):
        parent = _parent(population, order, rng)
        space = evaluator.families[parent.family]
        choice = parent.choice
        if rng.random() < CROSSED:
            mates = [c for c in population if c.family == parent.family]
            choice = space.crossed(choice, rng.choice(mates).choice, rng)
        choice = space.mutated(choice, rng)
        probe = SearchCandidate(parent.family, choice, parent.costs)
        if probe.key in known:
            continue
        candidate = evaluator.candidate(parent.family, choice)
        if candidate is not None:
            return candidate
    return None


def _parent(population: Sequence[SearchCandidate], order: dict[str, int], rng: Random) -> SearchCandidate:
    """Tournament selection: the best of a few random members."""
    some = rng.sample(population, min(TOURNAMENT, len(population)))
    return min(some, key=lambda c: order[c.key])
