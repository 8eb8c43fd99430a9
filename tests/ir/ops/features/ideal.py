"""Features of sounds in real arithmetic: the formulas that integers are compared with."""

from __future__ import annotations

import numpy as np

from mote.ir.graph.tensor import Array
from mote.ir.ops.features.spectral import SpectralFeatures


def window(name: str, frame: int) -> Array:
    """A window of so many samples."""
    angles = 2 * np.pi * np.arange(frame)
    if name == "hann":
        return 0.5 - 0.5 * np.cos(angles / frame)
    return 0.54 - 0.46 * np.cos(angles / (frame - 1)) if name == "hamming" else np.ones(frame)


def mel(frequency: Array) -> Array:
    """Frequencies in Hz on the mel scale."""
    return 1127 * np.log1p(frequency / 700)


def filters(op: SpectralFeatures) -> Array:
    """[bins, filters]: triangles on the mel scale. The bin of no frequency belongs to none."""
    edges = np.linspace(mel(np.array(op.low)), mel(np.array(op.high)), op.filters + 2)
    points = mel(np.arange(op.fft // 2 + 1) * op.rate / op.fft)[:, None]
    rising = (points - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - points) / (edges[2:] - edges[1:-1])
    weights: Array = np.maximum(0, np.minimum(rising, falling))
    weights[0] = 0
    return weights


def energies(op: SpectralFeatures, frames: Array) -> Array:
    """[frames, bins or filters] of frames of samples from -1 to 1."""
    spectrum = np.abs(np.fft.rfft(frames * window(op.window, op.frame), op.fft))
    if op.spectrum == "power":
        spectrum = np.square(spectrum) / op.frame
    return spectrum @ filters(op) if op.filters else spectrum


def features(op: SpectralFeatures, frames: Array) -> Array:
    """[frames, n] of frames of samples from -1 to 1."""
    result = energies(op, frames)
    if op.log != "none":
        result = np.log(result + op.floor) if op.log == "ln" else 10 * np.log10(result + op.floor)
    if op.coefficients:
        angles = np.pi / op.filters * np.outer(np.arange(op.filters) + 0.5, np.arange(op.coefficients))
        result = result @ (np.cos(angles) * np.sqrt(2 / op.filters))
    return np.asarray(result)
