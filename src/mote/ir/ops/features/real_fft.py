"""FFT of real signals in 16-bit block floating point: the specification of `mote_real_fft.h`.

A signal of even length is packed into a complex one of half the length (even samples real, odd ones imaginary),
transformed in stages of radix 4, 2, 3 and 5, and unpacked at the end; one of odd length has zero imaginary parts. Data
has 16 bits, twiddle factors have 14 fraction bits, so that 1 is exact. A stage rounds once, and shifts right by as much
as the largest component of its input requires, so that quiet signals keep their precision.

Magnitudes of complex numbers never exceed 2^14.9 between stages: a stage of radix r makes them at most r times as
large, and its shift follows from the bits of the largest component. So all sums fit 32 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array

ROOT_BITS = 14
"""Fraction bits of twiddle factors."""
SUM_BITS = {2: 14, 3: 14, 4: 14, 5: 13}
"""Fraction bits of the sums of an FFT stage, by radix."""
DATA_BITS = 14
"""Bits that the largest sample of a signal is scaled down to before the first stage."""
GROWTH = {2: 2, 3: 3, 4: 3, 5: 3}
"""Bits by which a component can grow in a stage, by radix r: log2(r * sqrt(2)), rounded up."""
LARGEST = 1 << 16
"""Limit of the number of complex FFT points: their indices have 16 bits."""
AT_ONCE = 256
"""Number of signals that the reference transforms at once, to stay in the CPU's cache."""

Complex = tuple[Ints, Ints]


def radices(points: int) -> tuple[int, ...]:
    """Radices of the stages of a complex FFT, in order; empty for one point, or if there are prime factors other than
    2, 3, 5."""
    stages = []
    for radix in (4, 2, 3, 5):
        while points % radix == 0:
            stages.append(radix)
            points //= radix
    return tuple(stages) if points == 1 else ()


def circle(count: int, of: int, bits: int = ROOT_BITS) -> Ints:
    """Twiddle factors [count, 2]: exp(-2 pi i k / of) for k = 0, 1, ..., with `bits` fraction bits."""
    angles = -2 * np.pi * np.arange(count, dtype=np.int64) / of
    table: Ints = np.rint(np.stack([np.cos(angles), np.sin(angles)], axis=1) * (1 << bits)).astype(np.int64)
    return table


def bit_length(x: Ints) -> Ints:
    """Bit length of each (non-negative) number."""
    return np.frexp(x.astype(np.float64))[1].astype(np.int64)


def magnitude_bits(x: Ints) -> Ints:
    """[rows]: bit length of the largest magnitude of each row, where negative x counts as ~x."""
    return bit_length(np.max(x ^ (x >> np.int64(63)), axis=-1, initial=0))


def rounded(x: Ints, shift: Ints) -> Ints:
    """x / 2^shift, rounded halves up."""
    return (x + ((np.int64(1) << shift) >> np.int64(1))) >> shift


@dataclass(frozen=True)
class Powers:
    """Power spectra in block floating point: `values * 4^exponent`."""

    values: Ints
    """[signals, bins]: mantissas, each less than 2^31."""
    exponent: Ints
    """[signals]: exponent of each signal: magnitudes are sqrt(values) * 2^exponent."""


@lru_cache(maxsize=16)
def real_fft(length: int) -> RealFft:
    """The transform of `length` real samples, with cached tables."""
    return RealFft(length)


@dataclass(frozen=True)
class RealFft:
    """FFT of `length` real samples; supported lengths are 2^a 3^b 5^c, at least 2."""

    length: int

    @staticmethod
    def fits(length: int) -> bool:
        """Whether FFTs of this length are supported."""
        points = length if length % 2 else length // 2
        return length >= 2 and points < LARGEST and (points == 1 or bool(radices(points)))

    @property
    def folded(self) -> bool:
        """Whether pairs of samples are packed into complex numbers (even length)."""
        return self.length % 2 == 0

    @property
    def points(self) -> int:
        """Number of points of the complex FFT."""
        return self.length // 2 if self.folded else self.length

    @property
    def bins(self) -> int:
        return self.length // 2 + 1

    @property
    def stages(self) -> tuple[int, ...]:
        return radices(self.points)

    @cached_property
    def order(self) -> Ints:
        """[points]: input permutation before the first stage: index of the signal's point at each position."""
        order = np.zeros(1, np.int64)
        for radix in self.stages:
            order = (np.arange(radix, dtype=np.int64)[:, None] + radix * order).reshape(-1)
        return order

    @cached_property
    def places(self) -> Ints:
        """[points]: inverse input permutation: position of each point of the signal before the first stage."""
        return np.argsort(self.order)

    @cached_property
    def roots(self) -> Ints:
        """[points, 2]: twiddle factors of all stages."""
        return circle(self.points, self.points)

    @cached_property
    def staged_roots(self) -> Ints:
        """[points - 1, 2]: twiddle factors in the order in which the stages use them."""
        taken, size = [np.zeros((0, 2), np.int64)], 1
        for radix in self.stages:
            groups = self.points // (radix * size)
            taken.append(
                self.roots[
                    groups * np.outer(np.arange(size, dtype=np.int64), np.arange(1, radix, dtype=np.int64)).reshape(-1)
                ]
            )
            size *= radix
        return np.concatenate(taken)

    @cached_property
    def last(self) -> Ints:
        """[points / 2 + 1, 2]: twiddle factors of the final unpacking."""
        return circle(self.points // 2 + 1, self.length)

    def powers(self, signals: Ints, fraction: int) -> Powers:
        """Power spectra of signals [signals, samples], integers of at most 31 bits with `fraction` fraction bits.
        Signals shorter than the transform are zero-padded."""
        parts = [self._powers(signals[at : at + AT_ONCE]) for at in range(0, max(len(signals), 1), AT_ONCE)]
        exponents = np.concatenate([exponent for _, exponent in parts]) - fraction
        return Powers(np.concatenate([values for values, _ in parts]), exponents)

    def _powers(self, signals: Ints) -> tuple[Ints, Ints]:
        bits = magnitude_bits(signals)
        shift = np.maximum(bits - DATA_BITS, 0)
        bits = np.minimum(bits, DATA_BITS)
        padded = np.zeros((len(signals), self.length), np.int64)
        padded[:, : signals.shape[1]] = rounded(signals, shift[:, None])
        if self.folded:
            data = padded[:, 0::2][:, self.order], padded[:, 1::2][:, self.order]
        else:
            data = padded[:, self.order], np.zeros_like(padded)
        exponent, size = shift, 1
        for radix in self.stages:
            less = np.maximum(bits + GROWTH[radix] - 15, 0)
            data = self._stage(data, radix, size, less)
            bits, exponent, size = self._bits(data), exponent + less, size * radix
        shift = np.minimum(bits + 1, 15)
        values = self._unfolded(data, shift[:, None]) if self.folded else self._half(data, shift[:, None])
        return values, exponent + shift - 15

    @staticmethod
    def _bits(data: Complex) -> Ints:
        return np.maximum(magnitude_bits(data[0]), magnitude_bits(data[1]))

    def _stage(self, data: Complex, radix: int, size: int, less: Ints) -> Complex:
        groups = self.points // (radix * size)
        shape = (len(less), groups, radix, size)
        real, imag = data[0].reshape(shape), data[1].reshape(shape)
        bits = np.int64(SUM_BITS[radix])
        down = (less + bits)[:, None, None]
        half = (np.int64(1) << down) >> np.int64(1)
        first = (real[:, :, 0] << bits) + half, (imag[:, :, 0] << bits) + half
        turned = [first]
        for q in range(1, radix):
            root = self.roots[q * groups * np.arange(size, dtype=np.int64)]
            turned.append(_times((real[:, :, q], imag[:, :, q]), (root[:, 0], root[:, 1])))
        outputs = {2: _two, 3: _three, 4: _four, 5: _five}[radix](turned)
        return tuple(  # type: ignore[return-value]
            np.stack([output[part] >> down for output in outputs], axis=2).reshape(data[0].shape) for part in (0, 1)
        )

    def _unfolded(self, data: Complex, shift: Ints) -> Ints:
        """Unpack: powers of the real signal's spectrum, from the packed complex one. Twice the spectrum, with 14
        fraction bits, is shifted right by `shift`."""
        n, (real, imag) = self.points, data
        values = np.zeros((len(real), n + 1), np.int64)
        ends = np.stack([real[:, 0] + imag[:, 0], real[:, 0] - imag[:, 0]], axis=1) << np.int64(15)
        values[:, [0, n]] = np.square(rounded(ends, shift))
        k = np.arange(1, n // 2 + 1, dtype=np.int64)
        total = real[:, k] + real[:, n - k], imag[:, k] - imag[:, n - k]
        apart = real[:, k] - real[:, n - k], imag[:, k] + imag[:, n - k]
        turn = _times(apart, (self.last[k, 0], self.last[k, 1]))
        total = total[0] << np.int64(ROOT_BITS), total[1] << np.int64(ROOT_BITS)
        values[:, n - k] = _power(total[0] - turn[1], total[1] + turn[0], shift)
        values[:, k] = _power(total[0] + turn[1], total[1] - turn[0], shift)
        return values

    def _half(self, data: Complex, shift: Ints) -> Ints:
        real, imag = data[0][:, : self.bins], data[1][:, : self.bins]
        return _power(real << np.int64(15), imag << np.int64(15), shift)


def _power(real: Ints, imag: Ints, shift: Ints) -> Ints:
    return np.square(rounded(real, shift)) + np.square(rounded(imag, shift))


def _times(a: Complex, b: Complex) -> Complex:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _plus(a: Complex, b: Complex) -> Complex:
    return a[0] + b[0], a[1] + b[1]


def _minus(a: Complex, b: Complex) -> Complex:
    return a[0] - b[0], a[1] - b[1]


def _turned(a: Complex) -> Complex:
    """A complex number times -i."""
    return a[1], -a[0]


def _two(x: list[Complex]) -> list[Complex]:
    return [_plus(x[0], x[1]), _minus(x[0], x[1])]


def _four(x: list[Complex]) -> list[Complex]:
    even, odd = _plus(x[0], x[2]), _plus(x[1], x[3])
    apart, across = _minus(x[0], x[2]), _turned(_minus(x[1], x[3]))
    return [_plus(even, odd), _plus(apart, across), _minus(even, odd), _minus(apart, across)]


def _whole(a: Complex) -> Complex:
    """Round a product with ROOT_BITS fraction bits to an integer."""
    bits = np.array(ROOT_BITS)
    return rounded(a[0], bits), rounded(a[1], bits)


def _by(a: Complex, factor: int | np.int64) -> Complex:
    return a[0] * factor, a[1] * factor


def _three(x: list[Complex]) -> list[Complex]:
    _, (cosine, sine), _ = circle(3, 3)
    a, b = _whole(x[1]), _whole(x[2])
    total, apart = _plus(a, b), _turned(_by(_minus(a, b), -sine))
    middle = _plus(x[0], _by(total, cosine))
    return [_plus(x[0], _by(total, 1 << ROOT_BITS)), _plus(middle, apart), _minus(middle, apart)]


def _five(x: list[Complex]) -> list[Complex]:
    _, (cosine1, sine1), (cosine2, sine2), _, _ = circle(5, 5, SUM_BITS[5])
    a, b, c, d = (_whole(product) for product in x[1:])
    near, far = _plus(a, d), _plus(b, c)
    near_apart, far_apart = _minus(a, d), _minus(b, c)
    whole = _plus(x[0], _by(_plus(near, far), 1 << SUM_BITS[5]))
    one = _plus(_plus(x[0], _by(near, cosine1)), _by(far, cosine2))
    two = _plus(_plus(x[0], _by(near, cosine2)), _by(far, cosine1))
    one_apart = _turned(_plus(_by(near_apart, -sine1), _by(far_apart, -sine2)))
    two_apart = _turned(_minus(_by(near_apart, -sine2), _by(far_apart, -sine1)))
    return [whole, _plus(one, one_apart), _plus(two, two_apart), _minus(two, two_apart), _minus(one, one_apart)]


def spectrum_energy(powers: Powers) -> Array:
    """Convert power spectra from block floating point to float64."""
    energy: Array = np.ldexp(powers.values.astype(np.float64), 2 * powers.exponent[:, None])
    return energy
