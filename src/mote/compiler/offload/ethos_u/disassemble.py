"""`mote.disassemble`: reads the Ethos-U command streams in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError, explaining
from mote.base.files import read_file
from mote.base.notebook import card, table
from mote.base.results import Record
from mote.compiler.offload.ethos_u.embedded import embedded
from mote.frontends.tflite.file import schema
from mote.frontends.tflite.file.streams import streams
from mote.hardware.npu.check import MemorySpan
from mote.hardware.npu.disassembly import Listed, heading, listing, place
from mote.hardware.npu.hazards import judge
from mote.hardware.npu.stream import CommandStream, decode

MARKS = (b"COP1", b"COP2")
REMEDY = "name a payload for the Ethos-U driver, a .tflite file that Vela compiled, or a file with jobs of Mote in it"


@dataclass(frozen=True)
class DisassembledStream(Record):
    """A command stream in a file."""

    JSON = "where, hardware=stream.config.name, architecture=stream.config.architecture, container=stream.form, refused"

    where: str
    """Where the stream is in the file."""
    stream: CommandStream
    """The decoded commands."""
    refused: str | None
    """Why the stream would access memory outside of what the file gives it; empty if it would not, None if the file
    does not say what memory it has."""

    @cached_property
    def commands(self) -> tuple[Listed, ...]:
        """Every command with its values and the bytes that it accesses."""
        return listing(self.stream)

    @property
    def about(self) -> tuple[str, ...]:
        """Header lines of the listing: the hardware, the address ranges that the stream reads and writes, and whether
        it may access them."""
        verdicts = {None: (), "": ("  all of it is memory of the stream",)}
        return (*heading(self.stream, self.commands), *verdicts.get(self.refused, (f"  refused: {self.refused}",)))

    def text(self) -> str:
        """The listing as text: lines about the stream, then a line per command."""
        return "\n".join([*self.about, "", *(command.text() for command in self.commands)])

    def json(self) -> dict[str, Any]:
        """The commands and their hardware as JSON types."""
        return super().json() | {"commands": [_command(command) for command in self.commands]}


@dataclass(frozen=True)
class Disassembly(Record):
    """All Ethos-U command streams in a file."""

    file: str
    """Path of the file."""
    streams: tuple[DisassembledStream, ...]
    """The command streams in the order of the file."""

    def __repr__(self) -> str:
        said = ", ".join(f"{one.stream.config.name} with {len(one.commands):,} commands" for one in self.streams)
        return f"<Disassembly of {self.file!r}: {said}>"

    def __str__(self) -> str:
        return "\n\n".join(f"{one.where}: {one.text()}" for one in self.streams)

    def _repr_html_(self) -> str:
        facts = {one.where: one.stream.config.name for one in self.streams}
        rows = [
            (command.command.offset, command.command.name, " ".join(command.values.values()))
            for one in self.streams
            for command in one.commands
            if command.command.kind.operation
        ]
        return card(self.file, facts, table(("byte", "operation", "values"), rows, left=3))


@explaining()
def disassemble(file: str | Path) -> Disassembly:
    """Reads the Ethos-U command streams in a file: a payload for the driver, a `.tflite` file compiled by Vela, or any
    file that contains jobs of Mote, such as images and firmware. Nothing is executed."""
    data = read_file(file)
    with _within(str(file)):
        listed = tuple(_streams(data))
        if not listed:
            raise MoteError("there is no command stream of Ethos-U in it", remedy=REMEDY)
        return Disassembly(str(file), listed)


@contextmanager
def _within(outer: str) -> Iterator[None]:
    """Prefixes the place in errors raised inside of the block by an outer place."""
    try:
        yield
    except MoteError as error:
        error.where = f"{outer}: {error.where}" if error.where else outer
        raise


def _streams(data: bytes) -> Iterator[DisassembledStream]:
    if data[:4] in MARKS:
        yield DisassembledStream("payload", decode(data), None)
    elif data[4:8] == schema.IDENTIFIER:
        for one in streams(data):
            yield _judged(f"operator {one.operator}", one.payload, one.sizes, one.writable)
    else:
        for job in embedded(data):
            yield _judged(f"job at byte {job.offset}", job.payload, job.sizes, job.writable)


def _judged(where: str, payload: bytes, sizes: Sequence[int], writable: Sequence[bool] | None) -> DisassembledStream:
    with _within(where):
        stream = decode(payload)
    try:
        if writable is not None:
            judge(stream, sizes, writable)
    except MoteError as error:
        return DisassembledStream(where, stream, f"{error.where}: {error.reason}")
    return DisassembledStream(where, stream, None if writable is None else "")


def _command(listed: Listed) -> dict[str, Any]:
    command = listed.command
    said: dict[str, Any] = {"offset": command.offset, "name": command.name, "values": dict(listed.values)}
    if command.kind.operation:
        said |= {"reads": [*map(_span, listed.reads)], "writes": [*map(_span, listed.writes)]}
        said |= {"refused": listed.refused} if listed.refused else {}
    return said


def _span(span: MemorySpan) -> dict[str, Any]:
    return {"registers": span.registers, "memory": place(span.base), "first": span.first, "end": span.end}
