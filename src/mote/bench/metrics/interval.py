"""The confidence interval of a share that was measured on samples."""

from __future__ import annotations

from math import sqrt

NORMAL = 1.959964
"""Standard deviations on both sides of the mean between which 95% of a normal distribution lie."""


def wilson(successes: float, trials: int) -> tuple[float, float]:
    """The 95% confidence interval of a share (Wilson's score interval), which is within 0 and 1 even where all trials
    succeed or none does."""
    share, square = successes / trials, NORMAL**2 / trials
    middle, half = share + square / 2, NORMAL * sqrt(share * (1 - share) / trials + square / (4 * trials))
    return max(0.0, (middle - half) / (1 + square)), min(1.0, (middle + half) / (1 + square))
