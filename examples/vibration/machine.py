"""Vibration of a made-up machine, as an accelerometer on its bearing gives it: int16, 3,200 samples a second.

A shaft turns about 25 times a second; its harmonics, the teeth of a gear and noise are always there. Speed and load
change from window to window. Three faults are known: impulses of a damaged bearing that ring, a shaft out of balance,
and a loose foundation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RATE = 3200
WINDOW = 256
FAULTS = ("bearing", "unbalanced", "loose")
HARMONICS = (1.0, 0.45, 0.3, 0.12, 0.08)
TEETH, IMPULSES, RINGING = 23, 3.58, 1150.0
"""Of the gear; of a damaged bearing in each turn, and the frequency in Hz at which it rings."""


def windows(count: int, fault: str = "", seed: int = 0) -> NDArray[np.int16]:
    """[count, WINDOW, 1]: as many windows of the machine, with a fault or without."""
    rng = np.random.default_rng([seed, len(fault)])
    return np.stack([_window(fault, rng) for _ in range(count)])[..., None]


def _window(fault: str, rng: np.random.Generator) -> NDArray[np.int16]:
    turn, load = rng.uniform(24, 26), rng.uniform(0.7, 1.3)
    t = np.arange(WINDOW) / RATE
    x = 400 * load * sum(a * _tone(t, (k + 1) * turn, rng) for k, a in enumerate(HARMONICS))
    x = x + 120 * load * _tone(t, TEETH * turn, rng) + rng.normal(0, 60, WINDOW)
    if fault == "bearing":
        x = x + rng.uniform(500, 1000) * _impulses(t, IMPULSES * turn, rng)
    elif fault == "unbalanced":
        x = x + rng.uniform(900, 1500) * _tone(t, turn, rng)
    elif fault == "loose":
        halves = sum(_tone(t, (k + 0.5) * turn, rng) / (k + 1) for k in range(6))
        x = x + rng.uniform(250, 450) * halves + rng.normal(0, 150, WINDOW)
    return np.clip(np.rint(x), -32768, 32767).astype(np.int16)


def _tone(t: NDArray[np.float64], frequency: float, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.sin(2 * np.pi * (frequency * t + rng.uniform()))


def _impulses(t: NDArray[np.float64], frequency: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Impulses that each ring for some milliseconds, not quite regular."""
    first = rng.uniform() / frequency
    total = np.zeros_like(t)
    for k in range(int(t[-1] * frequency) + 1):
        since = t - first - (k + rng.normal(0, 0.02)) / frequency
        total += np.where(since >= 0, np.exp(-since / 0.0025) * np.sin(2 * np.pi * RINGING * since), 0)
    return total
