"""Disassembles a command stream to text: a line per command with named values, and the bytes that operations access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mote.base.errors import MoteError
from mote.hardware.npu.check import BASES, INTERNAL, MemorySpan, OperationFootprint, touched
from mote.hardware.npu.commands import Command
from mote.hardware.npu.stream import CommandStream, NpuOperation, decode, operations

INDENT = " " * 10


@dataclass(frozen=True)
class Listed:
    """A command, and for operations their footprint or the reason why it is invalid."""

    command: Command
    reads: tuple[MemorySpan, ...] = ()
    writes: tuple[MemorySpan, ...] = ()
    refused: str = ""

    @property
    def values(self) -> Mapping[str, str]:
        """Fields with values, by name if the value has one."""
        return {field.name: self.command.said(field.name) for field in self.command.kind.fields}

    def text(self) -> str:
        """Text line of the command, and lines for its accesses."""
        values = self.values
        said = " ".join(f"{name}={value}" for name, value in values.items())
        said = next(iter(values.values())) if len(values) == 1 else said
        lines = [f"{self.command.offset:8}  {self.command.name:<20} {said}".rstrip()]
        for verb, spans in (("reads", self.reads), ("writes", self.writes)):
            lines += [
                f"{INDENT}  {verb:<6} {span.registers:<8} {place(span.base)}: {said_bytes(span)}" for span in spans
            ]
        if self.refused:
            lines.append(f"{INDENT}  refused: {self.refused}")
        return "\n".join(lines)


def listing(stream: CommandStream) -> tuple[Listed, ...]:
    """All commands of a stream, even if operations are invalid."""
    work = {id(operation.command): operation for operation in operations(stream)}
    return tuple(_listed(stream, command, work.get(id(command))) for command in stream.commands)


def disassemble(payload: bytes | CommandStream) -> str:
    """Disassembly of an Ethos-U driver payload, without final newline."""
    stream = payload if isinstance(payload, CommandStream) else decode(payload)
    commands = listing(stream)
    return "\n".join([*heading(stream, commands), "", *(command.text() for command in commands)])


def heading(stream: CommandStream, commands: tuple[Listed, ...]) -> Iterator[str]:
    """Header lines: target hardware and total footprint of the stream."""
    config = stream.config
    internal = f", {config.shram} bytes of internal memory" if config.shram else ""
    yield f"{config.name}, architecture {config.architecture}{internal}: {len(commands)} commands in {stream.form}"
    for base in range(BASES + 1):
        ends = {verb: _hull(base, commands, verb) for verb in ("read", "written")}
        said = [f"{first} to {end} {verb}" for verb, (first, end) in ends.items() if end]
        if said:
            yield f"  {place(base)}: bytes {', '.join(said)}"


def place(base: int) -> str:
    """Name of a base pointer or of internal memory."""
    return "internal memory" if base == INTERNAL else f"base pointer {base}"


def said_bytes(span: MemorySpan) -> str:
    return f"{span.first} to {span.end}"


def _listed(stream: CommandStream, command: Command, operation: NpuOperation | None) -> Listed:
    if operation is None:
        return Listed(command)
    try:
        footprint: OperationFootprint = touched(stream.config, operation)
    except MoteError as error:
        return Listed(command, refused=error.reason)
    return Listed(command, footprint.reads, footprint.writes)


def _hull(base: int, commands: tuple[Listed, ...], verb: str) -> tuple[int, int]:
    both = ((command.reads if verb == "read" else command.writes) for command in commands)
    spans = [span for listed in both for span in listed if span.base == base]
    return (min(span.first for span in spans), max(span.end for span in spans)) if spans else (0, 0)
