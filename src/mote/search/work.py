"""One evaluation, where it is done: what is sent there, and what comes back."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from threading import Lock
from traceback import format_exception
from typing import Any, Protocol

from mote.errors import InternalError, MoteError, explained
from mote.version import __version__

TRIES = 3
"""How many workers may die over an item before it is given up."""

Function = Callable[[Any, Any], Any]
"""What is evaluated: of what all evaluations share, and of an item. Workers find it by its name, so that it stands at
the top of a module that they can import."""


@dataclass(frozen=True)
class Outcome:
    """What came of an item: a value, or an error that explains itself."""

    value: Any = None
    error: MoteError | InternalError | None = None
    traceback: str = ""
    """Where the error comes from, if it is a bug: a process cannot send that as an object."""

    def get(self) -> Any:
        """The value; the error is raised."""
        if self.error is None:
            return self.value
        raise self.error from (RuntimeError(f"in a worker:\n{self.traceback}") if self.traceback else None)


Outcomes = Generator[tuple[int, Outcome], None, None]
"""The numbers and the outcomes of items, as they come."""


class Team(Protocol):
    """Where evaluations are done."""

    @property
    def capacity(self) -> int:
        """How many can be done at once."""

    def outcomes(self, function: Function, items: Sequence[Any], names: Sequence[str]) -> Outcomes:
        """The outcomes of all items, in any order. An item whose worker dies is evaluated again, TRIES times
        at most."""

    def close(self) -> None:
        """Let the workers go."""


def packed(what: str, thing: Any) -> bytes:
    """A thing as it is sent to workers."""
    try:
        return pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise MoteError(
            f"{what} cannot be sent to workers ({error})",
            remedy="search in this process, without workers and without a scheduler; a model that was saved to a file"
            " can be sent",
        ) from None


def died(name: str, where: str = "") -> MoteError:
    """What is to be said of an item that workers die of."""
    return MoteError(
        f"{name}: the worker that evaluated it died {TRIES} times, the last time without a word",
        where=where,
        remedy="is there too little memory for a worker? Use fewer of them, or none: the error is then seen in this"
        " process",
    )


def perform(function: Function, shared: Any, item: Any) -> Outcome:
    """Evaluate an item; whatever goes wrong is part of the outcome, which can be sent in any case."""
    try:
        outcome = Outcome(function(shared, item))
        pickle.dumps(outcome)
        return outcome
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> Outcome:
    told = explained(error)
    return Outcome(error=told, traceback="" if isinstance(told, MoteError) else "".join(format_exception(error)))


_ONE_AT_A_TIME = Lock()
_KEPT: dict[str, Any] = {}
"""What evaluations share, by its digest, made once in each process of a cluster."""


def perform_packed(function: bytes, shared: bytes, key: str, item: bytes, version: str) -> Outcome:
    """The same, of pickled things, as a worker of a cluster does it. It may have several threads, but evaluations set
    what a whole process has (signals, output), so that one is done at a time."""
    if version != __version__:
        return Outcome(error=other_version(version, {"a worker": __version__}))
    with _ONE_AT_A_TIME:
        try:
            if key not in _KEPT:
                made = pickle.loads(shared)
                _KEPT.clear()
                _KEPT[key] = made
            evaluated, given = pickle.loads(function), pickle.loads(item)
        except Exception as error:
            return _failed(error)
        return perform(evaluated, _KEPT[key], given)


def other_version(mine: str, others: dict[str, str]) -> MoteError:
    """What is to be said of workers that would give other results, or none: their versions by name, empty where there
    is no Mote."""
    listed = "; ".join(
        f"{worker} has {f'Mote {version}' if version else 'no Mote'}" for worker, version in others.items()
    )
    return MoteError(
        f"this is Mote {mine}, but {listed}",
        remedy=f"install Mote {mine} for the workers, too",
    )
