"""Messages of the agent protocol (`mote_agent.h`): requests, regions, statuses, and device identity."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import IntEnum, IntFlag
from typing import Any

from mote.base.text import printable

PROTOCOL = 1
ID_BYTES = 16
NO_STOP = 0xFFFFFFFF
UNKNOWN = 0xFFFFFFFF
LEAST_MESSAGE = 160
MOST_MESSAGE = 2000
"""Maximum message bytes used, even if an agent accepts more."""
MOST_BYTES = 1 << 30
"""Maximum plausible bytes of a memory region."""
MOST_REGIONS = 256
"""Maximum number of inputs, outputs or memories: their index is one byte."""
HEAD = 6
"""Overhead bytes of a message: type, sequence number and CRC-32."""
RESULT = struct.Struct("<4IQ")
CALLED = struct.Struct("<IQ")
PLACE = struct.Struct("<2I")
_IDENTITY = struct.Struct("<13I")


class Request(IntEnum):
    """Requests of the host."""

    IDENTIFY = 0x20
    REGION = 0x21
    READ = 0x22
    WRITE = 0x23
    RUN = 0x24
    CONTINUE = 0x25
    LOAD = 0x26
    CALL = 0x27
    RESTART = 0x28


class AgentRegion(IntEnum):
    """Regions of a device's memory."""

    INPUT = 0
    OUTPUT = 1
    TENSOR = 2
    CYCLES = 3
    SCRATCH = 4
    IMAGE = 5
    MEMORY = 6


class RunFlag(IntFlag):
    """Options of an inference."""

    RESET_STATES = 1
    MEASURE_STACK = 2
    MARKS = 4
    KEEP_CACHES = 8


class Status(IntEnum):
    """Status codes of answers."""

    OK = 0
    STOPPED = 1
    NO_SESSION = 2
    MALFORMED = 3
    UNKNOWN = 4
    OUTSIDE = 5
    STATE = 6
    NO_MODEL = 7
    REFUSED = 8
    MODEL_FAILED = 9
    STACK_FULL = 10


class Counter(IntEnum):
    """Kinds of cycle counters."""

    NONE = 0
    DWT = 1
    MCYCLE = 2
    SYSTICK = 3
    HOOK = 4


REFUSALS: Mapping[int, tuple[str, str]] = {
    Status.MALFORMED: ("it does not understand a message", "build its agent with this version of Mote"),
    Status.UNKNOWN: ("its agent was built without this", "build the agent with MOTE_AGENT_RUNS and MOTE_AGENT_LOADS"),
    Status.OUTSIDE: ("it has no such memory", "build the agent with more of it, or use a smaller model"),
    Status.STATE: ("it is in the middle of something else", "reset it"),
    Status.NO_MODEL: ("it has no model", "flash one with `mote board flash`, or load an image"),
    Status.REFUSED: (
        "the image is damaged, not signed by a key that it knows, or not for its runtime",
        "pack the model with the manifest of its runtime, and sign it",
    ),
    Status.STACK_FULL: ("the model used up its stack", "give the agent's firmware more stack"),
}
"""Statuses that end a job, with reason and remedy."""


@dataclass(frozen=True)
class Identity:
    """Identity of a device as its agent reports it."""

    protocol: int
    abilities: int
    message_bytes: int
    core: int
    clock_hz: int
    counter_hz: int
    counter: int
    flash_waits: int
    inputs: int
    outputs: int
    steps: int
    memories: int
    boots: int
    model: bytes
    """Id of the compiled model; zeros if there is none."""
    runtime: bytes
    """Id of the runtime for images; zeros if there is none."""
    target: str

    def can(self, request: Request) -> bool:
        """Whether the agent supports a request."""
        return bool(self.abilities >> (request - Request.IDENTIFY) & 1)

    @property
    def has_model(self) -> bool:
        return any(self.model)

    @property
    def has_runtime(self) -> bool:
        return any(self.runtime)

    def cycles(self, ticks: int) -> int:
        """Converts counter ticks to core cycles."""
        if not self.clock_hz or not self.counter_hz or self.clock_hz == self.counter_hz:
            return ticks
        return (ticks * self.clock_hz + self.counter_hz // 2) // self.counter_hz

    def json(self) -> dict[str, Any]:
        """All fields as JSON types."""
        known = [counter.name.lower() for counter in Counter]
        return asdict(self) | {
            "model": self.model.hex(),
            "runtime": self.runtime.hex(),
            "counter": known[self.counter] if self.counter < len(known) else str(self.counter),
            "flash_waits": None if self.flash_waits == UNKNOWN else self.flash_waits,
            "abilities": [request.name.lower() for request in Request if self.can(request)],
        }


@dataclass(frozen=True)
class Placement:
    """Address and size of a region in a device's memory."""

    address: int
    bytes: int


def read_identity(data: bytes) -> Identity | None:
    """Parses the answer to IDENTIFY after its status; None if invalid."""
    if len(data) < _IDENTITY.size + 2 * ID_BYTES:
        return None
    ids, name = data[_IDENTITY.size :][: 2 * ID_BYTES], data[_IDENTITY.size + 2 * ID_BYTES :]
    target = printable(name.decode("utf-8", errors="replace"))
    words: tuple[int, ...] = _IDENTITY.unpack_from(data)
    names = [each.name for each in fields(Identity)][: len(words)]
    return Identity(**dict(zip(names, words, strict=True)), model=ids[:ID_BYTES], runtime=ids[ID_BYTES:], target=target)
