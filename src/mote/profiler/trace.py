"""Which basic blocks an ELF file executes, and in which order.

QEMU writes a line for each block that it enters (`-d exec,nochain`), and the instructions of each block when it first
meets it (`in_asm`). The lines of one block are equal, so that a dictionary makes numbers of them. Unicorn calls a hook.
Nothing is added to the code, and there is no clock: what is counted later is what was executed.
"""

from __future__ import annotations

import os
import re
import subprocess
from array import array
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from signal import SIGKILL
from tempfile import TemporaryFile
from threading import Timer
from typing import IO

import numpy as np
from numpy.typing import NDArray

from mote.errors import MoteError
from mote.targets import Target
from mote.toolchain import Emulator
from mote.toolchain.code import Code
from mote.toolchain.emulators import command, timed_out
from mote.toolchain.unicorn_board import run_unicorn

CHUNK = 1 << 22
_ENTERED = re.compile(rb"Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/")
_DISASSEMBLED = re.compile(rb"0x([0-9a-f]+):")


@dataclass(frozen=True)
class Trace:
    """`blocks` are the (start, end) of every block met, `order` their numbers as they ran; `said` is what the emulator
    printed."""

    blocks: list[tuple[int, int]]
    order: NDArray[np.int32]
    said: str = ""


def trace(elf: Path, code: Code, target: Target, emulator: Emulator, workdir: Path, timeout_s: float) -> Trace:
    """Run to the end. Whether that is a good end is for the caller to say."""
    if emulator.kind == "unicorn":
        return _unicorn(elf, target, workdir, timeout_s)
    blocks = _Blocks(code)
    reader, writer = os.pipe()
    log = ["-d", "exec,nochain,in_asm", "-D", f"/dev/fd/{writer}"]
    with TemporaryFile() as said, os.fdopen(reader, "rb", buffering=0) as lines:
        process = subprocess.Popen(
            [*command(elf, target, emulator, counts=False), *log],
            cwd=workdir,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            pass_fds=[writer],
        )
        os.close(writer)
        clock = Timer(timeout_s, process.kill)
        clock.start()
        try:
            blocks.read(lines)
            status = process.wait()
        finally:
            clock.cancel()
            process.kill()
            process.wait()
        if status == -SIGKILL:
            raise timed_out(emulator.kind, elf, timeout_s)
        said.seek(0)
        printed = said.read().decode(errors="replace").strip()
    return Trace(blocks.extents(), np.frombuffer(blocks.order, np.int32), printed)


@dataclass
class _Blocks:
    """The log, line by line."""

    code: Code
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
        """A block ends behind its last instruction, which a disassembler that does not know it may show in halves."""
        found = []
        for start, last in zip(self.starts, self.lasts, strict=True):
            end = start
            while end <= last:
                end += self.code.instruction(end).size
            found.append((start, end))
        return found


def _unicorn(elf: Path, target: Target, workdir: Path, timeout_s: float) -> Trace:
    known: dict[tuple[int, int], int] = {}
    order = array("i")

    def entered(address: int, size: int) -> None:
        order.append(known.setdefault((address, size), len(known)))

    said = run_unicorn(elf, target, workdir, count=False, timeout_s=timeout_s, entered=entered)
    return Trace([(start, start + size) for start, size in known], np.frombuffer(order, np.int32), said)


def cut(traced: Trace, at: set[int]) -> Trace:
    """The same with no block across any of these addresses."""
    blocks: list[tuple[int, int]] = []
    firsts, counts = [], []
    for start, end in traced.blocks:
        borders = [start, *sorted(a for a in at if start < a < end), end]
        firsts.append(len(blocks))
        counts.append(len(borders) - 1)
        blocks += pairwise(borders)
    parts = np.array(counts, np.int32)[traced.order]
    order = np.repeat(np.array(firsts, np.int32)[traced.order], parts)
    inside = np.arange(len(order), dtype=np.int32) - np.repeat(np.cumsum(parts) - parts, parts).astype(np.int32)
    return Trace(blocks, order + inside, traced.said)


def calls(traced: Trace, entry: int, returns: dict[int, int], where: str) -> list[tuple[int, int]]:
    """Where the calls of a function begin and end in the order of blocks. `returns` are the addresses behind the calls
    at the end of blocks, by the block's number; a call within a call is part of it."""
    starts = np.array([start for start, _ in traced.blocks], np.int64)[traced.order]
    found: list[tuple[int, int]] = []
    for first in np.flatnonzero(starts == entry).tolist():
        if found and first < found[-1][1]:
            continue
        back = returns.get(int(traced.order[first - 1])) if first else None
        if back is None and first:
            raise MoteError(
                "is entered by a jump, so that where it returns to is not known",
                where=where,
                remedy="name the function that jumps to it",
            )
        after = np.flatnonzero(starts[first:] == (-1 if back is None else back))
        found.append((first, first + int(after[0]) if after.size else len(starts)))
    return found
