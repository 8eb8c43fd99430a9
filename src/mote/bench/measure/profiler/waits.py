"""Simulates wait states of slow memory: its line buffers and caches on a trace of blocks and loads.

A cache miss costs the full wait (`Reads.miss`). With prefetch, the next line is requested when a line is entered, so
sequential code waits less by the instructions executed since (at least a cycle each). Replacement is LRU. Code and
constants do not interfere otherwise, and useless prefetches cost nothing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.base.integers import repeat
from mote.bench.measure.profiler.trace import FlashLoads
from mote.hardware.cores.instructions import Timed
from mote.hardware.targets import Reads

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Zone:
    """An address range in one memory of the part, with the costs of instruction fetches (`code`) and loads (`data`).
    Bytes are counted for flash only."""

    start: int
    end: int
    memory: str
    code: Reads
    data: Reads
    flash: bool = True


@dataclass(frozen=True)
class Waits:
    """Per executed block: cycles waiting for code and for constants, bytes of constants loaded, and bytes read from
    slow memory."""

    code: Whole
    data: Whole
    loaded: Whole
    fetched: Whole


def lru_misses(lines: Sequence[int], count: int, ways: int | None = None) -> Whole:
    """LRU cache misses: 1 or 0 for each access, with `count` lines."""
    ways = ways or count
    sets = count // ways
    kept: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(sets)]
    missed = bytearray(len(lines))
    for n, line in enumerate(lines):
        lines_kept = kept[line % sets]
        if line in lines_kept:
            lines_kept.move_to_end(line)
            continue
        missed[n] = 1
        if len(lines_kept) >= ways:
            lines_kept.popitem(last=False)
        lines_kept[line] = None
    return np.frombuffer(missed, np.uint8).astype(np.int64)


def simulate(
    blocks: Sequence[Sequence[Timed]], order: NDArray[np.int32], loads: FlashLoads | None, zones: Sequence[Zone]
) -> Waits:
    """Simulates the waits of a whole run; addresses outside of all zones cost nothing."""
    waits = Waits(*(np.zeros(len(order), np.int64) for _ in range(4)))
    if loads is not None:
        np.add.at(waits.loaded, loads.places, loads.sizes)
    for memory in dict.fromkeys(zone.memory for zone in zones):
        own = [zone for zone in zones if zone.memory == memory]
        code, data = own[0].code, own[0].data
        fetches = _fetches(blocks, order, own, code.line_bytes) if code.waits else _NOTHING
        reads = _reads(loads, own, data) if data.waits and loads is not None else _NOTHING
        if code.shared_lines:
            both = _merged(fetches, reads)
            missed = lru_misses(both.lines.tolist(), code.code_lines, code.ways)
            missed_code, missed_data = missed[both.clock >= 0], missed[both.clock < 0]
        else:
            missed_code = lru_misses(fetches.lines.tolist(), code.code_lines, code.ways)
            missed_data = _missed_data(reads, data)
        np.add.at(waits.code, fetches.places, missed_code * _fetch_waits(fetches, code))
        np.add.at(waits.data, reads.places, missed_data * (data.miss if data.keeps_data else data.wait_states))
        if own[0].flash:
            width = data.line_bytes if data.keeps_data else data.read_bytes
            np.add.at(waits.fetched, fetches.places, missed_code * code.line_bytes)
            np.add.at(waits.fetched, reads.places, missed_data * width)
    return waits


@dataclass(frozen=True)
class _Events:
    """Line accesses in order, with block index. `clock` is the number of instructions executed before; -1 for loads."""

    lines: Whole
    places: Whole
    clock: Whole

    def only(self, which: NDArray[np.bool_]) -> _Events:
        return _Events(self.lines[which], self.places[which], self.clock[which])


_NOTHING = _Events(*(np.zeros(0, np.int64) for _ in range(3)))


def _fetches(
    blocks: Sequence[Sequence[Timed]], order: NDArray[np.int32], zones: Sequence[Zone], line_bytes: int
) -> _Events:
    """Line accesses by instruction fetches that enter a new line."""
    lines_of_blocks = [_lines(block, line_bytes) if _holds(zones, block) else [] for block in blocks]
    firsts = np.cumsum([0, *map(len, lines_of_blocks)])
    lines, inside = np.array([event for events in lines_of_blocks for event in events], np.int64).reshape(-1, 2).T
    counts = np.diff(firsts)[order]
    places = repeat(np.arange(len(order), dtype=np.int64), counts)
    which = np.arange(len(places), dtype=np.int64) + repeat(firsts[:-1][order] - (np.cumsum(counts) - counts), counts)
    lengths = np.array([len(block) for block in blocks], np.int64)[order]
    clock = (np.cumsum(lengths) - lengths)[places] + inside[which]
    events = _Events(lines[which], places, clock)
    return events.only(np.diff(events.lines, prepend=-1) != 0)


def _holds(zones: Sequence[Zone], block: Sequence[Timed]) -> bool:
    return bool(block) and any(zone.start <= block[0].at < zone.end for zone in zones)


def _lines(block: Sequence[Timed], line_bytes: int) -> list[tuple[int, int]]:
    """Cache lines of a block with the first instruction in each."""
    lines: list[tuple[int, int]] = []
    for n, i in enumerate(block):
        for line in range(i.at // line_bytes, (i.end - 1) // line_bytes + 1):
            if not lines or lines[-1][0] != line:
                lines.append((line, n))
    return lines


def _reads(loads: FlashLoads, zones: Sequence[Zone], reads: Reads) -> _Events:
    """Line accesses by loads; consecutive loads of a line in a block count once."""
    own = np.zeros(len(loads.addresses), bool)
    for zone in zones:
        own |= (loads.addresses >= zone.start) & (loads.addresses < zone.end)
    at, places = loads.addresses[own], loads.places[own]
    ends = np.stack([at, at + loads.sizes[own] - 1], axis=1) // reads.line_bytes
    both = np.stack([np.ones(len(at), bool), ends[:, 0] != ends[:, 1]], axis=1)
    lines, places = ends[both], repeat(places, 2).reshape(-1, 2)[both]
    events = _Events(lines, places, np.full(len(lines), -1, np.int64))
    if not reads.keeps_data:
        return events
    return events.only((np.diff(lines, prepend=-1) != 0) | (np.diff(places, prepend=-1) != 0))


def _merged(fetches: _Events, reads: _Events) -> _Events:
    """Merges fetches and loads by time: a block's fetches before its loads."""
    places = np.concatenate([fetches.places, reads.places])
    order = np.argsort(places, kind="stable")
    lines = np.concatenate([fetches.lines, reads.lines])
    return _Events(lines[order], places[order], np.concatenate([fetches.clock, reads.clock])[order])


def _missed_data(reads: _Events, how: Reads) -> Whole:
    if not how.data_lines:
        return np.ones(len(reads.lines), np.int64)
    return lru_misses(reads.lines.tolist(), how.data_lines, how.ways)


def _fetch_waits(fetches: _Events, how: Reads) -> Whole:
    """Wait states of each instruction fetch if it misses."""
    waits = np.full(len(fetches.lines), how.miss, np.int64)
    if not how.prefetch:
        return waits
    ahead = np.diff(fetches.lines, prepend=-2) == 1
    spent = np.diff(fetches.clock, prepend=0)
    return np.where(ahead, np.maximum(how.miss - spent, 0), waits)
