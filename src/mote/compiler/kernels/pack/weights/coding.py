"""Weights that compress, kept as a prefix code and expanded as they are used: the encoder for `mote_code.h`.

Few distinct values, small ranges, values that are more frequent than others and runs of zeros are all one code. Values
are sorted by how frequent they are and cut into classes of 2^b; a code is k zeros and a one for class k, then b bits.
One class may stand for runs of zeros, whose b bits are a length. The classes are those that take the fewest bits. That
is within a percent of Huffman's code, and a core finds a value in a dozen instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from mote.base.integers import bincount, repeat
from mote.compiler.kernels.contract import Params
from mote.ir.graph.numeric.fixedpoint import Ints

MOST_CLASSES = 12
"""Codes then have 20 bits at most; a decoder can see 25 at once."""
MOST_BITS = 8
"""Of a place in a class, or of the length of a run."""
BITS = np.arange(MOST_BITS + 1, dtype=np.int64)[:, None]
RUN_CLASSES = range(4)
"""Where the class of runs is tried."""
SHORTEST_RUNS = (1, 2, 4)
"""Zeros in runs that are shorter are values like others."""
RUN = 255
"""Symbols are values and 128, or this and the length of a run."""
IMPOSSIBLE = 1 << 60
"""More bits than there are."""
BEHIND = 3
"""Bytes that a decoder reads behind the last code."""


@dataclass(frozen=True)
class ZeroRuns:
    """How zeros are coded: a class, the bits of a length, and the shortest run."""

    at: int
    bits: int
    shortest: int


@dataclass(frozen=True, eq=False)
class Code:
    """Coded weights; `symbols` is how many codes there are."""

    bits: NDArray[np.uint8]
    values: NDArray[np.int8]
    classes: NDArray[np.int16]
    run: int
    symbols: int

    @property
    def nbytes(self) -> int:
        return self.bits.nbytes + self.values.nbytes + self.classes.nbytes

    @property
    def params(self) -> Params:
        """`mote_code_t`."""
        return {
            "bits": self.bits,
            "values": self.values,
            "classes": self.classes,
            "stop": 1 << (32 - len(self.classes)),
            "run": self.run,
        }


def encode(rows: NDArray[np.int8]) -> Code:
    """The smallest code of a matrix; no run goes on in the next row."""
    return _encode(rows.tobytes(), rows.shape[1])


@lru_cache(maxsize=256)
def _encode(data: bytes, width: int) -> Code:
    rows = np.frombuffer(data, np.int8).reshape(-1, width)
    begins, lengths = _zero_runs(rows)
    counts = bincount(rows.reshape(-1).astype(np.int64) + 128, 256)
    best = _best(counts, lengths)
    symbols = _symbols(rows.reshape(-1), begins, lengths, best.runs)
    return _write(symbols, best.values.counts, best.runs, best.classes)


def _best(counts: Ints, lengths: Ints) -> Coding:
    """The way to code zeros that takes the least. A way takes no less than its values take without runs and its runs
    without the bits that tell them apart: most are left out for that."""
    best = Coding(Frequencies(counts))
    others = {n: Frequencies(_without_runs(counts, lengths, n)) for n in (SHORTEST_RUNS if len(lengths) else ())}
    for runs in (ZeroRuns(at, b, n) for b in range(1, MOST_BITS + 1) for n in others for at in RUN_CLASSES):
        number = int((-(-lengths[lengths >= runs.shortest] >> runs.bits)).sum())
        other = Coding(others[runs.shortest], runs, number)
        if Coding(other.values).nbits + number * (runs.at + runs.bits) < best.nbits > other.nbits:
            best = other
    return best


def _zero_runs(rows: NDArray[np.int8]) -> tuple[Ints, Ints]:
    """Where zeros begin in the rows, one after another, and how many there are."""
    edges = np.diff(np.pad(rows == 0, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    (row, begin), (_, end) = np.nonzero(edges == 1), np.nonzero(edges == -1)
    return row * rows.shape[1] + begin, end - begin


def _without_runs(counts: Ints, lengths: Ints, shortest: int) -> Ints:
    """How often each value is coded where runs of zeros are not."""
    used = counts.copy()
    used[128] -= lengths[lengths >= shortest].sum()
    return used


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How often each value is coded, and what classes of the most frequent ones take: those of 2^b values that begin
    with the i-th most frequent, for each b and i."""

    counts: Ints

    @cached_property
    def size(self) -> int:
        return int(np.count_nonzero(self.counts))

    @cached_property
    def nexts(self) -> Ints:
        """The first value behind such a class."""
        nexts: Ints = np.minimum(np.arange(self.size + 1, dtype=np.int64) + (1 << BITS), self.size)
        return nexts

    @cached_property
    def taken(self) -> Ints:
        """How often the values of such a class are coded."""
        before = np.concatenate([[0], np.cumsum(np.sort(self.counts[self.counts > 0])[::-1])])
        counts: Ints = before[self.nexts] - before
        return counts

    def costs(self, k: int, least: Ints, may_end: bool) -> Ints:
        """The bits that all values from the i-th on take if class k is such a class, given what they take from the next
        class on. No one follows the zeros of the last class."""
        last = (self.nexts == self.size) & may_end
        bits: Ints = self.taken * (k + BITS + ~last) + least[self.nexts]
        bits[0] = np.where(last[0] & (k == 0), IMPOSSIBLE, bits[0])
        return bits

    @cached_property
    def least(self) -> list[Ints]:
        """The fewest bits that the values from the i-th on take in classes k and higher, without runs."""
        fewest = [np.where(np.arange(self.size + 1, dtype=np.int64) < self.size, np.int64(IMPOSSIBLE), 0)]
        for k in reversed(range(MOST_CLASSES)):
            fewest.insert(0, self.costs(k, fewest[0], may_end=True).min(axis=0))
        return fewest


@dataclass(frozen=True, eq=False)
class Coding:
    """Values, and a class of its own for so many runs of zeros."""

    values: Frequencies
    runs: ZeroRuns | None = None
    number: int = 0

    @cached_property
    def least(self) -> list[Ints]:
        """The fewest bits that the values from the i-th on, and the runs, take in classes k and higher."""
        if self.runs is None:
            return self.values.least
        fewest = self.values.least[self.runs.at + 1 :]
        more = np.arange(self.values.size + 1, dtype=np.int64) < self.values.size
        fewest.insert(0, fewest[0] + self.number * (self.runs.at + self.runs.bits + more))
        for k in reversed(range(self.runs.at)):
            fewest.insert(0, self.values.costs(k, fewest[0], may_end=False).min(axis=0))
        return fewest

    @property
    def nbits(self) -> int:
        """Bits of the coded weights and of the table of values."""
        return int(self.least[0][0]) + 8 * self.values.size

    @property
    def classes(self) -> tuple[int, ...]:
        """The bits of a place in each class."""
        at = -1 if self.runs is None else self.runs.at
        widths: list[int] = []
        i = 0
        while i < self.values.size or len(widths) <= at:
            k = len(widths)
            if self.runs is not None and k == at:
                widths.append(self.runs.bits)
            else:
                widths.append(int(self.values.costs(k, self.least[k + 1], k > at)[:, i].argmin()))
                i = int(self.values.nexts[widths[k], i])
        return tuple(widths)


def _symbols(weights: NDArray[np.int8], begins: Ints, lengths: Ints, runs: ZeroRuns | None) -> Ints:
    """The symbols to code, in order: weights, and runs of zeros."""
    symbols = weights.astype(np.int64) + 128
    if runs is None:
        return symbols
    keep = np.ones(len(symbols), bool)
    long = lengths >= runs.shortest
    for begin, length in zip(begins[long], lengths[long], strict=True):
        pieces = np.minimum(length - np.arange(0, length, 1 << runs.bits, dtype=np.int64), 1 << runs.bits)
        symbols[begin : begin + len(pieces)] = RUN + pieces
        keep[begin + len(pieces) : begin + length] = False
    return symbols[keep]


def _write(symbols: Ints, counts: Ints, runs: ZeroRuns | None, class_bits: Sequence[int]) -> Code:
    """The symbols with codes of such classes."""
    values = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    codes, lengths = np.zeros((2, RUN + 1 + (1 << MOST_BITS)), np.int64)
    classes = []
    start = 0
    for k, bits in enumerate(class_bits):
        last = k == len(class_bits) - 1
        length, one = k + bits + (not last), 0 if last else 1 << bits
        if runs is not None and k == runs.at:
            members, first = RUN + 1 + np.arange(1 << bits, dtype=np.int64), 1
        else:
            members, first = values[start : start + (1 << bits)], start
            start += len(members)
        codes[members], lengths[members] = one + np.arange(len(members), dtype=np.int64), length
        classes.append(32 - length + 32 * (first - one))
    return Code(
        _pack(codes[symbols], lengths[symbols]),
        (values - 128).astype(np.int8),
        np.array(classes, np.int16),
        -1 if runs is None else runs.at,
        len(symbols),
    )


def _pack(codes: Ints, lengths: Ints) -> NDArray[np.uint8]:
    """Codes one after another, the first bit of each first."""
    ends = np.cumsum(lengths)
    left = repeat(ends, lengths) - 1 - np.arange(ends[-1], dtype=np.int64)
    packed = np.packbits((repeat(codes, lengths) >> left & 1).astype(np.uint8))
    return np.concatenate([packed, np.zeros(BEHIND, np.uint8)])
