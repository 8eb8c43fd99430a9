"""Stateless Signal operators of TFLite Micro's audio front end: window, scaling, energy, filter bank.

They are defined by TFLite Micro alone, in integers, and equal it bit for bit. What it leaves unwritten is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

LOG_SEGMENTS, LOG_BITS = 7, 16
LOG_2 = 45426
"""The natural logarithm of two in 16 bits, rounded down."""
PCAN_TABLE = 125
"""Elements of the table of gains that a noise of 32 bits can reach."""
SNR_BITS, OUTPUT_BITS = 12, 6


class MicroOp(Op):
    """An operator that TFLite Micro knows and LiteRT does not: the reference is another one."""

    def unwritten(self, g: Graph, values: Mapping[int, Array]) -> NDArray[np.bool_] | None:
        """Which elements of the output TFLite Micro leaves as they were, whatever that is, in an inference with these
        values of tensors; None: it writes all."""
        return None


class _Typed(MicroOp):
    """An operator between tensors of certain types, the first ones of its inputs and its output."""

    wanted: ClassVar[tuple[DType, ...]]
    result: ClassVar[DType]

    def unsupported(self, g: Graph) -> str | None:
        for position, dtype in enumerate(self.wanted):
            t = self.input(g, position)
            if t.dtype != dtype:
                return f"{t.dtype} input {position} is not supported (only {dtype})"
        y = self.output(g)
        return None if y.dtype == self.result else f"{y.dtype} output is not supported (only {self.result})"


class SignalWindow(_Typed):
    """A signal times a window, shifted right and saturated. Inputs: vectors, the window."""

    shift: int
    kind = "SignalWindow"
    wanted = (DType.INT16, DType.INT16)
    result = DType.INT16

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,) if position == 0 else None

    def unsupported(self, g: Graph) -> str | None:
        if self.input(g, 1).data is None:
            return "a window that is computed at run time is not supported"
        return super().unsupported(g)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, window = values
        assert x is not None and window is not None
        windowed = (x.reshape(-1, window.size).astype(np.int64) * window.astype(np.int64)) >> np.int64(self.shift)
        return [np.clip(windowed, -32768, 32767).astype(np.int16).reshape(x.shape)]


class ScaleBits(_Typed):
    """By how many bits a signal can be shifted left so that it still fits: the second output of SignalFftAutoScale."""

    kind = "SignalFftAutoScale bits"
    wanted = (DType.INT16,)
    result = DType.INT32

    def shapes(self, g: Graph) -> list[Shape]:
        return [()]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [np.array(max(15 - _bit_length(_largest(x)), 0), np.int32)]


def _largest(x: Array) -> int:
    """The largest absolute value in 16 bits: -32768 is its own, and less than all that follow it."""
    lowest = np.flatnonzero(x == -32768)
    rest = x[lowest[-1] + 1 :].astype(np.int64) if lowest.size else x.astype(np.int64)
    if not lowest.size:
        return int(np.abs(rest).max(initial=0))
    return int(max(rest[0], np.abs(rest[1:]).max(initial=-32768))) if rest.size else -32768


def _bit_length(x: int) -> int:
    """Bits of a number; what has none, or a sign, has all 32."""
    return x.bit_length() if x > 0 else 32


class Scaled(_Typed):
    """A signal shifted left: the first output of SignalFftAutoScale."""

    kind = "SignalFftAutoScale"
    wanted = (DType.INT16, DType.INT32)
    result = DType.INT16

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, bits = values
        assert x is not None and bits is not None
        return [(x.astype(np.int64) << np.int64(int(bits) & 15)).astype(np.int16)]


class SignalEnergy(_Typed):
    """The squared magnitudes of a spectrum, from bin `start` to before `end`; those outside are zero."""

    start: int
    end: int
    kind = "SignalEnergy"
    wanted = (DType.INT16,)
    result = DType.UINT32

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).size // 2,)]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        energy = np.zeros(x.size // 2, np.uint32)
        inside = slice(self.start, self.end)
        energy[inside] = np.square(x.astype(np.int64)).reshape(-1, 2).sum(axis=1)[inside]
        return [energy]

    def unwritten(self, g: Graph, values: Mapping[int, Array]) -> NDArray[np.bool_] | None:
        bins = np.arange(self.output(g).size, dtype=np.int64)
        return (bins < self.start) | (bins >= self.end)


class SignalFilterBank(_Typed):
    """Sums of a spectrum over channels that overlap: each weight goes to one channel, what is left of one to the next.
    Inputs: energies, weights, what is left of them, and where each channel begins among the energies, where among the
    weights, and how wide it is. The first channel is computed and not shown."""

    kind = "SignalFilterBank"
    wanted = (DType.UINT32, *(DType.INT16,) * 5)
    result = DType.UINT64

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g, 3).size - 1,)]

    def unsupported(self, g: Graph) -> str | None:
        if any(self.input(g, p).data is None for p in range(1, 6)):
            return "weights and channels that are computed at run time are not supported"
        return super().unsupported(g)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, weights, rests, *_ = values
        assert x is not None and weights is not None and rests is not None
        wide = x.astype(np.uint64)
        channels, carried = [], np.uint64(0)
        with np.errstate(over="ignore"):
            for start, first, width in self.channels(g):
                energy, span = wide[start : start + width], slice(first, first + width)
                kept, given = (np.sum(energy * w[span].astype(np.int64).astype(np.uint64)) for w in (weights, rests))
                channels.append(np.uint64(carried + kept))
                carried = np.uint64(given)
        return [np.array(channels[1:], np.uint64)]

    def channels(self, g: Graph) -> list[tuple[int, int, int]]:
        """Where each begins among the energies and among the weights, and how wide it is."""
        columns = [self.input(g, p).data for p in (3, 4, 5)]
        return [(int(a), int(b), max(int(c), 0)) for a, b, c in zip(*columns, strict=True)]


class SignalFilterBankSquareRoot(_Typed):
    """Square roots, rounded to the nearest and shifted right. Inputs: what a filter bank sums up, the bits."""

    kind = "SignalFilterBankSquareRoot"
    wanted = (DType.UINT64, DType.INT32)
    result = DType.UINT32

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, bits = values
        assert x is not None and bits is not None
        return [square_roots(x) >> np.uint32(int(bits) & 31)]


def square_roots(x: Array) -> Array:
    """The nearest whole numbers, but none that takes a bit more than half as many bits as the register of x."""
    n = x.astype(np.uint64)
    root = np.sqrt(n.astype(np.float64)).astype(np.uint64)
    root = np.minimum(root, np.uint64(0xFFFFFFFF))
    root -= root * root > n
    root += n - root * root > np.uint64(2) * root
    most = np.where(n < np.uint64(1 << 32), np.uint64(0xFFFF), np.uint64(0xFFFFFFFF))
    return np.asarray(root + ((n - root * root > root) & (root != most)), np.uint32)


class SignalFilterBankLog(_Typed):
    """Natural logarithms times a scale, of channels shifted left; those of zero and one are zero."""

    scale: int
    bits: int
    kind = "SignalFilterBankLog"
    wanted = (DType.UINT32,)
    result = DType.INT16

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        shifted = (x.astype(np.int64) << np.int64(self.bits)) & 0xFFFFFFFF
        return [np.minimum(logarithms(shifted, self.scale), 32767).astype(np.int16)]


def logarithms(n: Ints, scale: int) -> Ints:
    """Natural logarithms of 32-bit numbers times a scale; those of zero and one are zero."""
    bits = bit_lengths(np.maximum(n, 1)) - 1
    rest = n - (np.int64(1) << bits)
    rest = np.where(bits < LOG_BITS, rest << np.maximum(LOG_BITS - bits, 0), rest >> np.maximum(bits - LOG_BITS, 0))
    rest = np.where(n > 1, rest, 0)
    segment = rest >> np.int64(LOG_BITS - LOG_SEGMENTS)
    table = log_table().astype(np.int64)
    inside = rest - (segment << np.int64(LOG_BITS - LOG_SEGMENTS))
    bend = ((table[segment + 1] - table[segment]) * inside) >> np.int64(LOG_BITS)
    log2 = (bits << np.int64(LOG_BITS)) + rest + table[segment] + bend
    log = (LOG_2 * log2 + (1 << LOG_BITS - 1)) >> np.int64(LOG_BITS)
    scaled = ((scale * log + (1 << LOG_BITS - 1)) & 0xFFFFFFFF) >> np.int64(LOG_BITS)
    return np.where(n > 1, scaled, 0)


def bit_lengths(n: Ints) -> Ints:
    """Bits of numbers of at most 32 bits, which float64 holds exactly."""
    return np.frexp(n.astype(np.float64))[1].astype(np.int64)


def log_table() -> Ints:
    """By how much a logarithm to the base of two is above the straight line between powers of two, at 128 places and
    the end, with one more for whoever looks behind it."""
    x = np.arange((1 << LOG_SEGMENTS) + 1, dtype=np.int64) / (1 << LOG_SEGMENTS)
    return np.append(np.round((np.log2(1 + x) - x) * (1 << LOG_BITS)), 0).astype(np.int16)


class SignalPcan(_Typed):
    """Channels times a gain that depends on their noise, through a table of parabolas, and made smaller where they are
    small. Inputs: channels, noise, the table."""

    shift: int
    kind = "SignalPCAN"
    wanted = (DType.UINT32, DType.UINT32, DType.INT16)
    result = DType.UINT32

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def unsupported(self, g: Graph) -> str | None:
        if self.input(g, 2).data is None:
            return "gains that are computed at run time are not supported"
        return super().unsupported(g)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, noise, table = values
        assert x is not None and noise is not None and table is not None
        return [amplified(x, noise, table, self.shift)]


def amplified(x: Array, noise: Array, table: Array, shift: int) -> Array:
    """Channels times the gains that a table has for their noise, and made smaller where they are small."""
    with np.errstate(over="ignore"):
        product = x.astype(np.uint64) * (_gains(noise, table) & 0xFFFFFFFF).astype(np.uint64)
    return _shrunk((product >> np.uint64(shift)) & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _gains(noise: Array, table: Array) -> Ints:
    """A parabola for each power of two, in 16 bits."""
    x, y = noise.astype(np.int64), table.astype(np.int64)
    bits = np.maximum(bit_lengths(x), 2)
    place = 4 * bits - 6
    at = np.where(bits < 11, x << np.maximum(11 - bits, 0), x >> np.maximum(bits - 11, 0)) & 0x3FF
    slope = wrapped((y[place + 2] * at >> np.int64(5)) + (y[place + 1] << np.int64(5)), 32)
    curve = wrapped(wrapped(slope * at, 32) + (1 << 14), 32) >> np.int64(15)
    return np.where(x <= 2, y[np.minimum(x, 2)], wrapped(curve + y[place], 16))


def wrapped(x: Ints, bits: int) -> Ints:
    """Numbers as a register of so many bits holds them, with a sign."""
    half = np.int64(1) << np.int64(bits - 1)
    return ((x + half) & (2 * half - 1)) - half


def _shrunk(snr: Array) -> Array:
    """x^2 / 4 where x is less than 2, x - 1 from there on."""
    small = np.minimum(snr, np.uint64(2 << SNR_BITS))
    parabola = small * small >> np.uint64(2 + 2 * SNR_BITS - OUTPUT_BITS)
    line = (snr >> np.uint64(SNR_BITS - OUTPUT_BITS)) - np.uint64(1 << OUTPUT_BITS)
    return np.where(snr < np.uint64(2 << SNR_BITS), parabola, line)
