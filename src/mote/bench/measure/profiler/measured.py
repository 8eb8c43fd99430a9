"""Cycles counted on a board, and the error of the model against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean, median_low

from mote.deploy.boards.facts import BoardFacts

RUNS = 3
"""Number of inferences measured on a board; interrupts may disturb one."""


@dataclass(frozen=True)
class BoardMeasurement:
    """Measurement of an inference on a board, and errors of the profile's model if it counts the same unit."""

    facts: BoardFacts
    """The board, its counter and its clock."""
    runs: int
    """Number of measured inferences."""
    total: int
    """Median count of an inference."""
    spread: float
    """Largest minus smallest count, relative to `total`."""
    seconds: float | None
    """Time of an inference at the board's clock in seconds."""
    error: float | None = None
    """Modelled / measured - 1; None without a model."""
    mean_error: float | None = None
    """Mean relative error of the model over layers."""
    geometric_error: float | None = None
    """Geometric mean of the layers' error factors, minus 1."""


def relative_error(modelled: int, measured: int) -> float | None:
    """Relative error of a model: modelled / measured - 1."""
    return modelled / measured - 1 if measured else None


def mean_error(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Mean absolute relative error of the model over layers."""
    return fmean(abs(modelled / measured - 1) for modelled, measured in pairs) if pairs else None


def geometric_error(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Geometric mean over layers of the ratio between model and measurement (whichever is larger), minus 1."""
    return exp(fmean(abs(log(modelled / measured)) for modelled, measured in pairs)) - 1 if pairs else None


def middle(counts: Sequence[int]) -> tuple[int, float]:
    """Index of the median of several counts, and their relative spread."""
    taken = median_low(counts)
    return counts.index(taken), (max(counts) - min(counts)) / taken if taken else 0.0


def percent(error: float | None) -> str | None:
    """A model error as text."""
    return None if error is None else f"{100 * error:+.1f}%"
