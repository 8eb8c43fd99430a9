"""Evolution with successive halving: many candidates are trained for few epochs, and the better ones again for more."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from mote.optimize.nas.candidates import CandidateEvaluator, SearchCandidate, ranked
from mote.optimize.nas.evolution import beginning, evolve

FACTOR = 3
"""One of so many candidates is kept from a rung to the next, which trains so many times longer."""


def rungs(trials: int, epochs: int, finalists: int) -> list[tuple[int, int]]:
    """Candidates and epochs of each rung; the last one is below the epochs that finalists are trained for."""
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
    """The candidates of the last rung, best first; fewer rungs where a share of the time is spent, and none where all
    candidates can be finalists. Half of the first rung are random, the others children of good ones."""
    rng = Random(seed)
    first = beginning(evaluator, families, min(max(-(-trials // 2), finalists + 1), trials), rng)
    if len(first) <= finalists:
        return first
    (count, budget), *others = rungs(trials, epochs, finalists)
    left = ranked(evolve(evaluator, first, count, rng, share, budget))
    for count, budget in others:
        if evaluator.effort.over(share):
            break
        left = ranked(list(evaluator.scored(left[:count], budget, share=share, what=f"{budget} epochs: ")))
    return left
