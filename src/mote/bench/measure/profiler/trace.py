"""Traces the executed basic blocks of an ELF file in order, and its loads from read-only memory.

A QEMU plug-in (`plugin`) records both. If it cannot be built, QEMU's log gives the blocks (`-d exec,nochain`) and their
instructions (`in_asm`), but no loads. Unicorn uses hooks. The simulated board of an RTL core writes the plug-in's
format plus the cycles of each block.

The program is not instrumented and no clock is involved: results depend only on what was executed."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from signal import SIGKILL
from tempfile import TemporaryFile
from threading import Timer
from typing import IO

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.base.integers import repeat
from mote.base.system import subprocess
from mote.bench.measure.profiler.plugin import plugin
from mote.hardware.targets import Target
from mote.hardware.toolchain import Emulator, simavr
from mote.hardware.toolchain.builder import board_of
from mote.hardware.toolchain.emulators import RTL, command, run_process, timed_out
from mote.hardware.toolchain.machine_code import ElfCode
from mote.hardware.toolchain.rtl import run_rtl
from mote.hardware.toolchain.unicorn_board import run_unicorn

CHUNK = 1 << 22
_ENTERED = re.compile(rb"Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/")
_DISASSEMBLED = re.compile(rb"0x([0-9a-f]+):")


_READ, _TRANSLATED = np.uint32(0x80000000), np.uint32(0xF0000000)


@dataclass(frozen=True)
class FlashLoads:
    """Loads from read-only memory: addresses, sizes, and the executing block's position in `order`."""

    addresses: NDArray[np.int64]
    sizes: NDArray[np.int64]
    places: NDArray[np.int64]


@dataclass(frozen=True)
class Trace:
    """A trace: `blocks` are (start, end) addresses, `order` block indices as executed, `said` the emulator's output;
    `loads` is None if unknown."""

    blocks: list[tuple[int, int]]
    order: NDArray[np.int32]
    said: str = ""
    loads: FlashLoads | None = None
    cycles: NDArray[np.int64] | None = None
    """Cycles of each executed block, from RTL simulation; None otherwise."""


def trace(
    elf: Path,
    code: ElfCode,
    target: Target,
    emulator: Emulator,
    workdir: Path,
    timeout_s: float,
    cuts: Collection[int] = (),
) -> Trace:
    """Runs a program to its end (the caller checks success). RTL cycles are known per block, so blocks are split at the
    addresses `cuts`."""
    if emulator.kind == "unicorn":
        return _unicorn(elf, target, workdir, timeout_s)
    if emulator.kind == RTL:
        ran = run_rtl(elf, target, workdir, timeout_s=timeout_s, cuts=cuts)
        words, cycles = (np.frombuffer(data, np.uint32) for data in (ran.trace, ran.cycles))
        return replace(_understood(words, code, board_of(target).rom[0], ran.said), cycles=cycles.astype(np.int64))
    if emulator.kind == "simavr":
        return _simavr(elf, code, target, emulator, workdir, timeout_s)
    run = _Run(elf, target, emulator, workdir, timeout_s)
    return _followed(run, code) or _logged(run, code)


@dataclass(frozen=True)
class _Run:
    """A program, and how to run it in QEMU."""

    elf: Path
    target: Target
    emulator: Emulator
    workdir: Path
    timeout_s: float

    def stream(self, options: Callable[[int], list[str]], read: Callable[[IO[bytes]], None]) -> str:
        """The program's output. `options` make QEMU write to a file descriptor that `read` consumes."""
        reader, writer = os.pipe()
        with TemporaryFile() as said, os.fdopen(reader, "rb", buffering=0) as words:
            process = subprocess.Popen(
                [*command(self.elf, self.target, self.emulator, counts=False), *options(writer)],
                cwd=self.workdir,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                pass_fds=[writer],
            )
            os.close(writer)
            clock = Timer(self.timeout_s, process.kill)
            clock.start()
            try:
                read(words)
                status = process.wait()
            finally:
                clock.cancel()
                process.kill()
                process.wait()
            if status == -SIGKILL:
                raise timed_out(self.emulator.kind, self.elf, self.timeout_s)
            said.seek(0)
            return said.read().decode(errors="replace").strip()


def _followed(run: _Run, code: ElfCode) -> Trace | None:
    """Traces by the plug-in; None if it cannot be built or QEMU does not load it."""
    with temporary_folder() as folder:
        path = plugin(run.emulator, folder)
        if path is None:
            return None
        base, size = board_of(run.target).rom
        file = str(path).replace(",", ",,")
        chunks: list[bytes] = []
        said = run.stream(
            lambda fd: ["-plugin", f"file={file},fd={fd},base={base},size={size}"],
            lambda words: chunks.extend(iter(lambda: words.read(CHUNK), b"")),
        )
    return _understood(np.frombuffer(b"".join(chunks), np.uint32), code, base, said) if chunks else None


def _understood(words: NDArray[np.uint32], code: ElfCode, base: int, said: str) -> Trace:
    """Parses the stream of plugin/follow.c."""
    told = np.flatnonzero(words == _TRANSLATED)
    extents = zip(words[told + 1].tolist(), words[told + 2].tolist(), strict=True)
    blocks = [(first, last + code.instruction(last).size) for first, last in extents]
    events = np.ones(len(words), bool)
    events[told] = events[told + 1] = events[told + 2] = False
    words = words[events]
    loaded = words >= _READ
    places = np.cumsum(~loaded)[loaded] - 1
    read = words[loaded].astype(np.int64)
    loads = FlashLoads((read & 0x0FFFFFFF) + base, np.int64(1) << (read >> 28 & 7), places)
    return Trace(blocks, words[~loaded].astype(np.int32), said, loads)


def _logged(run: _Run, code: ElfCode) -> Trace:
    """Traces by QEMU's own log."""
    blocks = _Blocks(code)
    said = run.stream(lambda fd: ["-d", "exec,nochain,in_asm", "-D", f"/dev/fd/{fd}"], blocks.read)
    return Trace(blocks.extents(), np.frombuffer(blocks.order, np.int32), said)


@dataclass
class _Blocks:
    """Parses the log, line by line."""

    code: ElfCode
    known: dict[bytes, int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    lasts: list[int] = field(default_factory=list)
    order: array[int] = field(default_factory=lambda: array("i"))
    last: int = 0

    def read(self, file: IO[bytes]) -> None:
        known, append = self.known, self.order.append
        rest = b""
        while data := file.read(CHUNK):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                block = known.get(line)
                if block is not None:
                    append(block)
                else:
                    self._new(line)

    def _new(self, line: bytes) -> None:
        entered = _ENTERED.match(line)
        if entered:
            self.known[line] = len(self.starts)
            self.order.append(len(self.starts))
            self.starts.append(int(entered[1], 16))
            self.lasts.append(self.last)
        elif line.startswith(b"Stopped execution"):
            self.order.pop()  # it was entered, and left before its first instruction
        else:
            instruction = _DISASSEMBLED.match(line)
            if instruction:
                self.last = int(instruction[1], 16)

    def extents(self) -> list[tuple[int, int]]:
        """Addresses of blocks: a block ends after its last instruction, which an outdated disassembler may show in
        halves."""
        spans = []
        for start, last in zip(self.starts, self.lasts, strict=True):
            end = start
            while end <= last:
                end += self.code.instruction(end).size
            spans.append((start, end))
        return spans


def _unicorn(elf: Path, target: Target, workdir: Path, timeout_s: float) -> Trace:
    known: dict[tuple[int, int], int] = {}
    order, addresses, sizes, places = array("i"), array("q"), array("q"), array("q")

    def entered(address: int, size: int) -> None:
        order.append(known.setdefault((address, size), len(known)))

    def loaded(address: int, size: int) -> None:
        addresses.append(address)
        sizes.append(size)
        places.append(len(order) - 1)

    said = run_unicorn(elf, target, workdir, count=False, timeout_s=timeout_s, entered=entered, loaded=loaded)
    loads = FlashLoads(*(np.frombuffer(data, np.int64) for data in (addresses, sizes, places)))
    return Trace([(start, start + size) for start, size in known], np.frombuffer(order, np.int32), said, loads)


def _simavr(elf: Path, code: ElfCode, target: Target, emulator: Emulator, workdir: Path, timeout_s: float) -> Trace:
    """Trace from the instruction runs (first and last address) that the simulated AVR board writes."""
    with temporary_folder() as folder:
        path = folder / "runs.bin"
        said = run_process(simavr.command(elf, str(target.simavr_mcu), folder, path), elf, emulator, workdir, timeout_s)
        runs = np.fromfile(path, np.uint64)
    kinds, order = np.unique(runs, return_inverse=True)
    extents = [(int(run) & 0xFFFFFFFF, int(run) >> 32) for run in kinds]
    return Trace([(first, last + code.instruction(last).size) for first, last in extents], order.astype(np.int32), said)


def cut(traced: Trace, at: set[int]) -> Trace:
    """Splits blocks at addresses; loads stay with a block's first part. Blocks with known cycles were already split
    when they ran."""
    if traced.cycles is not None:
        return traced
    blocks: list[tuple[int, int]] = []
    firsts, counts = [], []
    for start, end in traced.blocks:
        borders = [start, *sorted(a for a in at if start < a < end), end]
        firsts.append(len(blocks))
        counts.append(len(borders) - 1)
        blocks += pairwise(borders)
    parts = np.array(counts, np.int32)[traced.order]
    order = repeat(np.array(firsts, np.int32)[traced.order], parts)
    inside = np.arange(len(order), dtype=np.int32) - repeat(np.cumsum(parts) - parts, parts).astype(np.int32)
    loads = traced.loads
    if loads is not None:
        loads = replace(loads, places=(np.cumsum(parts) - parts)[loads.places])
    return Trace(blocks, order + inside, traced.said, loads)


def calls(traced: Trace, entry: int, returns: dict[int, int], where: str) -> list[tuple[int, int]]:
    """First and last position in `order` of each call of a function; nested calls are part of the outer one. `returns`
    are the return addresses of calls at the ends of blocks, by block number."""
    starts = np.array([start for start, _ in traced.blocks], np.int64)[traced.order]
    spans: list[tuple[int, int]] = []
    for first in np.flatnonzero(starts == entry).tolist():
        if spans and first < spans[-1][1]:
            continue
        back = returns.get(int(traced.order[first - 1])) if first else None
        if back is None and first:
            raise MoteError(
                "is entered by a jump, so that where it returns to is not known",
                where=where,
                remedy="name the function that jumps to it",
            )
        after = np.flatnonzero(starts[first:] == (-1 if back is None else back))
        spans.append((first, first + int(after[0]) if after.size else len(starts)))
    return spans
