"""Stateless Signal operators of TFLite Micro's audio front end: window, scaling, energy, filter bank.

They are defined by TFLite Micro alone, in integers, and equal it bit for bit. What it leaves unwritten is zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.graph import Graph, Op
from mote.graph.numeric.fixedpoint import Ints
from mote.graph.tensor import Array, Shape
from mote.graph.types import DType

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
        bins = np.arange(self.output(g).size)
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
        roots = np.array([square_root(n) for n in x.reshape(-1).tolist()], np.uint32)
        return [(roots >> np.uint32(int(bits) & 31)).reshape(x.shape)]


def square_root(n: int) -> int:
    """The nearest whole number, but none that takes a bit more than half as many bits as the register of n."""
    root, most = math.isqrt(n), 0xFFFF if n < 1 << 32 else 0xFFFFFFFF
    return root + 1 if n - root * root > root and root != most else root


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
        n = (x.astype(np.int64) << np.int64(self.bits)) & 0xFFFFFFFF
        bits = np.frexp(np.maximum(n, 1).astype(np.float64))[1].astype(np.int64) - 1
        rest = n - (np.int64(1) << bits)
        rest = np.where(bits < LOG_BITS, rest << np.maximum(LOG_BITS - bits, 0), rest >> np.maximum(bits - LOG_BITS, 0))
        rest = np.where(n > 1, rest, 0)
        segment = rest >> np.int64(LOG_BITS - LOG_SEGMENTS)
        table = log_table().astype(np.int64)
        inside = rest - (segment << np.int64(LOG_BITS - LOG_SEGMENTS))
        bend = ((table[segment + 1] - table[segment]) * inside) >> np.int64(LOG_BITS)
        log2 = (bits << np.int64(LOG_BITS)) + rest + table[segment] + bend
        log = (LOG_2 * log2 + (1 << LOG_BITS - 1)) >> np.int64(LOG_BITS)
        scaled = ((self.scale * log + (1 << LOG_BITS - 1)) & 0xFFFFFFFF) >> np.int64(LOG_BITS)
        return [np.where(n > 1, np.minimum(scaled, 32767), 0).astype(np.int16)]


def log_table() -> Ints:
    """By how much a logarithm to the base of two is above the straight line between powers of two, at 128 places and
    the end, with one more for whoever looks behind it."""
    x = np.arange((1 << LOG_SEGMENTS) + 1) / (1 << LOG_SEGMENTS)
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
        gains = [_gain(n, table.tolist()) & 0xFFFFFFFF for n in noise.reshape(-1).tolist()]
        return [
            np.array([_shrunk(s * gain >> self.shift) for s, gain in zip(x.tolist(), gains, strict=True)], np.uint32)
        ]


def _gain(x: int, table: list[int]) -> int:
    """A parabola for each power of two, in 16 bits."""
    if x <= 2:
        return table[x]
    bits = x.bit_length()
    start, slope, bend = table[4 * bits - 6 : 4 * bits - 3]
    at = (x << 11 - bits if bits < 11 else x >> bits - 11) & 0x3FF
    curve = ((bend * at >> 5) + (slope << 5)) * at
    return _wrapped(((_wrapped(curve + (1 << 14), 32) >> 15) + start), 16)


def _wrapped(x: int, bits: int) -> int:
    return (x + (1 << bits - 1) & (1 << bits) - 1) - (1 << bits - 1)


def _shrunk(snr: int) -> int:
    """x^2 / 4 where x is less than 2, x - 1 from there on."""
    snr &= 0xFFFFFFFF
    if snr < 2 << SNR_BITS:
        return snr * snr >> 2 + 2 * SNR_BITS - OUTPUT_BITS
    return (snr >> SNR_BITS - OUTPUT_BITS) - (1 << OUTPUT_BITS)
