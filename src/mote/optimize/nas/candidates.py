"""Candidates of a search: their evaluation in workers, their ranks, and the front so far."""

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
    """A choice of a family that fits, with its held-out accuracy once it was scored."""

    family: int
    """The number of the family."""
    choice: Choice
    costs: NetworkCosts
    accuracy: float = 0.0
    epochs: int = 0
    """Epochs that it was trained for."""
    planned: bool = True
    """Whether its costs are those of a plan, and no estimates."""

    @property
    def key(self) -> str:
        """A digest of the family and the choice: equal choices have equal keys."""
        return digest(self.family, self.choice)


AXES: tuple[Callable[[SearchCandidate], float], ...] = (
    lambda c: -c.accuracy,
    lambda c: c.costs.ram,
    lambda c: c.costs.flash,
    lambda c: c.costs.cycles,
)
"""Accuracy, RAM, flash and cycles; less is better."""


WORTH = 0.7
"""The share of the best accuracy below which a candidate is worth little, however cheap it is."""


@dataclass
class SearchEffort:
    """The time and the trials of a search."""

    seconds: float = inf
    meter: SpendingMeter = field(default_factory=SpendingMeter)
    trials: int = 0
    """Candidates that were scored."""
    costed: int = 0
    """Choices whose costs were computed."""

    def over(self, share: float = 1.0) -> bool:
        """Whether a share of the time is spent."""
        return self.meter.seconds >= share * self.seconds


class CandidateEvaluator:
    """Evaluates candidates with a runner whose shared object are the families."""

    def __init__(
        self, families: Sequence[ModelFamily], runner: Runner, effort: SearchEffort | None = None, say: Say = silent
    ) -> None:
        self.families, self.runner, self.say = families, runner, say
        self.effort = effort if effort is not None else SearchEffort()
        self.best: list[SearchCandidate] = []
        """The front so far, of candidates trained for the most epochs; their costs are those of plans."""
        self.refusals: list[str] = []
        """Why candidates do not fit whose estimates did."""

    def candidate(self, family: int, choice: Choice) -> SearchCandidate | None:
        """A choice with its costs; None where it does not fit. Candidates that are scored without training have
        estimated costs at first."""
        self.effort.costed += 1
        own = self.families[family]
        quick = own.estimate(choice) if own.shared else None
        costs = own.costs(choice) if quick is None else quick
        return (
            SearchCandidate(family, choice, costs, planned=quick is None) if isinstance(costs, NetworkCosts) else None
        )

    def planned(self, candidate: SearchCandidate) -> SearchCandidate | None:
        """A candidate with the costs of its plan; None where that does not fit."""
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
        """Candidates with their accuracy, in order, until a share of the time is spent; at least one. The front is
        planned; what does not fit is left out."""
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
        """Candidates trained to the end, as files, or why that failed, until the time is spent; at least one."""
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
    """The accuracy of a candidate; None for one that cannot be trained."""
    family, choice, epochs = item
    try:
        return families[family].score(choice, epochs)
    except MoteError:
        return None


def _finish(families: Sequence[ModelFamily], item: tuple[int, Choice, int]) -> dict[str, Any]:
    family, choice, epochs = item
    try:
        made = families[family].finish(choice, epochs)
    except MoteError as error:
        return {"error": str(error)}
    return {
        "files": {name: b64encode(data).decode() for name, data in made.files.items()},
        "validation": made.validation,
        "model": made.model,
        "steps": made.steps,
        "options": dict(made.options),
    }


def ranked(candidates: Sequence[SearchCandidate]) -> list[SearchCandidate]:
    """Candidates by non-dominated sorting: those of the front first, then those of the front without these, and so on;
    within a front those in sparse regions first. Those far below the most accurate one are last, however cheap."""
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
    """The accuracy below which a candidate is worth little beside the most accurate one."""
    best = max((c.accuracy for c in candidates), default=0.0)
    return best - (1 - WORTH) * abs(best)


def spread(candidates: Sequence[SearchCandidate], count: int) -> list[SearchCandidate]:
    """So many candidates, far from one another: first the most accurate one, then always the one whose accuracy and
    logarithms of costs are farthest from those that were chosen."""
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
    """A front in a line: the accuracy, RAM, flash and cycles of its most accurate candidates."""
    best = sorted(candidates, key=lambda c: (-c.accuracy, c.costs.cycles))
    texts = [
        f"{c.accuracy:.1%} {c.costs.ram / 1024:.1f}K {c.costs.flash / 1024:.1f}K {c.costs.cycles / 1e6:.2f}M"
        for c in best[:most]
    ]
    return " | ".join(texts) + (f" and {len(best) - most} more" if len(best) > most else "")
