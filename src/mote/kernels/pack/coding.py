"""Weights that compress, kept as a prefix code and expanded as they are used: the encoder for `mote_code.h`.

Few distinct values, small ranges, values that are more frequent than others and runs of zeros are all one code. Values
are sorted by how frequent they are and cut into classes of 2^b; a code is k zeros and a one for class k, then b bits.
One class may stand for runs of zeros, whose b bits are a length. The classes are those that take the fewest bits. That
is within a percent of Huffman's code, and a core finds a value in a dozen instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mote.graph.fixedpoint import Ints
from mote.kernels.contract import Params

MOST_CLASSES = 12
"""Codes then have 20 bits at most; a decoder can see 25 at once."""
MOST_BITS = 8
"""Of a place in a class, or of the length of a run."""
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
class Runs:
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
    counts = np.bincount(rows.reshape(-1).astype(np.int64) + 128, minlength=256)

    best = _best_runs(counts, lengths)
    used, number = _counts(counts, lengths, best)
    return _write(_symbols(rows.reshape(-1), begins, lengths, best), used, best, _classes(used, best, number)[1])


def _best_runs(counts: Ints, lengths: Ints) -> Runs | None:
    """The way to code zeros that takes the least. A way takes no less than its values take without runs and its runs
    without the bits that tell them apart: most are left out for that."""

    def nbits(used: Ints, runs: Runs | None, number: int) -> int:
        return _classes(used, runs, number)[0] + 8 * int(np.count_nonzero(used))

    best, least = None, nbits(counts, None, 0)
    values: dict[int, int] = {}
    ways = [Runs(at, b, n) for b in range(1, MOST_BITS + 1) for n in SHORTEST_RUNS for at in RUN_CLASSES]
    for runs in ways if len(lengths) else []:
        used, number = _counts(counts, lengths, runs)
        if runs.shortest not in values:
            values[runs.shortest] = nbits(used, None, 0)
        if values[runs.shortest] + number * (runs.at + runs.bits) < least:
            taken = nbits(used, runs, number)
            best, least = (runs, taken) if taken < least else (best, least)
    return best


def _zero_runs(rows: NDArray[np.int8]) -> tuple[Ints, Ints]:
    """Where zeros begin in the rows, one after another, and how many there are."""
    edges = np.diff(np.pad(rows == 0, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    (row, begin), (_, end) = np.nonzero(edges == 1), np.nonzero(edges == -1)
    return row * rows.shape[1] + begin, end - begin


def _counts(counts: Ints, lengths: Ints, runs: Runs | None) -> tuple[Ints, int]:
    """How often each value is coded, and how many runs there are."""
    if runs is None:
        return counts, 0
    long = lengths[lengths >= runs.shortest]
    used = counts.copy()
    used[128] -= long.sum()
    return used, int((-(-long >> runs.bits)).sum())


def _classes(counts: Ints, runs: Runs | None, number: int) -> tuple[int, tuple[int, ...]]:
    """The fewest bits that values and runs take, and the bits of a place in each class: `least[i]` is what the values
    from the i-th most frequent on take in classes k and higher. No one follows the zeros of the last class."""
    ordered = np.sort(counts[counts > 0])[::-1]
    size = len(ordered)
    before = np.concatenate([[0], np.cumsum(ordered)])
    bits = np.arange(MOST_BITS + 1)[:, None]
    nexts = np.minimum(np.arange(size + 1) + (1 << bits), size)
    taken = before[nexts] - before
    runs_at = -1 if runs is None else runs.at
    least = np.where(np.arange(size + 1) < size, IMPOSSIBLE, 0)
    choices: list[Ints] = []
    for k in reversed(range(MOST_CLASSES)):
        if runs is not None and k == runs_at:
            least = least + number * (k + runs.bits + (np.arange(size + 1) < size))
            choices.insert(0, np.full(size + 1, runs.bits))
        else:
            last = (nexts == size) & (k > runs_at)
            costs = taken * (k + bits + ~last) + least[nexts]
            costs[0] = np.where(last[0] & (k == 0), IMPOSSIBLE, costs[0])
            choices.insert(0, costs.argmin(axis=0))
            least = costs.min(axis=0)
    found: list[int] = []
    i = 0
    while i < size or len(found) <= runs_at:
        k = len(found)
        found.append(int(choices[k][i]))
        i = i if k == runs_at else int(nexts[found[k], i])
    return int(least[0]), tuple(found)


def _symbols(weights: NDArray[np.int8], begins: Ints, lengths: Ints, runs: Runs | None) -> Ints:
    """What is coded, one after another."""
    found = weights.astype(np.int64) + 128
    if runs is None:
        return found
    keep = np.ones(len(found), bool)
    long = lengths >= runs.shortest
    for begin, length in zip(begins[long], lengths[long], strict=True):
        pieces = np.minimum(length - np.arange(0, length, 1 << runs.bits), 1 << runs.bits)
        found[begin : begin + len(pieces)] = RUN + pieces
        keep[begin + len(pieces) : begin + length] = False
    return found[keep]


def _write(symbols: Ints, counts: Ints, runs: Runs | None, class_bits: Sequence[int]) -> Code:
    """The symbols with codes of such classes."""
    values = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    codes, lengths = np.zeros((2, RUN + 1 + (1 << MOST_BITS)), np.int64)
    classes = []
    start = 0
    for k, bits in enumerate(class_bits):
        last = k == len(class_bits) - 1
        length, one = k + bits + (not last), 0 if last else 1 << bits
        if runs is not None and k == runs.at:
            members, first = RUN + 1 + np.arange(1 << bits), 1
        else:
            members, first = values[start : start + (1 << bits)], start
            start += len(members)
        codes[members], lengths[members] = one + np.arange(len(members)), length
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
    left = np.repeat(ends, lengths) - 1 - np.arange(ends[-1])
    packed = np.packbits((np.repeat(codes, lengths) >> left & 1).astype(np.uint8))
    return np.concatenate([packed, np.zeros(BEHIND, np.uint8)])
