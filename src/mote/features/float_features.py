"""Audio features for keyword models: mel filter bank energies of each frame, and their cepstrum (MFCC). Everything that
the values depend on is a parameter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mote.errors import MoteError
from mote.graph.tensor import Array

WINDOWS = ("hann", "hamming")
SPECTRA = ("magnitude", "power")
UNITS = ("ln", "db")
AT_ONCE = 4096
"""Frames that are transformed together: a long recording takes no more memory than that."""


@dataclass(frozen=True)
class Bands:
    """How energies of bands of frequencies are taken from a sound."""

    rate: int
    """Samples a second."""
    frame: int
    hop: int
    """Samples of a frame, and from its beginning to that of the next."""
    fft: int
    """Points of the transform: the frame and zeros behind it."""
    filters: int
    low: float
    high: float
    """The bands overlap by half and are equally wide on the mel scale, between these frequencies in Hz."""
    window: str
    """"hann" is periodic, "hamming" symmetric."""
    spectrum: str
    """"magnitude", or "power": the square of it, divided by the samples of a frame."""
    unit: str
    """The unit of the energies: natural logarithms, or decibels."""
    floor: float
    """The offset added to an energy before its logarithm."""

    def check(self) -> None:
        """Refuse parameters that no sound fits."""
        for what, wrong in (
            (f"frames of {self.frame} samples", self.frame < 2),
            (f"a hop of {self.hop} samples", self.hop < 1),
            (f"a transform of {self.fft} points of {self.frame} samples", not self.frame <= self.fft <= 1 << 20),
            (f"{self.filters} filters", not 1 <= self.filters <= self.fft),
            (f"bands from {self.low:g} to {self.high:g} Hz at {self.rate} Hz", not self._heard()),
            (f"the window '{self.window}'", self.window not in WINDOWS),
            (f"the spectrum '{self.spectrum}'", self.spectrum not in SPECTRA),
            (f"the unit '{self.unit}'", self.unit not in UNITS),
            (f"a floor of {self.floor:g}", not self.floor > 0),
        ):
            if wrong:
                raise MoteError(
                    f"{what} cannot be", where="option preprocess", remedy="docs/improve/data.md says what can be"
                )

    def _heard(self) -> bool:
        return 0 <= self.low < self.high <= self.rate / 2


def log_mel(sound: Array, bands: Bands) -> Array:
    """[frames, filters]: the logarithm of the energy in each band."""
    bands.check()
    weights = _filters(bands)
    pieces = [_spectrum(frames, bands) @ weights for frames in _frames(sound, bands)]
    energy = np.concatenate(pieces) + bands.floor
    return np.log(energy) if bands.unit == "ln" else 10 * np.log10(energy)


def cepstrum(energies: Array, count: int) -> Array:
    """[frames, count]: the first coefficients of the cosine transform (DCT-II) of each frame, by sqrt(2 / filters)."""
    filters = energies.shape[1]
    if not 1 <= count <= filters:
        raise MoteError(
            f"{count} coefficients of {filters} filters cannot be", where="option preprocess", remedy="take fewer"
        )
    angles = np.pi / filters * np.outer(np.arange(filters) + 0.5, np.arange(count))
    coefficients: Array = energies @ (np.cos(angles) * np.sqrt(2 / filters))
    return coefficients


def _frames(sound: Array, bands: Bands) -> Iterator[Array]:
    if len(sound) < bands.frame:
        raise MoteError(
            f"has {len(sound):,} samples, and a frame takes {bands.frame:,}", remedy="make it longer: length=SAMPLES"
        )
    frames = sliding_window_view(sound, bands.frame)[:: bands.hop]
    yield from (frames[at : at + AT_ONCE] for at in range(0, len(frames), AT_ONCE))


def _spectrum(frames: Array, bands: Bands) -> Array:
    angles = 2 * np.pi * np.arange(bands.frame)
    if bands.window == "hann":
        window = 0.5 - 0.5 * np.cos(angles / bands.frame)
    else:
        window = 0.54 - 0.46 * np.cos(angles / (bands.frame - 1))
    magnitude: Array = np.abs(np.fft.rfft(frames * window, bands.fft))
    return magnitude if bands.spectrum == "magnitude" else np.square(magnitude) / bands.frame


def _filters(bands: Bands) -> Array:
    """[points, filters]: triangles on the mel scale. The first point is no frequency, and belongs to none."""
    edges = np.linspace(_mel(np.array(bands.low)), _mel(np.array(bands.high)), bands.filters + 2)
    points = _mel(np.linspace(0, bands.rate / 2, bands.fft // 2 + 1))[:, None]
    rising = (points - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - points) / (edges[2:] - edges[1:-1])
    weights: Array = np.maximum(0, np.minimum(rising, falling))
    weights[0] = 0
    return weights


def _mel(frequency: Array) -> Array:
    return 1127 * np.log1p(frequency / 700)
