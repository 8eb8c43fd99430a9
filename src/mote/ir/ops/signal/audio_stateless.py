"""Stateless Signal operators of TFLite Micro's audio front end: window, scaling, energy, filter bank.

Only TFLite Micro has them; results are integers, bit-exact with it. Elements that it leaves unwritten are zero.
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
"""ln(2) with 16 fraction bits, rounded down."""
PCAN_TABLE = 125
"""Size of the PCAN gain table for 32-bit noise."""
SNR_BITS, OUTPUT_BITS = 12, 6


class MicroOp(Op):
    """Base of operators that TFLite Micro has and LiteRT lacks: the reference is TFLite Micro."""

    def unwritten(self, g: Graph, values: Mapping[int, Array]) -> NDArray[np.bool_] | None:
        """Mask of output elements that TFLite Micro leaves unwritten (undefined) in an inference with these tensor
        values; None: none."""
        return None


class _Typed(MicroOp):
    """Base of operators with fixed element types: `wanted` of the first inputs, `result` of the output."""

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
    """SignalWindow: multiplies vectors by a window, shifted right and saturated. Inputs: vectors, the window."""

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
    """Largest left shift for which a signal still fits int16: the second output of SignalFftAutoScale."""

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
    """Largest absolute value as in TFLite Micro: -32768 counts as negative and discards all values before it."""
    lowest = np.flatnonzero(x == -32768)
    rest = x[lowest[-1] + 1 :].astype(np.int64) if lowest.size else x.astype(np.int64)
    if not lowest.size:
        return int(np.abs(rest).max(initial=0))
    return int(max(rest[0], np.abs(rest[1:]).max(initial=-32768))) if rest.size else -32768


def _bit_length(x: int) -> int:
    """Bit length of a positive number; 32 for zero and negative numbers."""
    return x.bit_length() if x > 0 else 32


class Scaled(_Typed):
    """Shifts a signal left: the first output of SignalFftAutoScale."""

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
    """SignalEnergy: squared magnitudes of the spectrum bins `start` to `end` - 1; 0 for other bins."""

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
    """SignalFilterBank: sums of energies over overlapping channels; each energy is split between two neighbouring
    channels. Inputs: energies; weights; unweights (remaining shares, for the next channel); and per channel: first
    energy, first weight, width. The first channel is dropped."""

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
                own, passed_on = (np.sum(energy * w[span].astype(np.int64).astype(np.uint64)) for w in (weights, rests))
                channels.append(np.uint64(carried + own))
                carried = np.uint64(passed_on)
        return [np.array(channels[1:], np.uint64)]

    def channels(self, g: Graph) -> list[tuple[int, int, int]]:
        """For each channel: index of its first energy, index of its first weight, and width."""
        columns = [self.input(g, p).data for p in (3, 4, 5)]
        return [(int(a), int(b), max(int(c), 0)) for a, b, c in zip(*columns, strict=True)]


class SignalFilterBankSquareRoot(_Typed):
    """SignalFilterBankSquareRoot: rounded square roots, shifted right. Inputs: filter bank sums, the shift."""

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
    """Rounded square roots; limited to half the bits of x (16 for x below 2^32, else 32)."""
    n = x.astype(np.uint64)
    root = np.sqrt(n.astype(np.float64)).astype(np.uint64)
    root = np.minimum(root, np.uint64(0xFFFFFFFF))
    root -= root * root > n
    root += n - root * root > np.uint64(2) * root
    most = np.where(n < np.uint64(1 << 32), np.uint64(0xFFFF), np.uint64(0xFFFFFFFF))
    return np.asarray(root + ((n - root * root > root) & (root != most)), np.uint32)


class SignalFilterBankLog(_Typed):
    """SignalFilterBankLog: natural logarithms times `scale`, of channels shifted left by `bits`; 0 for zero and one."""

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
    """Natural logarithms of 32-bit integers times `scale`; 0 for zero and one."""
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
    """Bit length of integers of at most 32 bits."""
    return np.frexp(n.astype(np.float64))[1].astype(np.int64)


def log_table() -> Ints:
    """Lookup table of log2(1 + x) - x for x = i / 128, i from 0 to 128, plus a padding entry, with LOG_BITS fraction
    bits."""
    x = np.arange((1 << LOG_SEGMENTS) + 1, dtype=np.int64) / (1 << LOG_SEGMENTS)
    return np.append(np.round((np.log2(1 + x) - x) * (1 << LOG_BITS)), 0).astype(np.int16)


class SignalPcan(_Typed):
    """SignalPCAN: per-channel amplitude normalization: channels times a gain that depends on their noise (a table of
    parabolas), then compressed. Inputs: channels, noise, the table."""

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
    """Multiply channels by the tabled gains for their noise, then compress small results."""
    with np.errstate(over="ignore"):
        product = x.astype(np.uint64) * (_gains(noise, table) & 0xFFFFFFFF).astype(np.uint64)
    return _shrunk((product >> np.uint64(shift)) & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _gains(noise: Array, table: Array) -> Ints:
    """Gains for noise values: a parabola per power of two, in 16 bits."""
    x, y = noise.astype(np.int64), table.astype(np.int64)
    bits = np.maximum(bit_lengths(x), 2)
    place = 4 * bits - 6
    at = np.where(bits < 11, x << np.maximum(11 - bits, 0), x >> np.maximum(bits - 11, 0)) & 0x3FF
    slope = wrapped((y[place + 2] * at >> np.int64(5)) + (y[place + 1] << np.int64(5)), 32)
    curve = wrapped(wrapped(slope * at, 32) + (1 << 14), 32) >> np.int64(15)
    return np.where(x <= 2, y[np.minimum(x, 2)], wrapped(curve + y[place], 16))


def wrapped(x: Ints, bits: int) -> Ints:
    """Wrap to signed integers of `bits` bits."""
    half = np.int64(1) << np.int64(bits - 1)
    return ((x + half) & (2 * half - 1)) - half


def _shrunk(snr: Array) -> Array:
    """PCAN's compression: x^2 / 4 for x < 2, else x - 1."""
    small = np.minimum(snr, np.uint64(2 << SNR_BITS))
    parabola = small * small >> np.uint64(2 + 2 * SNR_BITS - OUTPUT_BITS)
    line = (snr >> np.uint64(SNR_BITS - OUTPUT_BITS)) - np.uint64(1 << OUTPUT_BITS)
    return np.where(snr < np.uint64(2 << SNR_BITS), parabola, line)
