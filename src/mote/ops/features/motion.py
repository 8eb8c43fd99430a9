"""Features of motion and vibration: statistics and wavelet energies of windows of samples, in integers.

Samples are int16 `[1, rows, unit, channels]`: a row is `unit` moments, channels interleaved. A window is some whole
rows. Each operator gives int16 `[1, windows, channels, features]`. Every result is an integer in a unit of its own:
amplitudes in steps of the input ("counts"), ratios and logarithms in 1/256 (`FRACTION`), crossings as numbers. What
does not fit 16 bits saturates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum

import numpy as np

from mote.graph import Graph
from mote.graph.numeric.fixedpoint import Ints
from mote.graph.tensor import Array, Shape
from mote.graph.types import DType
from mote.ops.common import WindowOp

FRACTION = 8
"""Bits behind the point of ratios and logarithms."""
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


class WindowFeatures(WindowOp):
    """Numbers of each channel of each window of samples."""

    @property
    def frame(self) -> int:
        """Samples of a window."""
        return self.vertical.kernel * self.horizontal.kernel

    @property
    def features(self) -> int:
        """Numbers for each channel."""
        raise NotImplementedError

    def of_signals(self, signals: Ints) -> Ints:
        """The features (last axis) of signals (last axis)."""
        raise NotImplementedError

    def shapes(self, g: Graph) -> list[Shape]:
        n, rows, _, channels = self.input(g).shape
        return [(n, self.vertical.size(rows), channels, self.features)]

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if (x.dtype, y.dtype) != (DType.INT16, DType.INT16):
            return f"{x.dtype} samples with {y.dtype} features are not supported (only int16)"
        if self.horizontal.kernel != x.shape[2] or self.vertical.before or self.vertical.after:
            return "windows that are not made of whole rows of samples are not supported"
        return None if self.frame <= LONGEST else f"windows of more than {LONGEST} samples are not supported"

    def work(self, g: Graph) -> int:
        return 16 * self.output(g).shape[1] * self.frame * self.input(g).shape[3]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        n, rows, _, channels = x.shape
        windows = x[:, self.vertical.positions(rows)].reshape(n, -1, self.frame, channels)
        results = self.of_signals(np.moveaxis(windows, -1, -2).astype(np.int64))
        return [np.clip(results, -32768, 32767).astype(np.int16)]


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
        level = np.arange(1, self.levels + 1)
        scale = -level if self.wavelet is Wavelet.HAAR else level - 2 * SAMPLE_BITS
        return (scale << FRACTION) - round(math.log2(self.frame) * (1 << FRACTION))

    def of_signals(self, signals: Ints) -> Ints:
        split = _haar if self.wavelet is Wavelet.HAAR else _daubechies
        rest = signals if self.wavelet is Wavelet.HAAR else signals << SAMPLE_BITS
        energies = []
        for _ in range(self.levels):
            rest, details = split(rest)
            energies.append(np.square(details).sum(axis=-1))
        return log2(np.stack(energies, axis=-1)) + self.offsets()


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
    whole = sum(((x >> k) > 0).astype(np.int64) for k in range(1, 63))
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


def _rounded(x: Ints, n: int | Ints) -> Ints:
    """x / n to the nearest, halves up."""
    return np.asarray((x + n // 2) // n)


def _mean(x: Ints) -> Ints:
    return _rounded(x.sum(axis=-1), x.shape[-1])


def _rms(x: Ints) -> Ints:
    n = x.shape[-1]
    return _rounded(integer_root(n * np.square(x).sum(axis=-1)), n)


def _std(x: Ints) -> Ints:
    n = x.shape[-1]
    return _rounded(integer_root(n * np.square(x).sum(axis=-1) - np.square(x.sum(axis=-1))), n)


def _standard(x: Ints) -> tuple[Ints, Ints, Ints]:
    """The variance in 1/4, and samples less their mean, with the largest of about 2^11 to 2^12, of which it is; and
    where samples are not all equal. Ratios of moments need no more bits, and their sums fit 64."""
    n = x.shape[-1]
    total, mean = x.sum(axis=-1, keepdims=True), _mean(x)[..., None]
    farthest = np.abs(x - mean).max(axis=-1, keepdims=True)
    shift = np.maximum(sum((farthest >> k > 0).astype(np.int64) for k in range(17)) - 1, 0)
    around = _rounded(total << MEAN_BITS, n)
    scaled = ((x << MEAN_BITS) - around + (1 << shift >> 1)) >> shift
    variance = _rounded(4 * np.square(scaled).sum(axis=-1), n)
    return variance, scaled, farthest[..., 0] > 0


def _skew(x: Ints) -> Ints:
    variance, scaled, varies = _standard(x)
    third = (scaled**3).sum(axis=-1)
    below = np.maximum(variance * integer_root(variance << 10), 1)
    skew = _rounded(np.abs(third) // x.shape[-1] << 16, below)
    return np.where(varies, np.sign(third) * skew, 0)


def _kurtosis(x: Ints) -> Ints:
    variance, scaled, varies = _standard(x)
    fourth = (scaled**4).sum(axis=-1) // x.shape[-1]
    kurtosis = _rounded(fourth << 12, np.maximum(variance * variance, 1))
    return np.where(varies, kurtosis - (3 << FRACTION), 0)


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
