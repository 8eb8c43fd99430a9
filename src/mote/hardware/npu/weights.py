"""Decodes compressed Ethos-U weights in hardware order, and bias/scale records.

A weight stream is a sequence of slices of bits, lowest bit of a byte first. A slice has a header, optionally a palette,
and chunks of Golomb-Rice coded weight indices and, if zeros are run-length coded, run lengths. A chunk holds the unary
quotients of up to 12 symbols; their remainders follow after the quotients of the next chunk. Indices below the palette
size refer to the palette, others are literal values. Values have their sign in the lowest bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.base.integers import repeat

END = 7
"""Zero-run divisor code for the end of a stream (or its padding) at the next byte."""
NO_RUNS = 6
"""Zero-run divisor code for zeros coded like other weights."""
UNCOMPRESSED = 7
"""Weight divisor code for uncompressed indices."""
LARGEST = 511
"""Maximum decodable value: 9 bits."""
AHEAD = 8
"""Maximum number of weights decoded ahead of the zero runs between them."""
RECORD = 10
"""Bytes per channel record of bias, scale and shift."""

Ints = NDArray[np.int64]


@lru_cache(maxsize=256)
def decode(data: bytes) -> NDArray[np.int16]:
    """Weights of a stream in hardware order. After the end of a stream the next byte begins another one; padding
    consists of empty streams."""
    reader = _Reader(data)
    parts: list[NDArray[np.int16]] = []
    palette: _Palette | None = None
    while reader.at < reader.bits:
        divisor = reader.take(3)
        if divisor == END:
            reader.at = -(-reader.at // 8) * 8
            palette = None
            continue
        if divisor > 3 and divisor != NO_RUNS:
            reader.refuse(f"zero runs have no divisor {divisor}")
        part, palette = _slice(reader, divisor, palette)
        parts.append(part)
    return _frozen(np.concatenate(parts) if parts else np.zeros(0, np.int16))


@lru_cache(maxsize=256)
def decode_fast(data: bytes) -> NDArray[np.int16]:
    """Weights in the fast format of Ethos-U85: a 32-byte header with a table of 16 weights, then 2- or 4-bit indices or
    8-bit weights. Padded to a multiple of 32 bytes beyond the weights."""
    reader = _Reader(data)
    if not data or len(data) % 16:
        reader.refuse(f"{len(data)} bytes are no weights in the fast format")
    raw, small = reader.take(1), reader.take(1)
    if raw and small:
        reader.refuse("weights are either in a table or not")
    if int.from_bytes(data[:13], "little") >> 2:
        reader.refuse("bits of the header are set that must be 0")
    reader.at = 104
    adjust = (reader.take(8) ^ 0x80) - 0x80
    folded = np.array([reader.take(9) for _ in range(16)], np.int64)
    body = np.frombuffer(data, np.uint8, offset=32)
    if raw:
        return _frozen(body.view(np.int8).astype(np.int16) - np.int16(adjust))
    width = 2 if small else 4
    indices = (body[:, None] >> np.arange(0, 8, width, dtype=np.uint8) & (1 << width) - 1).reshape(-1)
    return _frozen(_unfolded(folded)[indices])


def records(data: bytes, bias_bits: int) -> tuple[Ints, Ints, Ints]:
    """Biases, scales and shifts of channels, 10 bytes each. Ethos-U55 and U65: 40-bit biases and 32-bit scales; U85: 32
    and 31 bits, or with 48-bit accumulators 48 and 15 bits, and an unused byte."""
    layouts = {40: (5, 4, 32), 32: (4, 4, 31), 48: (6, 2, 15)}
    if len(data) % RECORD:
        raise MoteError(f"{len(data)} bytes of scales are no records of {RECORD} bytes", remedy="compile it again")
    low, high, bits = layouts[bias_bits]
    table = np.frombuffer(data, np.uint8).reshape(-1, RECORD).astype(np.int64)
    places = 1 << 8 * np.arange(6, dtype=np.int64)
    bias = table[:, :low] @ places[:low]
    scale = table[:, low : low + high] @ places[:high] & (1 << bits) - 1
    return bias - (bias >> bias_bits - 1 << bias_bits), scale, table[:, low + high] & 63


@dataclass(frozen=True)
class _Palette:
    """A palette and the interpretation of indices beyond it."""

    runs: bool
    entries: tuple[int, ...]
    offset: int
    bits: int

    def values(self, indices: Ints) -> Ints:
        if not self.entries:
            return indices + self.offset
        direct = indices - len(self.entries) + self.offset
        return np.where(
            direct < self.offset, np.array(self.entries)[np.minimum(indices, len(self.entries) - 1)], direct
        )


class _Reader:
    """Bit reader, lowest bit of each byte first."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.bits = 8 * len(data)
        padded = np.frombuffer(data + bytes(2), np.uint8).astype(np.int64)
        self.pairs = padded[:-1] | padded[1:] << 8

    def take(self, count: int) -> int:
        value = self.window() & (1 << count) - 1
        self.at += count
        if self.at > self.bits:
            self.refuse("the stream ends in the middle of a slice")
        return value

    def window(self) -> int:
        """The next 56 or more bits, zero-padded after the end."""
        byte = self.at >> 3
        return int.from_bytes(self.data[byte : byte + 8], "little") >> (self.at & 7)

    def gather(self, starts: Sequence[int], counts: Sequence[int], width: int) -> Ints:
        """Reads consecutive fixed-width numbers at several bit positions: `count` numbers from each start."""
        many = np.array(counts, np.int64)
        if not width:
            return np.zeros(int(many.sum()), np.int64)
        before = repeat(np.cumsum(many) - many, many)
        places = repeat(np.array(starts, np.int64), many) + (np.arange(len(before), dtype=np.int64) - before) * width
        numbers: Ints = self.pairs[places >> 3] >> (places & 7) & (1 << width) - 1
        return numbers

    def refuse(self, reason: str) -> NoReturn:
        raise MoteError(
            reason,
            where=f"compressed weights of Ethos-U, byte {min(self.at, self.bits) // 8}",
            remedy="the weights are damaged or do not belong to this command stream: compile the model again",
        )


def _slice(reader: _Reader, divisor: int, palette: _Palette | None) -> tuple[NDArray[np.int16], _Palette]:
    """Weights of a slice whose first three bits were read, and the palette that following slices may reuse."""
    runs = divisor != NO_RUNS
    count = reader.take(15) + 1
    weight_divisor = reader.take(3)
    truncated = reader.take(1)
    fresh = reader.take(1)
    if fresh:
        offset, size, bits = reader.take(5), reader.take(5), reader.take(3) + 2
        entries = tuple(reader.take(bits) for _ in range(size + 1 if size else 0))
        palette = _Palette(runs, entries, offset, bits)
    elif palette is None:
        reader.refuse("the first slice of a stream has no palette")
    elif palette.runs != runs:
        reader.refuse("zero runs begin or end without a new palette")
    full = weight_divisor == UNCOMPRESSED
    if full:
        weight_divisor = (len(palette.entries) - 1).bit_length() if palette.entries else palette.bits
    elif weight_divisor > 5:
        reader.refuse(f"weights have no divisor {weight_divisor}")
    chunks = _Chunks(reader, count, count + fresh if runs else 0)
    chunks.read(weight_divisor, full, truncated, divisor)
    quotients = np.zeros(count, np.int64) if full else _quotients(chunks.first, chunks.second, truncated)[:count]
    indices = (quotients << weight_divisor) + reader.gather(chunks.weight_at, chunks.weight_count, weight_divisor)
    if indices.max() > LARGEST:
        reader.refuse(f"index {indices.max()} has more than 9 bits")
    values = palette.values(indices)
    if values.max() > LARGEST:
        reader.refuse(f"value {values.max()} has more than 9 bits")
    weights = _unfolded(values)
    if not runs:
        return weights, palette
    lengths = _runs(reader, chunks, divisor)
    if not fresh:
        lengths = np.concatenate([np.zeros(1, np.int64), lengths])
    spread = np.zeros(count + int(lengths.sum()), np.int16)
    spread[np.arange(count, dtype=np.int64) + np.cumsum(lengths)[:count]] = weights
    return spread, palette


class _Chunks:
    """Unary parts of a slice's chunks and positions of their remainders: all that must be parsed sequentially."""

    def __init__(self, reader: _Reader, weights: int, runs: int) -> None:
        self.reader = reader
        self.weights = weights
        self.runs = runs
        self.first: list[int] = []
        """12 bits per chunk: whether each quotient step is nonzero."""
        self.second: list[int] = []
        """A bit per nonzero step: whether it is 2, after which the quotient continues unless truncated."""
        self.zeros: list[int] = []
        self.weight_at: list[int] = []
        self.weight_count: list[int] = []
        self.run_at: list[int] = []
        self.run_count: list[int] = []

    def read(self, divisor: int, full: int, truncated: int, run_divisor: int) -> None:
        reader = self.reader
        symbols = 8 if full and divisor > 5 else 12
        length = 12 if run_divisor < 3 else 8
        done = runs_done = 0
        waiting = runs_waiting = 0
        while True:
            more = done < self.weights and (not self.runs or done - runs_done < AHEAD)
            more_runs = runs_done < self.runs and done >= runs_done
            window = reader.window()
            used = 0
            new = new_runs = 0
            first = 0
            if more and not full:
                first = window & 0xFFF
                used = 12
            if more_runs:
                unary = window >> used & (1 << length) - 1
                used += length
                self.zeros.append(unary)
                new_runs = min(length - unary.bit_count(), self.runs - runs_done)
            if more:
                count = first.bit_count()
                second = window >> used & (1 << count) - 1
                used += count
                self.first.append(first)
                self.second.append(second)
                new = min(symbols if truncated or full else symbols - second.bit_count(), self.weights - done)
            reader.at += used
            if waiting:
                self.weight_at.append(reader.at)
                self.weight_count.append(waiting)
                reader.at += waiting * divisor
            if runs_waiting:
                self.run_at.append(reader.at)
                self.run_count.append(runs_waiting)
                reader.at += runs_waiting * run_divisor
            if reader.at > reader.bits:
                reader.refuse("the stream ends in the middle of a slice")
            if not (more or more_runs):
                return
            done += new
            runs_done += new_runs
            waiting, runs_waiting = new, new_runs


def _quotients(first: Sequence[int], second: Sequence[int], truncated: int) -> Ints:
    """Quotients from steps of 0, 1 or 2: a quotient is the sum of steps up to one below 2, or a single step if
    truncated."""
    places = np.arange(12, dtype=np.int64)
    head = np.array(first)[:, None] >> places & 1
    tail = np.array(second)[:, None] >> places & 1
    steps = head.copy()
    steps[head == 1] += tail[places < head.sum(axis=1)[:, None]]
    flat = steps.reshape(-1)
    return flat if truncated else _sums(flat, flat < 2)


def _runs(reader: _Reader, chunks: _Chunks, divisor: int) -> Ints:
    """Run lengths of zeros: unary, ones terminated by a zero."""
    length = 12 if divisor < 3 else 8
    flat = (np.array(chunks.zeros)[:, None] >> np.arange(length, dtype=np.int64) & 1).reshape(-1)
    quotients = _sums(flat, flat == 0)[: chunks.runs]
    return (quotients << divisor) + reader.gather(chunks.run_at, chunks.run_count, divisor)


def _sums(steps: Ints, ends: NDArray[np.bool_]) -> Ints:
    """Sums of steps up to and including each end."""
    return np.diff(np.cumsum(steps)[ends], prepend=0)


def _unfolded(values: Ints) -> NDArray[np.int16]:
    """Decodes numbers with the sign in the lowest bit."""
    return np.where(values & 1, -(values >> 1), values >> 1).astype(np.int16)


def _frozen(weights: NDArray[np.int16]) -> NDArray[np.int16]:
    weights.flags.writeable = False
    return weights
