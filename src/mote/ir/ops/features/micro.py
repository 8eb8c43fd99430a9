"""The audio front end of TFLite Micro's examples, bit-exact with the C library `microfrontend`.

Two operators: filter bank magnitudes of each frame (window, FFT, mel filter bank, square root), without state; and
features from them (noise reduction, gain control, logarithm), with a noise estimate per channel as state.

Tables are computed in float32, operation by operation, as the library does at start-up; so they are identical on every
machine. Cosines and powers are correctly rounded. The logarithm of the mel scale is that of newlib and of glibc before
2.41, which is not correctly rounded: two weights of the usual filter bank differ.

TFLite Micro's Signal operators (`mote.ir.ops.signal`) use the same integer arithmetic except: here the scale of a frame
ignores samples of -32768 only, the noise estimate is never clamped, and features go up to 65535.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.features.sequential import Sequential
from mote.ir.ops.signal.audio_stateless import PCAN_TABLE, SNR_BITS, amplified, bit_lengths, logarithms, square_roots
from mote.ir.ops.signal.fft import Kiss

WINDOW_BITS = BANK_BITS = 12
NOISE_BITS = 14
LENGTHS = (64, 4096)
"""Minimum and maximum FFT length of MicroSpectrum."""
MOST = 0xFFFF
"""Maximum of a feature; larger ones saturate."""
NARROW_LOG = 10
"""Maximum left shift of logarithms for which features fit int16."""


class MicroSpectrum(Op):
    """MicroSpectrum: magnitudes of a mel filter bank's channels, for frames of `frame` samples every `hop` samples.
    Input: int16 samples [1, rows, unit, 1] at `rate` Hz; output: uint32 [1, frames, channels, 1]. Channels lie between
    `low` and `high` Hz. A frame is normalized to 16 bits before the FFT, and the magnitudes are scaled back."""

    rate: int
    frame: int
    hop: int
    channels: int
    low: float
    high: float
    kind = "MicroSpectrum"

    @property
    def length(self) -> int:
        """FFT length: the next power of two that a frame fits in."""
        return 1 << (self.frame - 1).bit_length()

    def shapes(self, g: Graph) -> list[Shape]:
        _, rows, unit, _ = self.input(g).shape
        return [(1, max((rows * unit - self.frame) // self.hop + 1, 0), self.channels, 1)]

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if x.dtype != DType.INT16 or y.dtype != DType.UINT32:
            return f"{x.dtype} input with {y.dtype} output is not supported (only int16 with uint32)"
        if len(x.shape) != 4 or x.shape[0] != 1 or x.shape[3] != 1:
            return "samples of several signals or channels are not supported"
        if x.shape[2] % 2 or self.frame % x.shape[2] or self.hop % x.shape[2]:
            return f"rows of {x.shape[2]} samples do not divide frames of {self.frame} and hops of {self.hop} by pairs"
        if x.shape[1] * x.shape[2] < self.frame:
            return f"{x.shape[1] * x.shape[2]} samples are less than a frame of {self.frame}"
        return self.problem

    @property
    def problem(self) -> str | None:
        """Why this combination of frame, channels and band is invalid for any tensors, or None."""
        shortest, longest = LENGTHS
        if not shortest // 2 < self.frame <= longest or self.hop < 1:
            return f"frames of {self.frame} samples are not supported (only {shortest // 2 + 1} to {longest})"
        if self.channels < 1:
            return f"{self.channels} channels cannot be"
        if not 0 <= self.low < self.high <= self.rate / 2:
            return f"a band from {self.low:g} to {self.high:g} Hz does not lie in a spectrum up to {self.rate / 2:g} Hz"
        return self.bank().wrong

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        unit = self.input(g).shape[2]
        return tuple(range(y * self.hop // unit, (y * self.hop + self.frame) // unit))

    def macs(self, g: Graph) -> int:
        frames = row_count(self.output(g).shape)
        return frames * (self.frame + 2 * self.length * (self.length.bit_length() - 1))

    def bank(self) -> Bank:
        return bank(self.rate, self.length, self.channels, self.low, self.high)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        frames = np.lib.stride_tricks.sliding_window_view(x.reshape(-1), self.frame)[:: self.hop].astype(np.int64)
        windowed = frames * window(self.frame) >> np.int64(WINDOW_BITS)
        sizes = np.abs(windowed)
        shift = 15 - bit_lengths(np.where(sizes > 32767, 0, sizes).max(axis=1, keepdims=True))
        padded = np.zeros((len(frames), self.length), np.int64)
        padded[:, : self.frame] = (windowed << shift).astype(np.int16)
        kiss = Kiss(self.length, False, 16)
        spectrum = kiss.unfolded(kiss.complex_transform(padded[:, ::2], padded[:, 1::2]))
        energy = np.square(spectrum).reshape(len(frames), -1, 2).sum(axis=2)
        roots = square_roots(self.bank().sums(energy)) >> shift.astype(np.uint32)
        return [roots.reshape(1, -1, self.channels, 1)]


@dataclass(frozen=True, eq=False)
class Bank:
    """A mel filter bank of overlapping triangles: bins `edges[c]` to `edges[c + 1] - 1` are added to channel c times
    `weights`, and to channel c + 1 times `rests`. Channel 0 is dropped. `wrong`: why it is invalid, or None."""

    edges: Ints
    weights: Ints
    rests: Ints
    wrong: str | None = None

    def sums(self, energy: Ints) -> Ints:
        inside = energy[:, self.edges[0] : self.edges[-1]]
        total = np.zeros((len(energy), inside.shape[1] + 1), np.int64)
        np.cumsum(inside * self.weights, axis=1, out=total[:, 1:])
        rest = np.zeros_like(total)
        np.cumsum(inside * self.rests, axis=1, out=rest[:, 1:])
        at = self.edges - self.edges[0]
        falling, rising = np.diff(total[:, at], axis=1), np.diff(rest[:, at], axis=1)
        return falling[:, 1:] + rising[:, :-1]


F = np.float32


def _rounded(function: Callable[[float], float], x: np.float32) -> np.float32:
    return F(function(float(x)))


def _mel(hertz: np.float32) -> np.float32:
    return F(1127) * log1p(hertz / F(700))


LOG1P = (0.66666668653, 0.4, 0.28571429849, 0.22222198546, 0.1818357259, 0.15313838422, 0.1479819864)
LOG_2_HIGH, LOG_2_LOW = F(0.69313812256), F(9.0580006145e-06)


def log1p(x: np.float32) -> np.float32:
    """log(1 + x) for x >= 0 in float32, bit-exact with C libraries of microcontrollers: argument reduction to
    [sqrt(1/2), sqrt(2)], then a polynomial in f / (2 + f)."""
    f, k, lost = x, F(0), F(0)
    if x >= F(0.41421387):
        total = F(1) + x
        fraction, exponent = np.frexp(total)
        k = F(exponent - (fraction < F(0.70710701)))
        lost = (F(1) - (total - x) if exponent > 1 else x - (total - F(1))) / total
        f = F(np.ldexp(total, -int(k))) - F(1)
    half, s = F(0.5) * f * f, f / (F(2) + f)
    z, polynomial = s * s, F(0)
    for factor in reversed(LOG1P):
        polynomial = z * (F(factor) + polynomial)
    return k * LOG_2_HIGH - ((half - (s * (half + polynomial) + (k * LOG_2_LOW + lost))) - f)


@lru_cache(maxsize=16)
def bank(rate: int, length: int, channels: int, low: float, high: float) -> Bank:
    """The mel filter bank for a spectrum of `length` / 2 + 1 bins; bin 0 is unused."""
    hertz, bins = F(0.5) * F(rate) / F(length // 2), length // 2
    lowest, mels = _mel(F(low)), [_mel(F(k) * hertz) for k in range(bins + 1)]
    spacing = (_mel(F(high)) - lowest) / F(channels + 1)
    centres = [lowest + spacing * F(c + 1) for c in range(channels + 1)]
    edges, starts, weights = [int(F(1.5) + F(low) / hertz)], [lowest, *centres], []
    for before, centre in zip(starts, centres, strict=False):
        k = edges[-1]
        while k <= bins and mels[k] <= centre:
            weights.append((centre - mels[k]) / (centre - before))
            k += 1
        edges.append(k)
    wrong = f"a band up to {high:g} Hz reaches the last bin of the spectrum" if edges[-1] > bins else None
    w = np.array(weights, F)
    return Bank(np.array(edges, np.int64), _integers(w, BANK_BITS), _integers(F(1) - w, BANK_BITS), wrong)


def _integers(x: Array, bits: int) -> Ints:
    """Convert to fixed point with `bits` fraction bits, rounded halves up."""
    return np.asarray(np.floor(x * F(1 << bits) + F(0.5)), np.int64)


@lru_cache(maxsize=16)
def window(size: int) -> Ints:
    """A Hann window with WINDOW_BITS fraction bits, sampled at the middles of `size` steps."""
    step = F(math.pi) * F(2) / F(size)
    cosines = np.array([_rounded(math.cos, step * (F(i) + F(0.5))) for i in range(size)], F)
    shape = F(0.5) - F(0.5) * cosines
    return _integers(shape, WINDOW_BITS)


class MicroFeatures(Sequential):
    """MicroFeatures: noise reduction (a minimum share of each magnitude stays), per-channel amplitude normalization by
    the noise estimate, logarithm. Inputs: uint32 magnitudes [1, frames, channels, 1]; the noise estimate, uint32
    [channels] with `smoothing_bits` fraction bits; int32 [1], the number of coming frames that begin before the signal:
    their features are zero and do not update the estimate. Outputs: features, and both states after the last frame.
    `length` is the FFT length, whose scaling the logarithm compensates."""

    length: int
    smoothing_bits: int
    smoothing: tuple[float, float]
    """Weights of new magnitudes in the noise estimate, for even and odd channels."""
    remaining: float
    """Minimum share of a magnitude that remains after noise reduction."""
    pcan: tuple[float, float, int] | None
    """Strength, offset and gain bits of PCAN (per-channel amplitude normalization); None: disabled."""
    log: int | None
    """Left shift of natural logarithms; None: no logarithm."""
    kind = "MicroFeatures"

    @property
    def result(self) -> DType:
        """Element type of the features: int16 if they fit 15 bits, else int32."""
        return DType.INT16 if self.log is not None and self.log <= NARROW_LOG else DType.INT32

    @property
    def correction(self) -> int:
        """log2 of the scale that FFT and filter bank weights lost, which the logarithm compensates."""
        return self.length.bit_length() - 1 - BANK_BITS // 2

    @property
    def shares(self) -> tuple[int, int]:
        even, odd = self.smoothing
        return _share(even), _share(odd)

    @property
    def least(self) -> int:
        return _share(self.remaining)

    @property
    def snr_shift(self) -> int:
        assert self.pcan is not None
        return self.pcan[2] - self.correction - SNR_BITS

    def gains(self) -> Ints:
        assert self.pcan is not None
        return gain_table(*self.pcan, self.smoothing_bits - self.correction)

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g, k).shape for k in range(3)]

    def unsupported(self, g: Graph) -> str | None:
        x, noise, y = self.input(g), self.input(g, 1), self.output(g)
        if x.dtype != DType.UINT32 or noise.dtype != DType.UINT32 or y.dtype != self.result:
            return f"{x.dtype} input with {y.dtype} output is not supported (only uint32 with {self.result})"
        return self.problem

    @property
    def problem(self) -> str | None:
        """Why this combination of noise reduction, PCAN and logarithm is invalid for any tensors, or None."""
        if not all(0 <= share <= 1 for share in (*self.smoothing, self.remaining)):
            return "shares of the noise reduction lie between 0 and 1"
        if not 0 <= self.correction <= self.smoothing_bits < 32:
            return f"{self.smoothing_bits} smoothing bits are not supported (only {self.correction} to 31)"
        if self.pcan is not None and not (self.snr_shift >= 0 and self.pcan[2] < 32 and self.pcan[1] > 0):
            return f"{self.pcan[2]} gain bits are not supported (only {self.correction + SNR_BITS} to 31)"
        if self.log is not None and not 0 <= self.log <= 11:
            return f"logarithms shifted by {self.log} bits are not supported (only by 0 to 11)"
        return None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        magnitudes, noise, waiting = values
        assert magnitudes is not None and noise is not None and waiting is not None
        frames = magnitudes.reshape(-1, noise.size).astype(np.uint64)
        skipped = min(max(int(waiting[0]), 0), len(frames))
        x = frames[skipped:]
        wide = (x << np.uint64(self.smoothing_bits)) & np.uint64(0xFFFFFFFF)
        estimates = self._estimates(wide, noise.reshape(-1).astype(np.uint64))
        left = (wide - np.minimum(estimates, wide)) >> np.uint64(self.smoothing_bits)
        y = np.maximum(left, x * np.uint64(self.least) >> np.uint64(NOISE_BITS))
        if self.pcan is not None:
            y = amplified(y, estimates, self.gains(), self.snr_shift)
        if self.log is not None:
            y = logarithms((y.astype(np.int64) << np.int64(self.correction)) & 0xFFFFFFFF, 1 << self.log)
        features = np.zeros(frames.shape, np.int64)
        features[skipped:] = np.minimum(y, MOST)
        after = estimates[-1] if len(estimates) else noise
        return [
            features.reshape(magnitudes.shape),
            after.astype(np.uint32).reshape(noise.shape),
            np.where(waiting > 0, waiting - skipped, waiting).astype(np.int32),
        ]

    def _estimates(self, wide: Array, noise: Array) -> Array:
        """The noise estimate of each channel after each frame."""
        share = np.resize(np.array(self.shares, np.uint64), noise.size)
        rest = np.uint64(1 << NOISE_BITS) - share
        estimates = np.zeros_like(wide)
        for i, frame in enumerate(wide):
            noise = estimates[i] = (frame * share + noise * rest) >> np.uint64(NOISE_BITS)
        return estimates


def _share(x: float) -> int:
    return int(F(x) * F(1 << NOISE_BITS))


@lru_cache(maxsize=16)
def gain_table(strength: float, offset: float, gain_bits: int, input_bits: int) -> Ints:
    """PCAN lookup table: gains for 0 and 1, then for each power of two a parabola: gain at its beginning, slope and
    curvature."""

    def gain(x: int) -> int:
        base = F(x) / F(1 << input_bits) + F(offset)
        return int(min(F(1 << gain_bits) * F(math.pow(base, -F(strength))) + F(0.5), F(32767)))

    table = np.zeros(PCAN_TABLE, np.int64)
    table[:2] = gain(0), gain(1)
    for bits in range(2, 33):
        x = 1 << bits - 1
        y0, y1, y2 = (gain(n) for n in (x, x + x // 2, min(2 * x, (1 << 32) - 1)))
        bend = 2 * (y2 - 2 * y1 + y0)
        table[4 * bits - 6 : 4 * bits - 3] = y0, y2 - y0 - bend, bend
    return table.astype(np.int16)
