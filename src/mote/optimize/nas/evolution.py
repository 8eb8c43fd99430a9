"""Regularized evolution with non-dominated sorting.

A generation of children of good parents is scored at once, then the oldest of the population die, however good: the
front is kept apart. The generation's size does not depend on the number of workers, nor do results.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from random import Random

from mote.base.errors import MoteError
from mote.optimize.nas.candidates import CandidateEvaluator, SearchCandidate, ranked

POPULATION = 48
GENERATION = 16
"""Children that are scored before there are new parents."""
TOURNAMENT = 6
"""Members of the population of which the best is a parent."""
CROSSED = 0.3
"""The share of children of two parents."""
MOST_TRIED = 3
"""At most so many candidates are scored for each trial, those included whose plans do not fit."""
TRIES = 500
"""Choices in a row that do not fit, or were scored already, before a search ends."""


def evolve(
    evaluator: CandidateEvaluator,
    first: Sequence[SearchCandidate],
    trials: int,
    rng: Random,
    share: float = 1.0,
    epochs: int = 0,
) -> list[SearchCandidate]:
    """All candidates of so many trials, the first ones included, or of a share of the time; each is trained for so many
    epochs, unless it has the weights of a supernet."""
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
    """Candidates that count as trials: not those that do not fit although estimates say so, unless they are many."""
    return max(len(tried) - len(evaluator.refusals), len(tried) // MOST_TRIED)


def beginning(evaluator: CandidateEvaluator, families: Sequence[int], count: int, rng: Random) -> list[SearchCandidate]:
    """The first choices of each family and random ones, as many of each family, that fit."""
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
    """A new choice that fits; None where many tries gave none."""
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
    """The best of a few members."""
    some = rng.sample(population, min(TOURNAMENT, len(population)))
    return min(some, key=lambda c: order[c.key])
