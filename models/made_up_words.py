"""Made-up words: the features of utterances, 49 frames of 10 bands, that the bundled keyword spotter was trained on.

A recorded data set would bring its licence and its size. So the words are synthetic: tracks of energy that
move through the ten bands the way formants and chirps do, at a random time, speed, pitch and loudness, in
coloured noise with clicks. Each word is a set of tracks; a track is the bands it passes at equal steps of time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FRAMES, BANDS = 49, 10

WORDS: dict[str, list[list[float]]] = {
    "silence": [],
    "rise": [[2.0, 7.0]],
    "fall": [[7.0, 2.0]],
    "peak": [[2.5, 6.5, 2.5]],
    "dip": [[6.5, 2.5, 6.5]],
    "level": [[4.5, 4.5]],
    "part": [[4.5, 7.5], [4.5, 1.5]],
    "meet": [[7.5, 4.5], [1.5, 4.5]],
}
"""Words of the network, its classes in order."""
NEW: dict[str, list[list[float]]] = {
    "wave": [[2.5, 6.5, 2.5, 6.5]],
    "cross": [[2.0, 7.0], [7.0, 2.0]],
    "pair": [[2.5, 2.5], [6.5, 6.5]],
    "hook": [[2.0, 2.0, 7.0]],
    "slide": [[7.0, 7.0, 2.0]],
    "fork": [[4.5, 4.5, 7.5], [4.5, 4.5, 1.5]],
    "climb": [[1.0, 4.5], [4.5, 8.0]],
    "drop": [[4.5, 1.0], [8.0, 4.5]],
    "ring": [[4.5, 7.5, 4.5], [4.5, 1.5, 4.5]],
}
"""Words that the network does not know."""


def word(tracks: list[list[float]], rng: np.random.Generator) -> NDArray[np.float64]:
    """One utterance: log energies [frames, bands], about -1 to 2."""
    length = rng.uniform(18, 40)
    start = rng.uniform(0, FRAMES - length)
    pitch, loudness = rng.uniform(-1.2, 1.2), rng.uniform(0.6, 1.6)
    width = rng.uniform(0.5, 1.0)
    time = (np.arange(FRAMES) - start) / length
    inside = np.clip(np.minimum(time, 1 - time) * 8, 0, 1)
    energy = background(rng)
    for track in tracks:
        wobble = 0.3 * np.sin(rng.uniform(0, 6.3) + time * rng.uniform(3, 9))
        centre = np.interp(time, np.linspace(0, 1, len(track)), track) + pitch + wobble
        bump = np.exp(-(((np.arange(BANDS) - centre[:, None]) / width) ** 2) / 2)
        energy += loudness * inside[:, None] * bump
    return energy


def background(rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise with a tilt over the bands, and now and then a click in all bands at once."""
    noise = rng.uniform(0.25, 0.5) * rng.standard_normal((FRAMES, BANDS))
    tilt = rng.uniform(-0.5, 0.5) * np.linspace(-1, 1, BANDS)
    clicks = (rng.random(FRAMES) < 0.03) * rng.uniform(0.5, 1.5)
    return noise + tilt + clicks[:, None]
