"""Spectral features of audio, in integers: spectrograms, mel filter banks, logarithms, cepstra (MFCC), and gain
normalization. The specification of `mote_spectral_features.h`; docs/improve/features.md documents all rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, floor, frexp, log, log2, sqrt

import numpy as np

from mote.base.integers import bincount
from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.features.real_fft import RealFft, bit_length, real_fft, rounded

WINDOWS = ("hann", "hamming", "none")
SPECTRA = ("magnitude", "power")
LOGS = {"none": 0.0, "ln": log(2), "db": 10 * log(2) / log(10)}
"""Units of logarithms: their value for one octave (factor 2) of energy."""
ONE = 1 << 15
"""1.0 in windows, filters and samples: 15 fraction bits."""
MAGNITUDE_BITS = 8
"""Fraction bits of magnitudes."""
LOG_BITS = 16
"""Fraction bits of base-2 logarithms."""
LOG_STEPS, ROOT_STEPS = 64, 96
"""Segments of the lookup tables of logarithms and square roots, with linear interpolation."""
FINEST, CEPSTRUM_BITS = 12, 13
"""Maximum fraction bits of logarithms, and total bits of logarithms that a cepstrum is computed from."""
INT16_MAX, INT32_MAX = (1 << 15) - 1, (1 << 31) - 1


def mel(frequency: Array) -> Array:
    """Convert frequencies from Hz to mel."""
    return 1127 * np.log1p(frequency / 700)


def log_table() -> Ints:
    """Lookup table of log2(1 + i / 64) with 16 fraction bits."""
    table: Ints = np.rint(np.log2(1 + np.arange(LOG_STEPS + 1, dtype=np.int64) / LOG_STEPS) * (1 << LOG_BITS)).astype(
        np.int64
    )
    return table


def root_table() -> Ints:
    """Lookup table of sqrt((32 + i) * 2^25) - 2^15."""
    table: Ints = np.rint(np.sqrt((32 + np.arange(ROOT_STEPS + 1, dtype=np.int64)) * 2.0**25)).astype(np.int64) - ONE
    return table


def square_root(x: Ints) -> Ints:
    """Square roots of 32-bit integers, with MAGNITUDE_BITS (8) fraction bits."""
    even = (32 - bit_length(x)) & ~np.int64(1)
    wide = np.maximum(x, 1) << np.minimum(even, 30)
    table, step = root_table(), np.clip((wide >> np.int64(25)) - 32, 0, ROOT_STEPS - 1)
    inside = (wide >> np.int64(9)) & 0xFFFF
    root = ONE + table[step] + (((table[step + 1] - table[step]) * inside) >> np.int64(16))
    return np.where(x > 0, (root << np.int64(MAGNITUDE_BITS)) >> (even >> np.int64(1)), 0)


def mantissa(x: Ints) -> tuple[Ints, Ints]:
    """Normalize x > 0: a mantissa in [2^31, 2^32), rounded down, and an exponent of two."""
    x = x.astype(np.uint64)
    high = bit_length((x >> np.uint64(32)).astype(np.int64))
    top = (x >> high.astype(np.uint64)).astype(np.int64)
    up = 32 - bit_length(top)
    return top << up, high - up


def binary_log(x: Ints) -> Ints:
    """Base-2 logarithms with 16 fraction bits, for x > 0."""
    top, power = mantissa(x)
    table, step = log_table(), (top >> np.int64(25)) & (LOG_STEPS - 1)
    inside = (top >> np.int64(9)) & 0xFFFF
    bend = ((table[step + 1] - table[step]) * inside) >> np.int64(16)
    log: Ints = ((power + 31) << np.int64(LOG_BITS)) + table[step] + bend
    return log


def octaves(x: float) -> int:
    """log2(x) of a float, with 16 fraction bits."""
    return round(log2(x) * (1 << LOG_BITS))


def in_unit(logs: Ints, factor: int | Ints) -> Ints:
    """Multiply base-2 logarithms by a factor with 32 fraction bits, rounded halves up."""
    return (logs * factor + (1 << 31)) >> np.int64(32)


def unit_factor(unit: float, fraction: int) -> int:
    """Factor for `in_unit` that converts base-2 logarithms to `unit` with `fraction` fraction bits."""
    return round(unit * 2.0 ** (fraction + 32 - LOG_BITS))


@dataclass(frozen=True)
class MelBank:
    """A mel filter bank of half-overlapping triangles: between neighbouring edges one filter rises while the one before
    falls by as much."""

    first: int
    """The lowest bin of the filter bank."""
    counts: Ints
    """[filters + 1]: number of bins between neighbouring edges."""
    rising: Ints
    """[bins]: weight of each bin in its rising filter, with 15 fraction bits; the falling filter has 1 minus that."""

    @property
    def top(self) -> int:
        """The highest bin of the filter bank."""
        return self.first + len(self.rising) - 1

    @property
    def filters(self) -> int:
        return len(self.counts) - 1

    @cached_property
    def starts(self) -> Ints:
        """[filters + 2]: index (from the first bin) of the first bin after each edge, then the number of bins."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def empty(self) -> Array:
        """[filters]: mask of filters without any bin."""
        return np.asarray(self.counts[:-1] + self.counts[1:] == 0)

    def sums(self, spectrum: Ints) -> Ints:
        """Apply the filter bank: [frames, bins] to [frames, filters]."""
        inside = spectrum[:, self.first : self.top + 1]
        rising = np.zeros((len(spectrum), len(self.rising) + 1), np.int64)
        total = rising.copy()
        np.cumsum(inside * self.rising, axis=1, out=rising[:, 1:])
        np.cumsum(inside << np.int64(15), axis=1, out=total[:, 1:])
        rise, whole = (np.diff(sums[:, self.starts], axis=1) for sums in (rising, total))
        return rise[:, :-1] + whole[:, 1:] - rise[:, 1:]


@lru_cache(maxsize=16)
def mel_bands(rate: int, fft: int, filters: int, low: float, high: float) -> MelBank:
    """The mel filter bank of a spectrum: filters equally wide on the mel scale; DC belongs to none."""
    edges = np.linspace(mel(np.array(low)), mel(np.array(high)), filters + 2)
    points = mel(
        np.linspace(0, rate / 2, fft // 2 + 1) if fft % 2 == 0 else np.arange(fft // 2 + 1, dtype=np.int64) * rate / fft
    )
    bins = np.arange(1, (fft + 1) // 2, dtype=np.int64)
    segment = np.searchsorted(edges, points[bins], side="right") - 1
    bins, segment = (x[(segment >= 0) & (segment <= filters)] for x in (bins, segment))
    weights = np.rint((points[bins] - edges[segment]) / (edges[segment + 1] - edges[segment]) * ONE).astype(np.int64)
    used = (weights > np.where(segment == 0, 0, -1)) & (weights < np.where(segment == filters, ONE, ONE + 1))
    bins, segment, weights = bins[used], segment[used], weights[used]
    counts = bincount(segment, filters + 1)
    return MelBank(int(bins[0]) if len(bins) else 1, counts, weights)


@lru_cache(maxsize=16)
def window_table(window: str, frame: int) -> Ints:
    """Window function [frame] with 15 fraction bits: "hann" is periodic, "hamming" symmetric; 1 is clamped to 1 -
    2^-15."""
    angles = 2 * np.pi * np.arange(frame, dtype=np.int64)
    if window == "hann":
        real = 0.5 - 0.5 * np.cos(angles / frame)
    elif window == "hamming":
        real = 0.54 - 0.46 * np.cos(angles / max(frame - 1, 1))
    else:
        return np.full(frame, ONE, np.int64)
    return np.minimum(np.rint(real * ONE), INT16_MAX).astype(np.int64)


class SpectralFeatures(Op):
    """SpectralFeatures: int16 samples [1, rows, unit, 1] to features [1, frames, n, 1]."""

    rate: int
    """Sample rate in Hz."""
    frame: int
    hop: int
    """Frame length, and distance between the beginnings of frames, in samples: multiples of the samples of a row."""
    fft: int
    """FFT length; frames are zero-padded to it."""
    window: str = "hann"
    spectrum: str = "magnitude"
    """Spectrum type: "magnitude", or "power" (its square, divided by the frame length)."""
    filters: int = 0
    """Number of mel filters; 0: all bins of the spectrum."""
    low: float = 0.0
    high: float = 0.0
    """Lower and upper frequency of the filter bank in Hz."""
    log: str = "none"
    floor: float = 1e-6
    """The offset added to an energy before its logarithm."""
    coefficients: int = 0
    """Number of cepstral coefficients (MFCC); 0: no cepstrum."""
    output_fraction: int = 0
    """Fraction bits of the output."""
    sample_fraction: int = 15
    """Fraction bits of the samples."""
    kind = "SpectralFeatures"

    @property
    def columns(self) -> int:
        """Number of features per frame."""
        return self.coefficients or self.filters or self.transform.bins

    @property
    def dtype(self) -> DType:
        """Element type of the output: logarithms are int16, energies int32."""
        return DType.INT32 if self.log == "none" else DType.INT16

    @property
    def transform(self) -> RealFft:
        return real_fft(self.fft)

    @property
    def bands(self) -> MelBank | None:
        if not self.filters:
            return None
        return mel_bands(self.rate, self.fft, self.filters, self.low, self.high)

    @property
    def taps(self) -> Ints:
        """The window function with 15 fraction bits."""
        return window_table(self.window, self.frame)

    @property
    def power(self) -> bool:
        return self.spectrum == "power"

    @property
    def divisor(self) -> int:
        """The number that spectral energies are divided by: the frame length for power spectra, else 1."""
        return self.frame if self.power else 1

    @property
    def least(self) -> int:
        """Replacement for a zero energy in a frame that is not silent: half of the smallest nonzero one."""
        return 1 << (15 - 2 if self.power else 15 + MAGNITUDE_BITS - 1)

    @property
    def offset(self) -> tuple[int, int]:
        """`floor` times `divisor` as mantissa in [2^31, 2^32) and exponent of two."""
        part, power = frexp(self.floor * self.divisor)
        top = round(part * (1 << 32))
        return (top, power - 32) if top < 1 << 32 else (1 << 31, power - 31)

    @property
    def log_fraction(self) -> int:
        """Fraction bits of logarithmic energies: those of the output, or of the input of the cepstrum."""
        if not self.coefficients:
            return self.output_fraction
        return _fraction(self.log_limit, CEPSTRUM_BITS)

    @property
    def log_limit(self) -> float:
        """Upper bound of the absolute value of logarithms. Magnitudes are at most the sum of a frame's samples."""
        most = self._most + self.floor
        return max(abs(log2(most)), abs(log2(self.floor))) * LOGS[self.log]

    @property
    def _most(self) -> float:
        """Upper bound of energies, in the widest band."""
        counts = np.ones(1, np.int64) if self.bands is None else self.bands.counts[:-1] + self.bands.counts[1:]
        return self.frame * max(int(counts.max()), 1) * 2.0 ** ((15 - self.sample_fraction) * (2 if self.power else 1))

    @property
    def factor(self) -> int:
        """Factor for `in_unit` that converts base-2 logarithms to the output's unit."""
        return unit_factor(LOGS[self.log], self.log_fraction)

    @property
    def silence(self) -> Ints:
        """[n]: the features of a silent frame."""
        logs = np.full((1, self.filters or self.columns), self.log_of_nothing, np.int64)
        features: Ints = (self.cepstrum(logs) if self.coefficients else logs)[0]
        return features

    @property
    def log_of_nothing(self) -> int:
        """The logarithm of the floor, in the output's unit: the feature of silence."""
        logs = in_unit(np.array([octaves(self.floor)], np.int64), self.factor)
        return int(np.clip(logs, -INT16_MAX - 1, INT16_MAX)[0])

    @property
    def cosines(self) -> Ints:
        """[coefficients, filters]: DCT matrix of the cepstrum with `cosine_bits` fraction bits."""
        if not self.coefficients:
            return np.zeros((0, 0), np.int64)
        table: Ints = np.rint(self._cosines * (1 << self.cosine_bits)).astype(np.int64)
        return table

    @property
    def cosine_bits(self) -> int:
        """Fraction bits of the DCT matrix: the most for which sums fit 32 bits and coefficients 16."""
        largest = 1 + self.log_limit * 2.0**self.log_fraction
        return min(14, floor(30 - log2(largest * sqrt(2 * self.filters))))

    @property
    def cosine_shift(self) -> int:
        """Right shift from DCT sums to the output's fraction bits."""
        return self.cosine_bits + self.log_fraction - self.output_fraction if self.coefficients else 0

    @property
    def _cosines(self) -> Array:
        angles = (
            np.pi
            / self.filters
            * np.outer(np.arange(self.coefficients, dtype=np.int64), np.arange(self.filters, dtype=np.int64) + 0.5)
        )
        table: Array = np.cos(angles) * sqrt(2 / self.filters)
        return table

    @property
    def amplitude(self) -> float:
        """Change of a logarithmic feature, in its unit, when the amplitude doubles."""
        return LOGS[self.log] * (2 if self.power else 1)

    def gains(self) -> tuple[int, ...]:
        """Per feature: factor for `RemoveGain`, the change of the feature when the amplitude doubles."""
        full = np.ones(self.columns) if self.bands is None else 1.0 - self.bands.empty
        shares = self._cosines @ full if self.coefficients else full
        return tuple(unit_factor(self.amplitude * float(share), self.output_fraction) for share in shares)

    def widest(self, gained: bool = False) -> int:
        """Maximum fraction bits for which all features fit the output; with `gained` also after division by the
        smallest possible peak."""
        if self.log == "none":
            return 30 - ceil(log2(self._most))
        limit = self.log_limit + (15 * self.amplitude if gained else 0)
        return _fraction(limit * (sqrt(2 * self.filters) if self.coefficients else 1), 15)

    def shapes(self, g: Graph) -> list[Shape]:
        _, rows, unit, _ = self.input(g).shape
        return [(1, (rows * unit - self.frame) // self.hop + 1, self.columns, 1)]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        unit = self.input(g).shape[2]
        return tuple(range(y * self.hop // unit, (y * self.hop + self.frame) // unit))

    def macs(self, g: Graph) -> int:
        frames = self.output(g).shape[1]
        transform = 2 * self.fft * max(len(self.transform.stages), 1)
        return frames * (self.frame + transform + self.fft + self.coefficients * self.filters)

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if x.dtype != DType.INT16 or y.dtype != self.dtype:
            return f"{x.dtype} input with {y.dtype} output is not supported (only int16 with {self.dtype})"
        return self.refused(x.shape)

    def refused(self, shape: Shape) -> str | None:
        """Why this combination of attributes and input shape is not supported, or None."""
        if self.problem is not None:
            return self.problem
        if len(shape) != 4 or shape[0] != 1 or shape[3] != 1:
            return f"samples of shape {shape} are no rows of one channel"
        _, rows, unit, _ = shape
        if self.frame % unit or self.hop % unit:
            return f"frames of {self.frame} samples every {self.hop} are no multiples of rows of {unit}"
        return f"{rows * unit} samples are less than a frame" if rows * unit < self.frame else None

    @property
    def problem(self) -> str | None:
        """Why this combination of attributes is not supported, or None."""
        band_fits = 0 <= self.low < self.high <= self.rate / 2
        bands = f"bands from {self.low:g} to {self.high:g} Hz at {self.rate} Hz cannot be"
        cepstrum = f"{self.coefficients} coefficients of {self.filters} filters cannot be"
        for wrong, why in (
            (self.frame < 2, f"frames of {self.frame} samples cannot be"),
            (self.hop < 1, f"a hop of {self.hop} samples cannot be"),
            (self.fft < self.frame, f"a transform of {self.fft} points of {self.frame} samples cannot be"),
            (not RealFft.fits(self.fft), f"a transform of {self.fft} points cannot be, which are 2^a 3^b 5^c"),
            (self.window not in WINDOWS, f"the window '{self.window}' cannot be"),
            (self.spectrum not in SPECTRA, f"the spectrum '{self.spectrum}' cannot be"),
            (self.log not in LOGS, f"the unit '{self.log}' cannot be"),
            (not 0 <= self.filters <= self.fft, f"{self.filters} filters cannot be"),
            (self.filters > 0 and not band_fits, bands),
            (not 0 <= self.coefficients <= self.filters, cepstrum),
            (self.coefficients > 0 and self.log == "none", "a cepstrum without logarithms cannot be"),
            (self.log != "none" and not 1e-30 <= self.floor <= 1e30, f"a floor of {self.floor:g} cannot be"),
        ):
            if wrong:
                return why
        return None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        sound = x.reshape(-1).astype(np.int64)
        count = (len(sound) - self.frame) // self.hop + 1
        frames = np.lib.stride_tricks.sliding_window_view(sound, self.frame)[:: self.hop][:count]
        return [self.features(frames).reshape(self.shapes(g)[0])]

    def features(self, frames: Ints) -> Array:
        """Features [frames, n] of frames [frames, samples]."""
        powers = self.transform.powers(frames * self.taps, 15 + self.sample_fraction)
        energy = powers.values if self.power else square_root(powers.values)
        exponent = 2 * powers.exponent - 15 if self.power else powers.exponent - 15 - MAGNITUDE_BITS
        bands = self.bands
        sums = energy << np.int64(15) if bands is None else bands.sums(energy)
        silent = ~np.any(frames * self.taps, axis=1)
        if self.log == "none":
            return self._plain(sums, exponent).astype(np.int32)
        logs = self._logs(sums, exponent, silent, np.zeros(sums.shape[1], bool) if bands is None else bands.empty)
        return (self.cepstrum(logs) if self.coefficients else logs).astype(np.int16)

    def _logs(self, sums: Ints, exponent: Ints, silent: Array, empty: Array) -> Ints:
        top, power = self.offset
        up = power - exponent
        raised = np.where(up < 0, top >> np.minimum(-up, 63), np.int64(top) << np.clip(up, 0, 30))
        energies = np.maximum(sums, np.where(sums == 0, self.least, 0)) + raised[:, None]
        logs = binary_log(energies) + (exponent[:, None] << np.int64(LOG_BITS)) - octaves(self.divisor)
        result = np.clip(in_unit(logs, self.factor), -INT16_MAX - 1, INT16_MAX)
        return np.where((silent | (up > 30))[:, None] | empty, self.log_of_nothing, result)

    def _plain(self, sums: Ints, exponent: Ints) -> Ints:
        """Energies (no logarithm) with the output's fraction bits."""
        share, less = self.share
        top, power = mantissa(np.maximum(sums, 1))
        wide = (top * share) >> np.int64(31)
        down = -(power + exponent[:, None] - less + self.output_fraction)
        result = np.where(down >= 1, rounded(wide, np.clip(down, 1, 40)), wide << np.clip(-down, 0, 31))
        return np.where((sums > 0) & (down <= 40), np.minimum(result, INT32_MAX), 0)

    @property
    def share(self) -> tuple[int, int]:
        """1 / `divisor` as mantissa in [2^30, 2^31) and exponent of two."""
        part, power = frexp(1 / self.divisor)
        return min(round(part * (1 << 31)), INT32_MAX), -power

    def cepstrum(self, logs: Ints) -> Ints:
        """Cepstrum: DCT of logarithmic energies."""
        sums = rounded(logs @ self.cosines.T, np.array(self.cosine_shift))
        return np.clip(sums, -INT16_MAX - 1, INT16_MAX)


class RemoveGain(Op):
    """RemoveGain: changes logarithmic features to those of the sound divided by its largest sample (normalized gain).
    Inputs: features [1, frames, n, 1], the largest sample [1, 1, 1, 1]. If that is not positive all features stay
    unchanged; frames equal to `silence` always do."""

    factors: tuple[int, ...]
    """Per feature: its change when the amplitude doubles, as a factor for `in_unit`."""
    silence: tuple[int, ...]
    """The features of a silent frame."""
    kind = "RemoveGain"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,) if position == 0 else (0,)

    def unsupported(self, g: Graph) -> str | None:
        x, peak, y = self.input(g), self.input(g, 1), self.output(g)
        if {x.dtype, peak.dtype, y.dtype} != {DType.INT16}:
            return f"{x.dtype}, {peak.dtype} and {y.dtype} are not supported (only int16)"
        if not len(self.factors) == len(self.silence) == x.shape[2] or peak.size != 1:
            return f"{len(self.factors)} factors and {peak.size} largest samples do not fit features of {x.shape}"
        return None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, peak = values
        assert x is not None and peak is not None
        largest = peak.reshape(-1).astype(np.int64)
        level = np.where(largest > 0, binary_log(np.maximum(largest, 1)) - (15 << LOG_BITS), 0)
        rows = x.reshape(-1, len(self.factors)).astype(np.int64)
        changed = np.clip(rows - in_unit(level, np.array(self.factors)), -INT16_MAX - 1, INT16_MAX)
        kept = np.all(rows == np.array(self.silence), axis=1, keepdims=True)
        return [np.where(kept, rows, changed).astype(np.int16).reshape(x.shape)]


class DivideByPeak(Op):
    """DivideByPeak: samples divided by the largest sample, with 15 fraction bits, rounded halves up. Inputs: samples,
    the largest sample; if that is not positive samples stay unchanged."""

    kind = "DivideByPeak"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,) if position == 0 else (0,)

    def unsupported(self, g: Graph) -> str | None:
        x, peak, y = self.input(g), self.input(g, 1), self.output(g)
        if (x.dtype, peak.dtype, y.dtype) != (DType.INT16, DType.INT16, DType.INT32):
            return f"{x.dtype} and {peak.dtype} input with {y.dtype} output is not supported (only int16 with int32)"
        return None if peak.size == 1 else f"{peak.size} largest samples are not supported"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, peak = values
        assert x is not None and peak is not None
        largest = int(peak.reshape(-1)[0])
        wide = x.astype(np.int64)
        return [((wide * ONE + (largest >> 1)) // largest if largest > 0 else wide).astype(np.int32)]


def _fraction(limit: float, bits: int) -> int:
    """Maximum number of fraction bits for which magnitudes up to `limit` fit `bits` bits plus sign."""
    return min(bits - ceil(log2(max(limit, 1.0))), FINEST)
