"""Successive halving with evolution: many candidates are trained for few epochs, and the best of them again for
more."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from mote.optimize.nas.candidates import CandidateEvaluator, SearchCandidate, ranked
from mote.optimize.nas.evolution import beginning, evolve

FACTOR = 3
"""Reduction factor: each rung keeps 1 / FACTOR of the candidates and trains them FACTOR times longer."""


def rungs(trials: int, epochs: int, finalists: int) -> list[tuple[int, int]]:
    """(candidates, epochs) of each rung, all below the finalists' epochs."""
    steps = []
    count, left = trials, epochs
    while count > finalists and left >= FACTOR:
        left //= FACTOR
        count = -(-count // FACTOR)
        steps.append(left)
    return [(-(-trials // FACTOR**i), budget) for i, budget in enumerate(reversed(steps or [max(1, epochs // FACTOR)]))]


def halve(
    evaluator: CandidateEvaluator,
    families: Sequence[int],
    trials: int,
    epochs: int,
    finalists: int,
    seed: int,
    share: float = 1.0,
) -> list[SearchCandidate]:
    """Runs successive halving and returns the last rung's candidates, best first. Stops early when a share of the time
    budget is spent; trains nothing if all candidates can be finalists. Half of the first rung is random, half
    evolved."""
    rng = Random(seed)
    first = beginning(evaluator, families, min(max(-(-trials // 2), finalists + 1), trials), rng)
    if len(first) <= finalists:
        return first
    (count, budget), *others = rungs(trials, epochs, finalists)
    survivors = ranked(evolve(evaluator, first, count, rng, share, budget))
    for count, budget in others:
        if evaluator.effort.over(share):
            break
        survivors = ranked(list(evaluator.scored(survivors[:count], budget, share=share, what=f"{budget} epochs: ")))
    return survivors
