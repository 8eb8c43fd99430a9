"""Cycles that the counter of a board measured, and how far the model is from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean, median_low

from mote.deploy.boards.facts import BoardFacts

RUNS = 3
"""Inferences that a board measures: interrupts may fall into one of them."""


@dataclass(frozen=True)
class BoardMeasurement:
    """One inference on a board. Errors are those of the profile's model, which counts the same unit."""

    facts: BoardFacts
    """The board, its counter and its clock."""
    runs: int
    """Inferences that were measured."""
    total: int
    """The count of the middle one of these."""
    spread: float
    """The largest count less the least, as a fraction of `total`."""
    seconds: float | None
    """The time of an inference at the board's clock."""
    error: float | None = None
    """Modelled over measured, less 1; None where there is no model."""
    mean_error: float | None = None
    """The mean over layers of how far the model is from the measurement, as a fraction of it."""
    geometric_error: float | None = None
    """The factor that layers are off by in the geometric mean, less 1."""


def relative_error(modelled: int, measured: int) -> float | None:
    """How far a model is from a measurement, as a fraction of it."""
    return modelled / measured - 1 if measured else None


def mean_error(pairs: Sequence[tuple[int, int]]) -> float | None:
    """The mean of |modelled / measured - 1| over layers."""
    return fmean(abs(modelled / measured - 1) for modelled, measured in pairs) if pairs else None


def geometric_error(pairs: Sequence[tuple[int, int]]) -> float | None:
    """The geometric mean over layers of the factor between model and measurement, whichever is larger, less 1."""
    return exp(fmean(abs(log(modelled / measured)) for modelled, measured in pairs)) - 1 if pairs else None


def middle(counts: Sequence[int]) -> tuple[int, float]:
    """The index of the middle count of several, and their spread as a fraction of it."""
    taken = median_low(counts)
    return counts.index(taken), (max(counts) - min(counts)) / taken if taken else 0.0


def percent(error: float | None) -> str | None:
    """The error of a model as a text."""
    return None if error is None else f"{100 * error:+.1f}%"
