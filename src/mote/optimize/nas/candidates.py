"""Candidates of an architecture search: evaluation in worker processes, ranking, and the Pareto front so far."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf, log
from typing import Any

from mote.base.errors import MoteError
from mote.base.progress import Say, silent
from mote.optimize.nas.costs.network_costs import DoesNotFit, NetworkCosts
from mote.optimize.nas.family import Choice, FinishedMember, ModelFamily
from mote.optimize.nas.spending import SpendingMeter
from mote.optimize.search import Runner, digest, front


@dataclass(frozen=True)
class SearchCandidate:
    """A choice that fits the target, with its validation accuracy once it has been scored."""

    family: int
    """Index of the candidate's family."""
    choice: Choice
    costs: NetworkCosts
    accuracy: float = 0.0
    epochs: int = 0
    """Epochs of training behind `accuracy`."""
    planned: bool = True
    """True if `costs` come from a memory plan, False if they are quick estimates."""

    @property
    def key(self) -> str:
        """Digest of family and choice; equal choices have equal keys."""
        return digest(self.family, self.choice)


AXES: tuple[Callable[[SearchCandidate], float], ...] = (
    lambda c: -c.accuracy,
    lambda c: c.costs.ram,
    lambda c: c.costs.flash,
    lambda c: c.costs.cycles,
)
"""Objectives of the Pareto front, all minimized: negative accuracy, RAM, flash and cycles."""


WORTH = 0.7
"""Candidates below this share of the best accuracy rank last, however cheap they are."""


@dataclass
class SearchEffort:
    """Time and trials that a search has spent."""

    seconds: float = inf
    meter: SpendingMeter = field(default_factory=SpendingMeter)
    trials: int = 0
    """Number of candidates that were scored."""
    costed: int = 0
    """Number of choices whose costs were computed."""

    def over(self, share: float = 1.0) -> bool:
        """Whether this share of the time budget is spent."""
        return self.meter.seconds >= share * self.seconds


class CandidateEvaluator:
    """Costs, scores and trains candidates in worker processes, which receive the families once."""

    def __init__(
        self, families: Sequence[ModelFamily], runner: Runner, effort: SearchEffort | None = None, say: Say = silent
    ) -> None:
        self.families, self.runner, self.say = families, runner, say
        self.effort = effort if effort is not None else SearchEffort()
        self.best: list[SearchCandidate] = []
        """Pareto front so far, among candidates trained for the current number of epochs; their costs come from memory
        plans."""
        self.refusals: list[str] = []
        """Reasons why candidates did not fit although their cost estimates did."""

    def candidate(self, family: int, choice: Choice) -> SearchCandidate | None:
        """The candidate for a choice, or None if it does not fit. Supernet candidates start with estimated costs."""
        self.effort.costed += 1
        own = self.families[family]
        quick = own.estimate(choice) if own.shared else None
        costs = own.costs(choice) if quick is None else quick
        return (
            SearchCandidate(family, choice, costs, planned=quick is None) if isinstance(costs, NetworkCosts) else None
        )

    def planned(self, candidate: SearchCandidate) -> SearchCandidate | None:
        """The candidate with costs from a memory plan, or None if the plan does not fit."""
        if candidate.planned:
            return candidate
        costs = self.families[candidate.family].costs(candidate.choice)
        if isinstance(costs, DoesNotFit):
            self.refusals.append(costs.reason)
            return None
        return replace(candidate, costs=costs, planned=True)

    def scored(
        self, candidates: Iterable[SearchCandidate], epochs: int, *, share: float = 1.0, what: str = ""
    ) -> Iterator[SearchCandidate]:
        """Yields candidates with their accuracy, in order, until a share of the time budget is spent; at least one. New
        members of the front are planned, and dropped if they do not fit."""
        wanted = list(candidates)
        items = [(c.family, c.choice, epochs) for c in wanted]
        for candidate, (_, accuracy) in zip(wanted, self._run(_score, items), strict=False):
            if accuracy is None:
                continue
            self.best = [c for c in self.best if c.epochs == epochs]
            known = replace(candidate, accuracy=accuracy, epochs=epochs)
            done = self.planned(known) if known in front((*self.best, known), *AXES) else known
            if done is None:
                continue
            self.effort.trials += 1
            self.best = front((*self.best, done), *AXES)
            self.say(f"{what}{self.effort.trials:,} trials; front so far: {shown(self.best)}")
            yield done
            if self.effort.over(share):
                return

    def finished(
        self, candidates: Sequence[SearchCandidate], epochs: int
    ) -> Iterator[tuple[SearchCandidate, FinishedMember | DoesNotFit]]:
        """Yields candidates fully trained, as files, or the reason of failure, until the time budget is spent; at least
        one."""
        items = [(c.family, c.choice, epochs) for c in candidates]
        results = self._run(_finish, items)
        for number, (candidate, (_, result)) in enumerate(zip(candidates, results, strict=False), 1):
            if "error" in result:
                yield candidate, DoesNotFit(result["error"])
                continue
            self.say(f"finished {number} of {len(candidates)} networks: {result['validation']:.2%}")
            files = {name: b64decode(data) for name, data in result["files"].items()}
            yield candidate, FinishedMember(**{**result, "files": files})
            if self.effort.over():
                return

    def _run(
        self, function: Callable[[Sequence[ModelFamily], Any], Any], items: Sequence[tuple[int, Choice, int]]
    ) -> Iterator[tuple[Any, Any]]:
        return self.runner.run(
            function,
            items,
            key=lambda item: digest(function.__name__, self.families[item[0]].key, item[1], item[2]),
            name=lambda item: f"{self.families[item[0]].name} {self.families[item[0]].described(item[1])}",
        )


def _score(families: Sequence[ModelFamily], item: tuple[int, Choice, int]) -> float | None:
    """Validation accuracy of a candidate; None if it cannot be trained."""
    family, choice, epochs = item
    try:
        return families[family].score(choice, epochs)
    except MoteError:
        return None


def _finish(families: Sequence[ModelFamily], item: tuple[int, Choice, int]) -> dict[str, Any]:
    family, choice, epochs = item
    try:
        member = families[family].finish(choice, epochs)
    except MoteError as error:
        return {"error": str(error)}
    return {
        "files": {name: b64encode(data).decode() for name, data in member.files.items()},
        "validation": member.validation,
        "model": member.model,
        "steps": member.steps,
        "options": dict(member.options),
    }


def ranked(candidates: Sequence[SearchCandidate]) -> list[SearchCandidate]:
    """Candidates by non-dominated sorting (as NSGA-II): front after front, within a front those far from others first.
    Candidates far less accurate than the best come last."""
    least = least_worth(candidates)
    ordered: list[SearchCandidate] = []
    for worthy in (True, False):
        left = [c for c in candidates if (c.accuracy >= least) is worthy]
        while left:
            best = front(left, *AXES)
            ordered += spread(best, len(best))
            members = {id(c) for c in best}
            left = [c for c in left if id(c) not in members]
    return ordered


def least_worth(candidates: Sequence[SearchCandidate]) -> float:
    """Accuracy below which a candidate ranks last."""
    best = max((c.accuracy for c in candidates), default=0.0)
    return best - (1 - WORTH) * abs(best)


def spread(candidates: Sequence[SearchCandidate], count: int) -> list[SearchCandidate]:
    """Picks `count` candidates by farthest-point sampling over accuracy and log costs, beginning with the most
    accurate."""
    if not candidates:
        return []
    points = [(c.accuracy, log(c.costs.ram + 1), log(c.costs.flash + 1), log(c.costs.cycles + 1)) for c in candidates]
    lows, highs = ([f(p[axis] for p in points) for axis in range(4)] for f in (min, max))
    scaled = [
        tuple((x - low) / (high - low) if high > low else 0.0 for x, low, high in zip(p, lows, highs, strict=True))
        for p in points
    ]
    chosen = [max(range(len(candidates)), key=lambda i: (candidates[i].accuracy, -candidates[i].costs.cycles))]
    distances = [inf] * len(candidates)
    while len(chosen) < min(count, len(candidates)):
        for i, point in enumerate(scaled):
            last = scaled[chosen[-1]]
            distances[i] = min(distances[i], sum((a - b) ** 2 for a, b in zip(point, last, strict=True)))
        left = [i for i in range(len(candidates)) if i not in chosen]
        chosen.append(max(left, key=lambda i: (distances[i], -i)))
    return [candidates[i] for i in chosen]


def shown(candidates: Sequence[SearchCandidate], most: int = 4) -> str:
    """One-line summary of a front: accuracy, RAM, flash and cycles of its most accurate candidates."""
    best = sorted(candidates, key=lambda c: (-c.accuracy, c.costs.cycles))
    texts = [
        f"{c.accuracy:.1%} {c.costs.ram / 1024:.1f}K {c.costs.flash / 1024:.1f}K {c.costs.cycles / 1e6:.2f}M"
        for c in best[:most]
    ]
    return " | ".join(texts) + (f" and {len(best) - most} more" if len(best) > most else "")
