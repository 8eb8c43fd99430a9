"""Weight compression by a prefix code that kernels decode on the fly: the encoder for `mote_code.h`.

One code covers few distinct values, small ranges, skewed frequencies and runs of zeros. Values are sorted by frequency
and divided into classes of 2^b values; the codeword of a value in class k is k zeros, a one, and b bits. One class may
represent runs of zeros, with b bits for the length. Class sizes are chosen to minimize the total number of bits. The
result is within a percent of Huffman's code, and a core decodes a value in a dozen instructions.
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
"""Maximum number of classes: codewords then have at most 20 bits, and a decoder sees 25 at once."""
MOST_BITS = 8
"""Maximum number of bits after the class prefix: index in the class or length of a run."""
BITS = np.arange(MOST_BITS + 1, dtype=np.int64)[:, None]
RUN_CLASSES = range(4)
"""Positions tried for the class of zero runs."""
SHORTEST_RUNS = (1, 2, 4)
"""Minimum run lengths tried; shorter runs of zeros are coded value by value."""
RUN = 255
"""First symbol of zero runs: value symbols are 0..255 (value + 128), and RUN + n is a run of n zeros."""
IMPOSSIBLE = 1 << 60
"""Cost in bits that stands for an impossible choice."""
BEHIND = 3
"""Padding bytes after the last codeword, which the decoder may read."""


@dataclass(frozen=True)
class ZeroRuns:
    """How runs of zeros are coded: all of them share one class of codewords."""

    at: int
    """Index of that class: the number of zeros before the one in its codewords."""
    bits: int
    """Number of bits after the class prefix, which hold the length of the run."""
    shortest: int
    """Minimum length of a run; zeros of shorter ones are coded as values."""


@dataclass(frozen=True, eq=False)
class Code:
    """Coded weights, with the tables that decode them."""

    bits: NDArray[np.uint8]
    """The codewords as a bit stream."""
    values: NDArray[np.int8]
    """The distinct values, most frequent first."""
    classes: NDArray[np.int16]
    """For each class: 32 less the length of its codewords, plus 32 times what is added to a codeword, without the zeros
    before its one, for the index of its value."""
    run: int
    """Index of the class of zero runs; -1: there is none."""
    symbols: int
    """Number of codewords."""

    @property
    def nbytes(self) -> int:
        return self.bits.nbytes + self.values.nbytes + self.classes.nbytes

    @property
    def params(self) -> Params:
        """The coded weights and decoding tables as fields of `mote_code_t`."""
        return {
            "bits": self.bits,
            "values": self.values,
            "classes": self.classes,
            "stop": 1 << (32 - len(self.classes)),
            "run": self.run,
        }


def encode(rows: NDArray[np.int8]) -> Code:
    """The smallest code of a matrix; zero runs do not cross rows."""
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
    """The cheapest coding over all choices for zero runs. Candidates are skipped by a lower bound: the cost of their
    values without runs plus that of the runs without class prefixes."""
    best = Coding(Frequencies(counts))
    others = {n: Frequencies(_without_runs(counts, lengths, n)) for n in (SHORTEST_RUNS if len(lengths) else ())}
    for runs in (ZeroRuns(at, b, n) for b in range(1, MOST_BITS + 1) for n in others for at in RUN_CLASSES):
        number = int((-(-lengths[lengths >= runs.shortest] >> runs.bits)).sum())
        other = Coding(others[runs.shortest], runs, number)
        if Coding(other.values).nbits + number * (runs.at + runs.bits) < best.nbits > other.nbits:
            best = other
    return best


def _zero_runs(rows: NDArray[np.int8]) -> tuple[Ints, Ints]:
    """Start positions (in the flattened matrix) and lengths of the zero runs."""
    edges = np.diff(np.pad(rows == 0, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    (row, begin), (_, end) = np.nonzero(edges == 1), np.nonzero(edges == -1)
    return row * rows.shape[1] + begin, end - begin


def _without_runs(counts: Ints, lengths: Ints, shortest: int) -> Ints:
    """Frequency of each value when zeros in long enough runs are not counted."""
    used = counts.copy()
    used[128] -= lengths[lengths >= shortest].sum()
    return used


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Frequencies of the coded values, with the costs of candidate classes: for each b and i, the class of the 2^b
    values from the i-th most frequent on."""

    counts: Ints

    @cached_property
    def size(self) -> int:
        return int(np.count_nonzero(self.counts))

    @cached_property
    def nexts(self) -> Ints:
        """For each b and i: index of the first value after the class of 2^b values that starts at the i-th value."""
        nexts: Ints = np.minimum(np.arange(self.size + 1, dtype=np.int64) + (1 << BITS), self.size)
        return nexts

    @cached_property
    def taken(self) -> Ints:
        """For each b and i: total frequency of the 2^b values from the i-th on."""
        before = np.concatenate([[0], np.cumsum(np.sort(self.counts[self.counts > 0])[::-1])])
        counts: Ints = before[self.nexts] - before
        return counts

    def costs(self, k: int, least: Ints, may_end: bool) -> Ints:
        """For each b and i: total bits of all values from the i-th on if class k is that class, given the minimum bits
        from the next class on (`least`). The last class needs no terminating one."""
        last = (self.nexts == self.size) & may_end
        bits: Ints = self.taken * (k + BITS + ~last) + least[self.nexts]
        bits[0] = np.where(last[0] & (k == 0), IMPOSSIBLE, bits[0])
        return bits

    @cached_property
    def least(self) -> list[Ints]:
        """Minimum bits of the values from the i-th most frequent on, in classes k and higher, without zero runs: an
        array over i for each k."""
        fewest = [np.where(np.arange(self.size + 1, dtype=np.int64) < self.size, np.int64(IMPOSSIBLE), 0)]
        for k in reversed(range(MOST_CLASSES)):
            fewest.insert(0, self.costs(k, fewest[0], may_end=True).min(axis=0))
        return fewest


@dataclass(frozen=True, eq=False)
class Coding:
    """A code for values, with an optional class for `number` zero runs."""

    values: Frequencies
    runs: ZeroRuns | None = None
    number: int = 0

    @cached_property
    def least(self) -> list[Ints]:
        """Minimum bits of the values from the i-th most frequent on and of all zero runs, in classes k and higher: an
        array over i for each k."""
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
        """Bits of the coded weights and of the value table."""
        return int(self.least[0][0]) + 8 * self.values.size

    @property
    def classes(self) -> tuple[int, ...]:
        """For each class: number of bits that follow the class prefix in a codeword."""
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
    """Symbols to code in order: weights and zero runs."""
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
    """Writes symbols with the codewords given by `class_bits`, the number of index bits of each class."""
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
    """Concatenates codewords into a bit stream, most significant bit first."""
    ends = np.cumsum(lengths)
    left = repeat(ends, lengths) - 1 - np.arange(ends[-1], dtype=np.int64)
    packed = np.packbits((repeat(codes, lengths) >> left & 1).astype(np.uint8))
    return np.concatenate([packed, np.zeros(BEHIND, np.uint8)])
