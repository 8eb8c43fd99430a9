"""Features of motion and vibration: statistics, spectra and wavelet energies of windows of samples, in integers.

Samples are int16 `[1, rows, unit, channels]`: a row holds `unit` consecutive samples of interleaved channels. A window
is a whole number of rows. Outputs are int16 `[1, windows, channels * features, 1]`, channel by channel. Units:
amplitudes in steps of the input ("counts"), ratios and logarithms in 1/256 (`FRACTION`), crossings as counts. Results
saturate to int16.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.features.real_fft import RealFft, bit_length, magnitude_bits, real_fft, rounded

FRACTION = 8
"""Fraction bits of ratios and logarithms."""
ONE = 1 << FRACTION
SILENCE = -16 * ONE
"""Lower limit of the logarithm of a band's power."""
LONGEST = 1 << 14
"""Maximum samples of a window: sums of fourth powers then fit 64 bits."""
MEAN_BITS = 11
"""Fraction bits of the mean that is subtracted for moments."""


class Statistic(StrEnum):
    """A statistic of each channel of a window: n samples x with sum S and sum of squares Q."""

    MEAN = "mean"
    """Mean in counts: S / n, rounded halves up."""
    RMS = "rms"
    """Root mean square in counts: floor(sqrt(n Q)) / n, rounded."""
    STD = "std"
    """Standard deviation in counts: floor(sqrt(n Q - S^2)) / n, rounded."""
    MIN = "min"
    MAX = "max"
    PEAK_TO_PEAK = "peak-to-peak"
    """(max - min) / 2 in counts, rounded down: halved so that it fits int16."""
    SKEW = "skew"
    """Skewness (third standardized moment) in 1/256; 0 if all samples are equal."""
    KURTOSIS = "kurtosis"
    """Excess kurtosis (fourth standardized moment - 3) in 1/256; 0 if all samples are equal."""
    ZERO_CROSSINGS = "zero-crossings"
    """Number of zero crossings."""
    MEAN_CROSSINGS = "mean-crossings"
    """Number of crossings of the exact mean."""


class Wavelet(StrEnum):
    """Wavelet families of WINDOW_WAVELET."""

    HAAR = "haar"
    """Haar: sums and differences of pairs; exact, both grow by one bit per level."""
    DAUBECHIES4 = "db4"
    """Daubechies with four taps (two vanishing moments) on samples in 1/256, with circular boundary. Filter
    coefficients have 15 fraction bits; results are rounded halves up."""


LOW = (11190, 19382, 5194, -2998)
"""Low-pass coefficients of Daubechies' wavelet with four taps divided by sqrt(2), times 2^15: their sum is 1, so it
averages."""
HIGH = (LOW[3], -LOW[2], LOW[1], -LOW[0])
LOW_BITS, SAMPLE_BITS = 15, 8
"""Fraction bits of the Daubechies coefficients, and of the samples that they filter."""
WINDOW_BITS = 14
"""Fraction bits of the window function of spectra."""


class WindowFeatures(Op):
    """Base of feature extractors: features of each channel of each window of samples."""

    frame: int
    hop: int
    """Window length, and distance between the beginnings of windows, in samples: multiples of the samples of a row."""

    @property
    def features(self) -> int:
        """Number of features that the operator computes per channel and window."""
        raise NotImplementedError

    def of_signals(self, signals: Ints) -> Ints:
        """Compute the features (last axis) of windows of samples (last axis)."""
        raise NotImplementedError

    def shapes(self, g: Graph) -> list[Shape]:
        n, rows, unit, channels = self.input(g).shape
        return [(n, max((rows * unit - self.frame) // self.hop + 1, 0), channels * self.features, 1)]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        _, rows, unit, _ = self.input(g).shape
        image, row = divmod(y, self.output(g).shape[1])
        first = image * rows + row * self.hop // unit
        return tuple(range(first, first + self.frame // unit))

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if (x.dtype, y.dtype) != (DType.INT16, DType.INT16):
            return f"{x.dtype} samples with {y.dtype} features are not supported (only int16)"
        if self.frame % x.shape[2] or self.hop % x.shape[2]:
            return f"windows of {self.frame} samples every {self.hop} are not made of whole rows of {x.shape[2]}"
        return None if self.frame <= LONGEST else f"windows of more than {LONGEST} samples are not supported"

    def work(self, g: Graph) -> int:
        return 16 * self.output(g).shape[1] * self.frame * self.input(g).shape[3]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        signals = np.moveaxis(x.reshape(x.shape[0], -1, x.shape[-1]), -1, 1)
        windows = sliding_window_view(signals, self.frame, axis=-1)[:, :, :: self.hop]
        results = np.moveaxis(self.of_signals(windows.astype(np.int64)), 1, 2)
        return [np.clip(results, -32768, 32767).astype(np.int16).reshape(*results.shape[:2], -1, 1)]


class WindowStatistics(WindowFeatures):
    """WINDOW_STATISTICS: statistics of each channel of each window, in the listed order."""

    statistics: tuple[Statistic, ...]
    kind = "WINDOW_STATISTICS"

    @property
    def features(self) -> int:
        return len(self.statistics)

    def of_signals(self, signals: Ints) -> Ints:
        return np.stack([STATISTICS[s](signals) for s in self.statistics], axis=-1)


class WindowWavelet(WindowFeatures):
    """WINDOW_WAVELET: per level, from the finest on, the base-2 logarithm of the wavelet details' share of the mean
    square, in 1/256. The shares of all levels and of the last approximation add up to the mean square. A share of zero
    counts as the smallest nonzero one that the transform can represent."""

    wavelet: Wavelet
    levels: int
    kind = "WINDOW_WAVELET"

    @property
    def features(self) -> int:
        return self.levels

    def unsupported(self, g: Graph) -> str | None:
        if self.frame % (1 << self.levels):
            return f"{self.levels} levels of windows of {self.frame} samples, no multiple of {1 << self.levels}"
        return super().unsupported(g)

    def offsets(self) -> Ints:
        """Per level, the logarithm of the factor from the sum of squared details to their share of the mean square."""
        level = np.arange(1, self.levels + 1, dtype=np.int64)
        scale = -level if self.wavelet is Wavelet.HAAR else level - 2 * SAMPLE_BITS
        return (scale << FRACTION) - round(math.log2(self.frame) * ONE)

    def of_signals(self, signals: Ints) -> Ints:
        split = _haar if self.wavelet is Wavelet.HAAR else _daubechies
        rest = signals if self.wavelet is Wavelet.HAAR else signals << SAMPLE_BITS
        energies = []
        for _ in range(self.levels):
            rest, details = split(rest)
            energies.append(np.square(details).sum(axis=-1))
        return log2(np.stack(energies, axis=-1)) + self.offsets()


class WindowSpectrum(WindowFeatures):
    """WINDOW_SPECTRUM: spectrum of each channel of each window minus its rounded mean. For each band of bins: the
    base-2 logarithm of its share of the mean square, in 1/256, at least `SILENCE`; then, if `dominant`, the index of
    the bin with the largest power except bin 0: the frequency in units of sample rate / frame.

    Samples are multiplied by a window with 14 fraction bits, whose power loss is compensated. The transform is
    `real_fft`.
    """

    edges: tuple[int, ...]
    """First bin of each band, then the end of the last band (exclusive)."""
    dominant: bool
    hann: bool
    kind = "WINDOW_SPECTRUM"

    @property
    def features(self) -> int:
        return self.bands + self.dominant

    @property
    def bands(self) -> int:
        return max(len(self.edges) - 1, 0)

    @property
    def transform(self) -> RealFft:
        return real_fft(self.frame)

    def unsupported(self, g: Graph) -> str | None:
        if not RealFft.fits(self.frame):
            return f"spectra of {self.frame} samples are not supported (only 2^a 3^b 5^c)"
        inside = all(0 <= a < b <= self.frame // 2 + 1 for a, b in pairwise(self.edges))
        return (
            super().unsupported(g)
            if inside
            else f"bands of bins {self.edges} do not ascend within {self.frame} samples"
        )

    @property
    def taps(self) -> Ints:
        """The window function with 14 fraction bits: periodic Hann, or ones."""
        angles = 2 * np.pi * np.arange(self.frame, dtype=np.int64) / self.frame
        window = 0.5 - 0.5 * np.cos(angles) if self.hann else np.ones(self.frame)
        return np.rint(window * (1 << WINDOW_BITS)).astype(np.int64)

    @property
    def offset(self) -> int:
        """Logarithm of the factor from a sum of bin powers to the share of the mean square: one-sided spectrum, FFT
        length, window power."""
        energy = int(np.square(self.taps).sum())
        return round(ONE * (1 + 2 * WINDOW_BITS - math.log2(self.frame) - math.log2(energy)))

    def of_signals(self, signals: Ints) -> Ints:
        centered = (signals - _mean(signals)[..., None]) * self.taps
        powers = self.transform.powers(centered.reshape(-1, self.frame), WINDOW_BITS)
        audible = magnitude_bits(centered.reshape(-1, self.frame)) > 0
        base = 2 * ONE * powers.exponent + self.offset
        energies = [powers.values[:, a:b].sum(axis=-1) for a, b in pairwise(self.edges)]
        columns = [np.where(audible, np.maximum(log2(energy) + base, SILENCE), SILENCE) for energy in energies]
        if self.dominant:
            columns.append(np.where(audible, powers.values[:, 1:].argmax(axis=-1) + 1, 0))
        return np.stack(columns, axis=-1).reshape(*signals.shape[:-1], self.features)


def _haar(x: Ints) -> tuple[Ints, Ints]:
    """One level of the Haar transform: sums and differences of pairs."""
    return x[..., ::2] + x[..., 1::2], x[..., ::2] - x[..., 1::2]


def _daubechies(x: Ints) -> tuple[Ints, Ints]:
    """One level of the Daubechies transform: averages and details."""
    taps = [np.roll(x, -k, axis=-1)[..., ::2] for k in range(4)]
    half = 1 << LOW_BITS - 1
    low, high = (sum((c * t for c, t in zip(f, taps, strict=True)), np.int64(half)) for f in (LOW, HIGH))
    return np.asarray(low >> LOW_BITS), np.asarray(high >> LOW_BITS)


def log2(x: Ints) -> Ints:
    """Base-2 logarithm of integers below 2^63 in 1/256, rounded down; 0 for zero.

    Bits are found by repeatedly squaring a 32-bit mantissa.
    """
    x = np.maximum(x, 1)
    whole = bit_length(x) - 1
    whole = whole - (x >> whole == 0)
    mantissa = np.where(whole > 31, x >> np.maximum(whole - 31, 0), x << np.maximum(31 - whole, 0)).astype(np.uint64)
    result = np.asarray(whole, np.int64)
    for _ in range(FRACTION):
        mantissa = mantissa * mantissa >> np.uint64(31)
        carry = mantissa >> np.uint64(32)
        mantissa >>= carry
        result = 2 * result + carry.astype(np.int64)
    return result


def integer_root(x: Ints) -> Ints:
    """Integer square roots of integers below 2^62, rounded down."""
    root = np.sqrt(x.astype(np.float64)).astype(np.int64)
    root -= root * root > x
    return np.asarray(root + ((root + 1) * (root + 1) <= x))


def _quotient(x: Ints, n: int | Ints) -> Ints:
    """x / n, rounded halves up."""
    return np.asarray((x + n // 2) // n)


def _mean(x: Ints) -> Ints:
    return _quotient(x.sum(axis=-1), x.shape[-1])


def _rms(x: Ints) -> Ints:
    n = x.shape[-1]
    return _quotient(integer_root(n * np.square(x).sum(axis=-1)), n)


def _std(x: Ints) -> Ints:
    n = x.shape[-1]
    return _quotient(integer_root(n * np.square(x).sum(axis=-1) - np.square(x.sum(axis=-1))), n)


def _standard(x: Ints) -> tuple[Ints, Ints, Ints]:
    """Standardize samples for moments: the variance in units of 1/4; the samples minus their mean, scaled so that the
    largest is between 2^11 and 2^12; a mask of windows whose samples are not all equal."""
    n = x.shape[-1]
    total, mean = x.sum(axis=-1, keepdims=True), _mean(x)[..., None]
    max_distance = np.abs(x - mean).max(axis=-1, keepdims=True)
    shift = np.maximum(bit_length(max_distance) - 1, 0)
    around = _quotient(total << MEAN_BITS, n)
    scaled = rounded((x << np.int64(MEAN_BITS)) - around, shift)
    variance = _quotient(4 * np.square(scaled).sum(axis=-1), n)
    return variance, scaled, max_distance[..., 0] > 0


def _skew(x: Ints) -> Ints:
    variance, scaled, varies = _standard(x)
    third = (scaled**3).sum(axis=-1)
    below = np.maximum(variance * integer_root(variance << 10), 1)
    skew = _quotient(np.abs(third) // x.shape[-1] << 16, below)
    return np.where(varies, np.sign(third) * skew, 0)


def _kurtosis(x: Ints) -> Ints:
    variance, scaled, varies = _standard(x)
    fourth = (scaled**4).sum(axis=-1) // x.shape[-1]
    kurtosis = _quotient(fourth << 12, np.maximum(variance * variance, 1))
    return np.where(varies, kurtosis - 3 * ONE, 0)


def _changes(state: Array) -> Ints:
    return np.asarray((state[..., 1:] != state[..., :-1]).sum(axis=-1), np.int64)


def _zero_crossings(x: Ints) -> Ints:
    return _changes(x < 0)


def _mean_crossings(x: Ints) -> Ints:
    return _changes(x * x.shape[-1] < x.sum(axis=-1, keepdims=True))


STATISTICS: dict[Statistic, Callable[[Ints], Ints]] = {
    Statistic.MEAN: _mean,
    Statistic.RMS: _rms,
    Statistic.STD: _std,
    Statistic.MIN: lambda x: np.asarray(x.min(axis=-1)),
    Statistic.MAX: lambda x: np.asarray(x.max(axis=-1)),
    Statistic.PEAK_TO_PEAK: lambda x: np.asarray((x.max(axis=-1) - x.min(axis=-1)) >> 1),
    Statistic.SKEW: _skew,
    Statistic.KURTOSIS: _kurtosis,
    Statistic.ZERO_CROSSINGS: _zero_crossings,
    Statistic.MEAN_CROSSINGS: _mean_crossings,
}
"""The function that computes each statistic along the last axis of samples."""
