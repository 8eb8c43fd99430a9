"""Signal-to-noise ratio of two tensors."""

from __future__ import annotations

from math import inf, log10

import numpy as np

from mote.base.errors import MoteError
from mote.bench.metrics.arrays import Array


def noise(reference: Array, other: Array) -> float:
    """Signal-to-noise ratio in dB: energy of the reference over that of the difference. Infinite if equal; minus
    infinite without signal."""
    if reference.shape != other.shape:
        raise MoteError(f"arrays of the shapes {reference.shape} and {other.shape} cannot be compared")
    wanted = reference.astype(np.float64)
    return decibels(float(np.square(wanted).sum()), float(np.square(wanted - other).sum()))


def decibels(signal: float, wrong: float) -> float:
    """Ratio of two energies in dB."""
    if wrong == 0:
        return inf
    return 10 * (log10(signal) - log10(wrong)) if signal else -inf
