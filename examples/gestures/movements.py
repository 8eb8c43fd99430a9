"""Movements of a made-up wrist, as an accelerometer gives them: int16, three axes, 100 samples a second, 4,096 for the
gravity of the earth.

Each window of 1.6 seconds holds one movement that may begin a little earlier or later, with a speed, a size and a tilt
of its own, the tremor of a hand and the noise of the sensor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RATE = 100
WINDOW = 160
GRAVITY = 4096
NAMES = ("still", "wave", "circle", "shake", "knock")


def windows(count: int, seed: int = 0) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """[count, WINDOW, 3] and the movement of each, all as often."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % len(NAMES)
    return np.stack([_window(NAMES[label], rng) for label in labels]), labels


def _window(name: str, rng: np.random.Generator) -> NDArray[np.int16]:
    t = np.arange(WINDOW) / RATE
    speed, size, start = rng.uniform(0.8, 1.25), rng.uniform(0.7, 1.4), rng.uniform(0, 0.3)
    phase = 2 * np.pi * (t - start) * speed
    inside = _inside(t, start, rng.uniform(1.0, 1.3))
    zero = np.zeros(WINDOW)
    movement = {
        "still": lambda: (zero, zero, zero),
        "wave": lambda: (0.9 * np.sin(2 * phase) * inside, 0.15 * np.sin(4 * phase) * inside, zero),
        "circle": lambda: (0.6 * np.cos(phase) * inside, 0.6 * np.sin(phase) * inside, zero),
        "shake": lambda: (0.3 * np.sin(7 * phase) * inside, zero, 1.1 * np.sin(7 * phase + 0.4) * inside),
        "knock": lambda: (zero, zero, 2.2 * _knocks(t, start + 0.2, 0.3 / speed)),
    }[name]()
    moved = size * np.stack(movement, axis=1) + _tilt(rng)
    tremor = 0.02 * np.sin(2 * np.pi * 9 * t[:, None] + rng.uniform(0, 6, 3))
    noise = rng.normal(0, 0.015, (WINDOW, 3))
    return np.clip(np.rint(GRAVITY * (moved + tremor + noise)), -32768, 32767).astype(np.int16)


def _inside(t: NDArray[np.float64], start: float, length: float) -> NDArray[np.float64]:
    """One while a movement lasts, rising and falling within a tenth of a second."""
    return np.clip((t - start) / 0.1, 0, 1) * np.clip((start + length - t) / 0.1, 0, 1)


def _knocks(t: NDArray[np.float64], first: float, apart: float) -> NDArray[np.float64]:
    """Three short blows that bounce back."""
    since = t[:, None] - (first + apart * np.arange(3))
    blow = np.where(since >= 0, np.exp(-since / 0.02) * np.cos(2 * np.pi * 22 * since), 0)
    total: NDArray[np.float64] = blow.sum(axis=1)
    return total


def _tilt(rng: np.random.Generator) -> NDArray[np.float64]:
    """Gravity, of which the third axis has the most."""
    x, y = rng.normal(0, 0.12, 2)
    return np.array([x, y, np.sqrt(max(1 - x * x - y * y, 0.25))])
