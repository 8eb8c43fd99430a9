"""The host's side of the agent's protocol, as little of it as tests need, written from mote_agent.h."""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from mote.deploy.wire.frames import FrameReader, Message

IDENTIFY, REGION, READ, WRITE, RUN, CONTINUE, LOAD, CALL, RESTART = range(0x20, 0x29)
INPUT, OUTPUT, TENSOR, CYCLES, SCRATCH, IMAGE, MEMORY = range(7)
OK, STOPPED, NO_SESSION, MALFORMED, UNKNOWN, OUTSIDE, STATE, NO_MODEL, REFUSED = range(9)
NO_STOP = 0xFFFFFFFF
MEASURE_STACK = 2
SECONDS = 20


@dataclass
class Host:
    """A host that asks an agent: `read` gives bytes that are there within a moment, `write` sends some."""

    read: Callable[[], bytes]
    write: Callable[[bytes], object]
    session: int = 7
    number: int = 0
    reader: FrameReader = field(default_factory=FrameReader)

    def ask(self, request: int, data: bytes = b"") -> tuple[int, bytes]:
        """The status and the results of a request."""
        self.number = (self.number + 1) % 256
        body = self.session.to_bytes(4, "little") + data
        self.write(Message(request, self.number, body).framed)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for message in self.reader.take(self.read()):
                if (message.type, message.sequence) == (request | 0x80, self.number):
                    return int.from_bytes(message.data[:4], "little"), message.data[4:]
        raise AssertionError(f"no answer to request {request:#x}")

    def identify(self) -> Who:
        status, data = self.ask(IDENTIFY)
        assert status == OK
        return Who(*struct.unpack_from("<13I", data), data[52:68], data[68:84], data[84:].decode())

    def run(self, given: bytes, nbytes: int) -> bytes:
        """An inference: the first output."""
        assert self.ask(WRITE, place(INPUT) + given) == (OK, b"")
        status, _ = self.ask(RUN, struct.pack("<2I", 1, NO_STOP))
        assert status == OK
        status, data = self.ask(READ, place(OUTPUT) + nbytes.to_bytes(4, "little"))
        assert status == OK
        return data


@dataclass(frozen=True)
class Who:
    """What an agent says of itself."""

    protocol: int
    abilities: int
    frame: int
    core: int
    clock_hz: int
    counter_hz: int
    counter: int
    waits: int
    inputs: int
    outputs: int
    steps: int
    memories: int
    boots: int
    model: bytes
    runtime: bytes
    target: str

    @property
    def requests(self) -> set[int]:
        return {IDENTIFY + n for n in range(32) if self.abilities >> n & 1}


def place(region: int, index: int = 0, offset: int = 0) -> bytes:
    """A place in a region of memory."""
    return struct.pack("<BBHI", region, index, 0, offset)


def over(reading: int, writing: int) -> Host:
    """A host over two file descriptors."""

    def read() -> bytes:
        ready, _, _ = select.select([reading], [], [], 0.1)
        return os.read(reading, 4096) if ready else b""

    return Host(read, lambda data: os.write(writing, data))
