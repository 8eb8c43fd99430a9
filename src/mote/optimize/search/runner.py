"""Runs a function over items in this process, in worker processes or on a cluster. Results and their order do not
depend on where it runs, on the number of workers, or on workers that die."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from mote.base.errors import MoteError
from mote.optimize.search.cluster import Cluster
from mote.optimize.search.journal import Journal, returned
from mote.optimize.search.processes import Processes
from mote.optimize.search.work import Function, Outcome, Outcomes, Team

Item = TypeVar("Item")


class Runner:
    """Evaluates rounds of items with the same workers."""

    def __init__(self, team: Team, journal: Journal | None = None) -> None:
        self._team, self._journal = team, journal

    @property
    def capacity(self) -> int:
        """Number of concurrent evaluations; callers that may not need all results should request this many at a
        time."""
        return self._team.capacity

    def run(
        self,
        function: Function,
        items: Iterable[Item],
        *,
        key: Callable[[Item], str] | None = None,
        name: Callable[[Item], str] = str,
    ) -> Iterator[tuple[Item, Any]]:
        """Yields each item with `function(shared, item)`, in item order; an item's error is raised at its turn.

        `key(item)` is the digest (`mote.search.digest`) of everything that a result depends on: results in the journal
        are not evaluated again, and new ones are written at once. Results must then be JSON or dataclasses, of the
        annotated return type of `function`. `name(item)` describes an item in messages."""
        wanted = list(items)
        names = [name(item) for item in wanted]
        journal = self._journal if key is not None else None
        keys = [key(item) for item in wanted] if key is not None else []
        form = returned(function)
        known = {}
        if journal is not None:
            known = {i: Outcome(journal.read(key, form)) for i, key in enumerate(keys) if key in journal}
        missing = [i for i in range(len(wanted)) if i not in known]
        outcomes = self._team.outcomes(function, [wanted[i] for i in missing], [names[i] for i in missing])
        with closing(outcomes):
            for i, item in enumerate(wanted):
                while i not in known:
                    number, outcome = next(outcomes)
                    at = missing[number]
                    if journal is not None and outcome.error is None:
                        journal.add(keys[at], names[at], outcome.value)
                        outcome = Outcome(journal.read(keys[at], form))
                    known[at] = outcome
                yield item, known.pop(i).get()


@contextmanager
def running(
    shared: Any = None, *, scheduler: str = "", workers: int = 0, journal: str | Path | None = None
) -> Iterator[Runner]:
    """Context manager of a runner for functions of (`shared`, item); `shared` is sent to each worker once.

    `scheduler`: address of a Dask scheduler. `workers`: number of processes, or with a scheduler of concurrent
    evaluations; 0: this process, or as many as the cluster has threads."""
    if workers < 0:
        raise MoteError(f"{workers} is less than 0", where="option workers")
    kept = None if journal is None else Journal(journal)
    team: Team
    if scheduler:
        team = Cluster(shared, scheduler, workers)
    else:
        team = Processes(shared, workers) if workers else _InProcess(shared)
    with closing(team):
        yield Runner(team, kept)


def run(
    function: Function,
    items: Iterable[Item],
    shared: Any = None,
    *,
    scheduler: str = "",
    workers: int = 0,
    journal: str | Path | None = None,
    key: Callable[[Item], str] | None = None,
    name: Callable[[Item], str] = str,
) -> Iterator[tuple[Item, Any]]:
    """Evaluates one round of items: `running` and `Runner.run` in one call."""
    with running(shared, scheduler=scheduler, workers=workers, journal=journal) as runner:
        yield from runner.run(function, items, key=key, name=name)


class _InProcess:
    """Evaluates items in this process, lazily; errors propagate unchanged."""

    capacity = 1

    def __init__(self, shared: Any) -> None:
        self._shared = shared

    def outcomes(self, function: Function, items: Sequence[Any], names: Sequence[str]) -> Outcomes:
        for i, item in enumerate(items):
            yield i, Outcome(function(self._shared, item))

    def close(self) -> None:
        pass
