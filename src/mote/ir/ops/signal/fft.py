"""SignalRfft and SignalIrfft of TFLite Micro: FFTs of real signals, in float32 and in fixed point.

Fixed-point arithmetic is bit-exact with Kiss FFT: a complex FFT of half the length, in stages of radix 4, 2, 3 and 5
that each divide by their radix, and a final unpacking. Products are rounded to 15 or 31 bits, halves up; sums wrap.
Division is a multiplication too, and the twiddle factor 1 is slightly less than 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.features.real_fft import radices
from mote.ir.ops.signal.audio_stateless import MicroOp

LENGTHS = (4, 1 << 16)
"""Minimum and maximum FFT length of SignalRfft and SignalIrfft."""
TYPES = (DType.INT16, DType.INT32, DType.FLOAT32)


def digit_order(n: int) -> Ints:
    """Input permutation of a complex FFT of n points (digit reversal)."""
    order, stride = np.zeros(1, np.int64), n
    for radix in reversed(radices(n)):
        stride //= radix
        order = (np.arange(radix, dtype=np.int64)[:, None] * stride + order).reshape(-1)
    return order


def twiddles(length: int, inverse: bool) -> tuple[Array, Array]:
    """Twiddle factors, as float: of the complex FFT of half the length, and of the unpacking stage."""
    half, sign = length // 2, 1 if inverse else -1
    roots = [sign * 2 * math.pi * i / half for i in range(half)]
    last = [sign * math.pi * ((i + 1) / half + 0.5) for i in range(half // 2)]
    return _circle(roots), _circle(last)


def _circle(phases: list[float]) -> Array:
    return np.array([(math.cos(p), math.sin(p)) for p in phases])


def fixed_twiddles(length: int, inverse: bool, bits: int) -> tuple[Ints, Ints]:
    """The arrays of `twiddles`, in fixed point with `bits` bits."""
    most = (1 << bits - 1) - 1
    first, second = (np.floor(0.5 + most * w).astype(np.int64) for w in twiddles(length, inverse))
    return first, second


class _Transform(MicroOp):
    """Base of FFTs over the last axis; spectra have length / 2 + 1 complex numbers, interleaved (real, imaginary)."""

    length: int

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if x.dtype not in TYPES or y.dtype != x.dtype:
            return f"{x.dtype} input with {y.dtype} output is not supported (only int16, int32 and float32)"
        return None

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)

    def macs(self, g: Graph) -> int:
        vectors = self.input(g).size // self.input(g).shape[-1]
        return vectors * self.length * max(len(radices(self.length // 2)), 1) * 2


class Rfft(_Transform):
    """SignalRfft: spectra of real signals, which are zero-padded to the FFT length. In fixed point results are divided
    by `length`."""

    kind = "SignalRfft"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(*self.input(g).shape[:-1], self.length + 2)]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        if x.dtype == np.float32:
            spectrum = np.fft.rfft(x.astype(np.float64), self.length)
            return [_interleaved(spectrum.real, spectrum.imag).astype(np.float32)]
        padded = np.zeros((*x.shape[:-1], self.length), np.int64)
        padded[..., : x.shape[-1]] = x
        k = Kiss(self.length, False, 8 * x.dtype.itemsize)
        return [k.unfolded(k.complex_transform(padded[..., ::2], padded[..., 1::2])).astype(x.dtype)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [np.broadcast_to(x.sum(axis=-1, keepdims=True), self.output(g).shape).astype(np.float32)]


class Irfft(_Transform):
    """SignalIrfft: real signals from spectra. In fixed point results are scaled down, because each stage divides by its
    radix."""

    kind = "SignalIrfft"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(*self.input(g).shape[:-1], self.length)]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        if x.dtype == np.float32:
            spectrum = x.astype(np.float64).view(np.complex128)
            return [np.fft.irfft(spectrum, self.length).astype(np.float32)]
        k, wide = Kiss(self.length, True, 8 * x.dtype.itemsize), x.astype(np.int64)
        real, imag = k.complex_transform(*k.folded(wide[..., ::2], wide[..., 1::2]))
        return [_interleaved(real, imag).astype(x.dtype)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        most = 2 * x.sum(axis=-1, keepdims=True) / self.length
        return [np.broadcast_to(most, self.output(g).shape).astype(np.float32)]


def _interleaved(real: Array, imag: Array) -> Array:
    return np.stack([real, imag], axis=-1).reshape(*real.shape[:-1], -1)


Complex = tuple[Ints, Ints]


class Kiss:
    """The fixed-point arithmetic of Kiss FFT with 16 or 32 bits."""

    def __init__(self, length: int, inverse: bool, bits: int) -> None:
        self.half, self.inverse, self.bits = length // 2, inverse, bits
        self.most = (1 << bits - 1) - 1
        self.roots, self.last = fixed_twiddles(length, inverse, bits)

    def wrap(self, x: Ints) -> Ints:
        one = np.int64(1) << np.int64(self.bits)
        low = x & (one - 1)
        return np.asarray(low - ((low >> np.int64(self.bits - 1)) << np.int64(self.bits)))

    def rounded(self, x: Ints) -> Ints:
        return self.wrap((x + (1 << self.bits - 2)) >> np.int64(self.bits - 1))

    def share(self, a: Complex, radix: int) -> Complex:
        return self.rounded(a[0] * (self.most // radix)), self.rounded(a[1] * (self.most // radix))

    def times(self, a: Complex, b: Complex) -> Complex:
        return self.rounded(a[0] * b[0] - a[1] * b[1]), self.rounded(a[0] * b[1] + a[1] * b[0])

    def plus(self, a: Complex, b: Complex) -> Complex:
        return self.wrap(a[0] + b[0]), self.wrap(a[1] + b[1])

    def minus(self, a: Complex, b: Complex) -> Complex:
        return self.wrap(a[0] - b[0]), self.wrap(a[1] - b[1])

    def mean(self, x: Ints) -> Ints:
        """Half of a sum; a 32-bit sum wraps before it is halved."""
        return (self.wrap(x) if self.bits == 32 else x) >> np.int64(1)

    def complex_transform(self, real: Ints, imag: Ints) -> Complex:
        """The complex FFT of half the length, over the last axis."""
        stages, order, size = radices(self.half), digit_order(self.half), 1
        strides = [math.prod(stages[:i]) for i in range(len(stages))]
        data = real[..., order], imag[..., order]
        for radix, stride in zip(reversed(stages), reversed(strides), strict=True):
            shape = (*real.shape[:-1], stride, radix, size)
            data = self._stage(data[0].reshape(shape), data[1].reshape(shape), radix, stride, size)
            data = data[0].reshape(real.shape), data[1].reshape(real.shape)
            size *= radix
        return data

    def _root(self, index: Ints | int) -> Complex:
        return self.roots[index, 0], self.roots[index, 1]

    def _stage(self, real: Ints, imag: Ints, radix: int, stride: int, size: int) -> Complex:
        parts = [self.share((real[..., q, :], imag[..., q, :]), radix) for q in range(radix)]
        u = np.arange(size, dtype=np.int64) * stride
        parts[1:] = [self.times(parts[q], self._root(u * q)) for q in range(1, radix)]
        butterfly = {2: self._two, 3: self._three, 4: self._four, 5: self._five}[radix]
        outputs = butterfly(parts, stride * size)
        return np.stack([f[0] for f in outputs], axis=-2), np.stack([f[1] for f in outputs], axis=-2)

    def _two(self, x: list[Complex], at: int) -> list[Complex]:
        return [self.plus(x[0], x[1]), self.minus(x[0], x[1])]

    def _three(self, x: list[Complex], at: int) -> list[Complex]:
        imag = self.roots[at, 1]
        total, apart = self.plus(x[1], x[2]), self.minus(x[1], x[2])
        middle = self.minus(x[0], (total[0] >> np.int64(1), total[1] >> np.int64(1)))
        apart = self.rounded(apart[0] * imag), self.rounded(apart[1] * imag)
        turned = -apart[1], apart[0]
        return [self.plus(x[0], total), self.plus(middle, turned), self.minus(middle, turned)]

    def _four(self, x: list[Complex], at: int) -> list[Complex]:
        apart, first = self.minus(x[0], x[2]), self.plus(x[0], x[2])
        total, across = self.plus(x[1], x[3]), self.minus(x[1], x[3])
        turned = (-across[1], across[0]) if self.inverse else (across[1], -across[0])
        return [self.plus(first, total), self.plus(apart, turned), self.minus(first, total), self.minus(apart, turned)]

    def _five(self, x: list[Complex], at: int) -> list[Complex]:
        a, b = self._root(at), self._root(2 * at)
        s7, s10 = self.plus(x[1], x[4]), self.minus(x[1], x[4])
        s8, s9 = self.plus(x[2], x[3]), self.minus(x[2], x[3])
        r = self.rounded
        whole = self.wrap(x[0][0] + s7[0] + s8[0]), self.wrap(x[0][1] + s7[1] + s8[1])
        s5 = tuple(self.wrap(x[0][i] + r(s7[i] * a[0]) + r(s8[i] * b[0])) for i in range(2))
        s6 = self.wrap(r(s10[1] * a[1]) + r(s9[1] * b[1])), self.wrap(-r(s10[0] * a[1]) - r(s9[0] * b[1]))
        s11 = tuple(self.wrap(x[0][i] + r(s7[i] * b[0]) + r(s8[i] * a[0])) for i in range(2))
        s12 = self.wrap(-r(s10[1] * b[1]) + r(s9[1] * a[1])), self.wrap(r(s10[0] * b[1]) - r(s9[0] * a[1]))
        five, eleven = (s5[0], s5[1]), (s11[0], s11[1])
        return [
            whole,
            self.minus(five, s6),
            self.plus(eleven, s12),
            self.minus(eleven, s12),
            self.plus(five, s6),
        ]

    def unfolded(self, z: Complex) -> Ints:
        """Unpack: the spectrum of a real signal, from the complex FFT of its even samples as real and odd ones as
        imaginary parts."""
        n = self.half
        real, imag = np.zeros((*z[0].shape[:-1], n + 1), np.int64), np.zeros((*z[0].shape[:-1], n + 1), np.int64)
        first = self.share((z[0][..., 0], z[1][..., 0]), 2)
        real[..., 0], real[..., n] = self.wrap(first[0] + first[1]), self.wrap(first[0] - first[1])
        k = np.arange(1, n // 2 + 1, dtype=np.int64)
        near = self.share((z[0][..., k], z[1][..., k]), 2)
        far = self.share((z[0][..., n - k], self.wrap(-z[1][..., n - k])), 2)
        total, apart = self.plus(near, far), self.minus(near, far)
        turned = self.times(apart, (self.last[:, 0], self.last[:, 1]))
        real[..., k], imag[..., k] = self.mean(total[0] + turned[0]), self.mean(total[1] + turned[1])
        real[..., n - k], imag[..., n - k] = self.mean(total[0] - turned[0]), self.mean(turned[1] - total[1])
        return _interleaved(real, imag)

    def folded(self, real: Ints, imag: Ints) -> Complex:
        """Pack a spectrum as the input of the inverse complex FFT: the inverse of `unfolded`."""
        n = self.half
        spectrum = np.zeros((*real.shape[:-1], n), np.int64), np.zeros((*real.shape[:-1], n), np.int64)
        first = self.wrap(real[..., 0] + real[..., n]), self.wrap(real[..., 0] - real[..., n])
        spectrum[0][..., 0], spectrum[1][..., 0] = self.share(first, 2)
        k = np.arange(1, n // 2 + 1, dtype=np.int64)
        near = self.share((real[..., k], imag[..., k]), 2)
        far = self.share((real[..., n - k], self.wrap(-imag[..., n - k])), 2)
        total, apart = self.plus(near, far), self.minus(near, far)
        turned = self.times(apart, (self.last[:, 0], self.last[:, 1]))
        spectrum[0][..., k], spectrum[1][..., k] = self.plus(total, turned)
        other = self.minus(total, turned)
        spectrum[0][..., n - k], spectrum[1][..., n - k] = other[0], self.wrap(-other[1])
        return spectrum
