"""Non-negative least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

TINY = 1e-9
"""Coefficients and gradients below this count as zero."""


def non_negative(amounts: Reals, wanted: Reals) -> Reals:
    """Non-negative least-squares coefficients by the active set method of Lawson and Hanson."""
    size = np.linalg.norm(amounts, axis=0)
    a = amounts / np.where(size > 0, size, 1)
    x, free = np.zeros(a.shape[1]), np.zeros(a.shape[1], bool)
    while True:
        gain = np.where(free, 0, a.T @ (wanted - a @ x))
        if gain.max(initial=0.0) < TINY:
            return np.asarray(x / np.where(size > 0, size, 1))
        free[gain.argmax()] = True
        while True:
            best = np.zeros_like(x)
            best[free] = np.linalg.lstsq(a[:, free], wanted, rcond=None)[0]
            below = free & (best <= 0)
            if not below.any():
                break
            x += (x[below] / (x[below] - best[below])).min() * (best - x)
            free &= x > TINY
        x = best
