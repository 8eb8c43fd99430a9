"""Features of motion and vibration: statistics, spectra and wavelet energies of windows of samples, in integers.

Samples are int16 `[1, rows, unit, channels]`: a row is `unit` moments, channels interleaved. A window is some whole
rows. Each operator gives int16 `[1, windows, channels * features, 1]`, one channel after another. Every result is an
integer in a unit of its own: amplitudes in steps of the input ("counts"), ratios and logarithms in 1/256 (`FRACTION`),
crossings as numbers. What does not fit 16 bits saturates.
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
"""Bits behind the point of ratios and logarithms."""
ONE = 1 << FRACTION
SILENCE = -16 * ONE
"""The logarithm of the least power of a band."""
LONGEST = 1 << 14
"""Samples of a window, at most: sums of fourth powers then fit 64 bits."""
MEAN_BITS = 11
"""Bits behind the point of the mean that moments are taken around."""


class Statistic(StrEnum):
    """A number that `statistics` computes for each channel of a window of n samples x with sum S and squares Q."""

    MEAN = "mean"
    """S / n in counts, to the nearest, halves up."""
    RMS = "rms"
    """The root of the mean square in counts: floor(sqrt(n Q)) / n to the nearest."""
    STD = "std"
    """The standard deviation in counts: floor(sqrt(n Q - S^2)) / n to the nearest."""
    MIN = "min"
    MAX = "max"
    PEAK_TO_PEAK = "peak-to-peak"
    """(max - min) / 2 in counts, rounded down: a unit is two counts, so that it fits."""
    SKEW = "skew"
    """The third standardized moment in 1/256; zero where all samples are equal."""
    KURTOSIS = "kurtosis"
    """The fourth standardized moment less 3, in 1/256; zero where all samples are equal."""
    ZERO_CROSSINGS = "zero-crossings"
    """How often a sample is negative and the one before it is not, or the reverse."""
    MEAN_CROSSINGS = "mean-crossings"
    """How often a sample is below the exact mean and the one before it is not, or the reverse."""


class Wavelet(StrEnum):
    """The filters of a wavelet transform."""

    HAAR = "haar"
    """Sums and differences of pairs, which are exact: both grow by a bit at each level."""
    DAUBECHIES4 = "db4"
    """Daubechies' filters of four taps (two vanishing moments), over samples in 1/256 that go on as a circle. Filters
    add up to 2^15; each result is rounded to the nearest, halves up."""


LOW = (11190, 19382, 5194, -2998)
"""Daubechies' filter of four taps over sqrt(2), times 2^15: what it sums up it averages."""
HIGH = (LOW[3], -LOW[2], LOW[1], -LOW[0])
LOW_BITS, SAMPLE_BITS = 15, 8
"""Bits behind the point of these filters, and of the samples that they are applied to."""
WINDOW_BITS = 14
"""Bits behind the point of windows of spectra."""


class WindowFeatures(Op):
    """Numbers of each channel of each window of samples."""

    frame: int
    hop: int
    """Samples of a window, and from its beginning to that of the next: multiples of a row's."""

    @property
    def features(self) -> int:
        """Numbers for each channel."""
        raise NotImplementedError

    def of_signals(self, signals: Ints) -> Ints:
        """The features (last axis) of signals (last axis)."""
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
    """Statistics of each channel of each window, in the order in which they are listed."""

    statistics: tuple[Statistic, ...]
    kind = "WINDOW_STATISTICS"

    @property
    def features(self) -> int:
        return len(self.statistics)

    def of_signals(self, signals: Ints) -> Ints:
        return np.stack([STATISTICS[s](signals) for s in self.statistics], axis=-1)


class WindowWavelet(WindowFeatures):
    """Energies of the details of a wavelet transform: for each level, from the finest on, the logarithm to the base of
    two of its share of the mean square, in 1/256. The shares of all levels and of the last approximation add up to the
    mean square. A share of zero counts as the least that the transform can tell from it."""

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
        """The logarithms of what energies are multiplied with, for each level: the energies of details that are not
        scaled as orthonormal ones are, over the samples of a window."""
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
    """The spectrum of each channel of each window less its mean, to the nearest: for each band of bins the logarithm to
    the base of two of its share of the mean square, in 1/256, at least `SILENCE`; then, if it is wanted, the bin of the
    largest power, the first bin aside: frequencies in 1/frame of the rate of samples.

    Samples are multiplied with a window of 14 bits, whose loss of power is made good. The transform is that of
    `real_fft`."""

    edges: tuple[int, ...]
    """The first bin of each band, and the one behind the last."""
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
        return super().unsupported(g) if inside else f"bands of bins {self.edges} of {self.frame} samples"

    @property
    def taps(self) -> Ints:
        """The window, in 14 bits: a periodic Hann window, or ones."""
        angles = 2 * np.pi * np.arange(self.frame, dtype=np.int64) / self.frame
        window = 0.5 - 0.5 * np.cos(angles) if self.hann else np.ones(self.frame)
        return np.rint(window * (1 << WINDOW_BITS)).astype(np.int64)

    @property
    def offset(self) -> int:
        """The logarithm of what sums of powers are multiplied with: spectra have two sides, and n^2 times the power."""
        energy = int(np.square(self.taps).sum())
        return round(ONE * (1 + 2 * WINDOW_BITS - math.log2(self.frame) - math.log2(energy)))

    def of_signals(self, signals: Ints) -> Ints:
        centered = (signals - _mean(signals)[..., None]) * self.taps
        powers = self.transform.powers(centered.reshape(-1, self.frame), WINDOW_BITS)
        heard = magnitude_bits(centered.reshape(-1, self.frame)) > 0
        base = 2 * ONE * powers.exponent + self.offset
        energies = [powers.values[:, a:b].sum(axis=-1) for a, b in pairwise(self.edges)]
        columns = [np.where(heard, np.maximum(log2(energy) + base, SILENCE), SILENCE) for energy in energies]
        if self.dominant:
            columns.append(np.where(heard, powers.values[:, 1:].argmax(axis=-1) + 1, 0))
        return np.stack(columns, axis=-1).reshape(*signals.shape[:-1], self.features)


def _haar(x: Ints) -> tuple[Ints, Ints]:
    """Sums and differences."""
    return x[..., ::2] + x[..., 1::2], x[..., ::2] - x[..., 1::2]


def _daubechies(x: Ints) -> tuple[Ints, Ints]:
    """Averages and details."""
    taps = [np.roll(x, -k, axis=-1)[..., ::2] for k in range(4)]
    half = 1 << LOW_BITS - 1
    low, high = (sum((c * t for c, t in zip(f, taps, strict=True)), np.int64(half)) for f in (LOW, HIGH))
    return np.asarray(low >> LOW_BITS), np.asarray(high >> LOW_BITS)


def log2(x: Ints) -> Ints:
    """The logarithms to the base of two of whole numbers below 2^63 in 1/256, rounded down; that of zero is zero.

    A mantissa of 32 bits, its square rounded down each time, gives one bit after another."""
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
    """The square roots of whole numbers below 2^62, rounded down."""
    root = np.sqrt(x.astype(np.float64)).astype(np.int64)
    root -= root * root > x
    return np.asarray(root + ((root + 1) * (root + 1) <= x))


def _quotient(x: Ints, n: int | Ints) -> Ints:
    """x / n to the nearest, halves up."""
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
    """The variance in 1/4, and samples less their mean, with the largest of about 2^11 to 2^12, of which it is; and
    where samples are not all equal. Ratios of moments need no more bits, and their sums fit 64."""
    n = x.shape[-1]
    total, mean = x.sum(axis=-1, keepdims=True), _mean(x)[..., None]
    farthest = np.abs(x - mean).max(axis=-1, keepdims=True)
    shift = np.maximum(bit_length(farthest) - 1, 0)
    around = _quotient(total << MEAN_BITS, n)
    scaled = rounded((x << np.int64(MEAN_BITS)) - around, shift)
    variance = _quotient(4 * np.square(scaled).sum(axis=-1), n)
    return variance, scaled, farthest[..., 0] > 0


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
"""Each of samples (last axis)."""
