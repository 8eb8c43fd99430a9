"""Confidence interval of a share measured on samples."""

from __future__ import annotations

from math import sqrt

NORMAL = 1.959964
"""Quantile of the normal distribution for a two-sided 95% interval."""


def wilson(successes: float, trials: int) -> tuple[float, float]:
    """95% confidence interval of a share (Wilson score interval), which stays within 0 and 1 even if all or no trials
    succeed."""
    share, square = successes / trials, NORMAL**2 / trials
    middle, half = share + square / 2, NORMAL * sqrt(share * (1 - share) / trials + square / (4 * trials))
    return max(0.0, (middle - half) / (1 + square)), min(1.0, (middle + half) / (1 + square))
