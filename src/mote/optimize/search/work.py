"""A single evaluation in a worker: function, outcome and serialization."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from threading import Lock
from traceback import format_exception
from typing import Any, Protocol

from mote.base.errors import InternalError, MoteError, explained
from mote.version import __version__

TRIES = 3
"""Number of workers that may die on an item before it is given up."""

Function = Callable[[Any, Any], Any]
"""Evaluated function of (shared, item); a top-level function, as workers import it by name."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of an evaluation: a value or an error."""

    value: Any = None
    error: MoteError | InternalError | None = None
    traceback: str = ""
    """Traceback of an unexpected error as text, since tracebacks cannot be pickled."""

    def get(self) -> Any:
        """Returns the value or raises the error."""
        if self.error is None:
            return self.value
        raise self.error from (RuntimeError(f"in a worker:\n{self.traceback}") if self.traceback else None)


Outcomes = Generator[tuple[int, Outcome], None, None]
"""Generator of (item index, outcome), in order of completion."""


class Team(Protocol):
    """Protocol of executors of evaluations."""

    @property
    def capacity(self) -> int:
        """Number of concurrent evaluations."""

    def outcomes(self, function: Function, items: Sequence[Any], names: Sequence[str]) -> Outcomes:
        """Yields the outcomes of all items in any order. An item whose worker dies is retried up to TRIES times."""

    def close(self) -> None:
        """Stops the workers."""


def packed(what: str, thing: Any) -> bytes:
    """Pickles an object for workers; `what` describes it in the error message."""
    try:
        return pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise MoteError(
            f"{what} cannot be sent to workers ({error})",
            remedy="search in this process, without workers and without a scheduler; a model that was saved to a file"
            " can be sent",
        ) from None


def died(name: str, where: str = "") -> MoteError:
    """Error for an item on which workers keep dying."""
    return MoteError(
        f"{name}: the worker that evaluated it died {TRIES} times, the last time without a word",
        where=where,
        remedy="is there too little memory for a worker? Use fewer of them, or none: the error is then seen in this"
        " process",
    )


def perform(function: Function, shared: Any, item: Any) -> Outcome:
    """Evaluates an item; errors become part of the outcome, which can always be pickled."""
    try:
        outcome = Outcome(function(shared, item))
        pickle.dumps(outcome)
        return outcome
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> Outcome:
    reported = explained(error)
    return Outcome(
        error=reported, traceback="" if isinstance(reported, MoteError) else "".join(format_exception(error))
    )


_ONE_AT_A_TIME = Lock()
_KEPT: dict[str, Any] = {}
"""Unpickled shared data by digest, cached per cluster process."""


def perform_packed(function: bytes, shared: bytes, key: str, item: bytes, version: str) -> Outcome:
    """Evaluates pickled arguments in a cluster worker. Evaluations change process-wide state (signals, output), so only
    one runs at a time even if the worker has several threads."""
    if version != __version__:
        return Outcome(error=other_version(version, {"a worker": __version__}))
    with _ONE_AT_A_TIME:
        try:
            if key not in _KEPT:
                unpickled = pickle.loads(shared)
                _KEPT.clear()
                _KEPT[key] = unpickled
            evaluated, argument = pickle.loads(function), pickle.loads(item)
        except Exception as error:
            return _failed(error)
        return perform(evaluated, _KEPT[key], argument)


def other_version(mine: str, others: dict[str, str]) -> MoteError:
    """Error for workers with another version of Mote; `others` maps worker to version, empty if Mote is not
    installed."""
    listed = "; ".join(
        f"{worker} has {f'Mote {version}' if version else 'no Mote'}" for worker, version in others.items()
    )
    return MoteError(f"this is Mote {mine}, but {listed}", remedy=f"install Mote {mine} for the workers, too")
