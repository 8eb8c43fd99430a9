"""What tests of the agent share: its C for this computer, and a model of the right answers in Python."""

from __future__ import annotations

import ctypes
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from zlib import crc32

from mote.deploy.wire.frames import ANSWER, FrameReader, Message
from mote.hardware import targets, toolchain

HERE = Path(__file__).parent
DEPLOY = HERE.parents[2] / "src" / "mote" / "deploy"
KERNELS = DEPLOY.parent / "compiler" / "kernels"
FOLDERS = (DEPLOY / "agent", DEPLOY / "wire", KERNELS / "portable" / "common", KERNELS / "primitives")
INCLUDE = tuple(f"-I{folder}" for folder in (*FOLDERS, KERNELS / "avre" / "primitives"))
AGENT = (DEPLOY / "agent" / "mote_agent.c", DEPLOY / "wire" / "mote_frame.c")
HOST = HERE / "host_agent.c"
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
SANITIZED = ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

IDENTIFY, REGION, READ, WRITE, RUN, CONTINUE, LOAD, CALL, RESTART = range(0x20, 0x29)
INPUT, OUTPUT, TENSOR, CYCLES, SCRATCH, IMAGE, MEMORY = range(7)
OK, STOPPED, NO_SESSION, MALFORMED, UNKNOWN, OUTSIDE, STATE, NO_MODEL, REFUSED, MODEL_FAILED = range(10)
RESET_STATES = 1
NO_STOP = 0xFFFFFFFF
FRAME = 512
ROOM = FRAME - 10


def built(output: Path, *flags: str, compiler: str | None = None) -> Path:
    """The agent with the model of host_agent.c, for this computer."""
    command = toolchain.find_compiler(targets.load("host"), compiler).command
    sources = map(str, (HOST, *AGENT))
    subprocess.run([*command, "-std=c99", *WARNINGS, *flags, *INCLUDE, *sources, "-o", str(output)], check=True)
    return output


@dataclass(frozen=True)
class HostAgent:
    """The agent as a library: streams of bytes in, a reset before each; the messages that it sends for each."""

    library: ctypes.CDLL

    def answers(self, streams: Sequence[bytes]) -> list[list[Message]]:
        lengths = (ctypes.c_uint32 * len(streams))(*map(len, streams))
        ends = (ctypes.c_uint32 * len(streams))()
        room = ctypes.create_string_buffer(1 << 20)
        sent = self.library.drive(b"".join(streams), lengths, len(streams), room, len(room), ends)
        assert sent <= len(room)
        cuts = [0, *ends]
        return [list(FrameReader().take(room.raw[a:b])) for a, b in pairwise(cuts)]


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


@dataclass
class Expected:
    """The right answers of an agent around the model of host_agent.c, by the text of mote_agent.h alone. `answer` gives
    the message that a request is answered with: None where it is ignored. Addresses and cycles are left out."""

    session: int = 0
    last: tuple[int, int] = (0, 0)
    kept: bytes = b""
    inputs: list[bytearray] = field(default_factory=lambda: [bytearray(33), bytearray(8)])
    scratch: bytearray = field(default_factory=lambda: bytearray(64))
    image: bytearray = field(default_factory=lambda: bytearray(96))
    outputs: bytes | None = None
    inferences: int = 0
    parts: list[tuple[int, bytes]] = field(default_factory=list)
    """What a stopped model still shows, the one where it has stopped first."""
    result: bytes = b""
    """The output of the inference under way."""
    broken: bool = False
    """Whether the image that was loaded last was refused."""

    def answer(self, request: Message) -> Message | None:
        if request.type & ANSWER or request.type < IDENTIFY:
            return None
        if request.type == IDENTIFY:
            return self._said(request, self._identify(request))
        if len(request.data) < 4:
            return self._said(request, words(MALFORMED))
        (session,) = struct.unpack_from("<I", request.data)
        if session == 0 or session != self.session:
            return self._said(request, words(NO_SESSION))
        age = (request.sequence - self.last[1]) % 256
        if age >= 128 or (age == 0 and request.type != self.last[0]):
            return None
        data = request.data[4:]
        if request.type in (REGION, READ):
            self.last = (request.type, request.sequence)
            return self._said(request, (self._region if request.type == REGION else self._read)(data))
        if age:
            self.last = (request.type, request.sequence)
            self.kept = self._followed(request.type, data)
        return self._said(request, self.kept)

    @staticmethod
    def _said(request: Message, data: bytes) -> Message:
        return Message(request.type | ANSWER, request.sequence, data)

    def _identify(self, request: Message) -> bytes:
        session = struct.unpack("<I", request.data)[0] if len(request.data) == 4 else 0
        if not session:
            return words(MALFORMED)
        if session != self.session:
            while self.parts:
                self._next(NO_STOP)
            self.session, self.last, self.outputs = session, (IDENTIFY, request.sequence), None
        numbers = words(OK, 1, 0x1FF, FRAME, 7, 1000, 0, 4, 0, 2, 1, 3, 2, 0)
        return numbers + bytes([1, 2, 3]).ljust(16, b"\0") + bytes([4]).ljust(16, b"\0") + b"host"

    def _memory(self, region: int, index: int) -> bytes | bytearray | None:
        if region == INPUT:
            return self.inputs[index] if index < 2 else None
        if region == OUTPUT:
            return (self.outputs or bytes(20)) if index == 0 else None
        if region == TENSOR:
            return self.parts[0][1] if self.parts and index == 0 else None
        if region == CYCLES:
            return bytes(24) if index == 0 else None
        whole = {SCRATCH: self.scratch, IMAGE: self.image}.get(region)
        return whole if index == 0 else None

    def _region(self, data: bytes) -> bytes:
        if len(data) != 4:
            return words(MALFORMED)
        if data[0] == MEMORY:
            return words(OK, 0x1000 * data[1], 100 + data[1]) if data[1] < 2 else words(OUTSIDE)
        memory = self._memory(data[0], data[1])
        return words(OUTSIDE) if memory is None else words(OK, 0, len(memory))

    def _read(self, data: bytes) -> bytes:
        if len(data) != 12 or int.from_bytes(data[8:], "little") > ROOM:
            return words(MALFORMED)
        region, index = data[0], data[1]
        offset, count = struct.unpack_from("<II", data, 4)
        early = {OUTPUT: self.outputs is None, INPUT: bool(self.parts), TENSOR: not self.parts}
        if early.get(region, False):
            return words(STATE)
        memory = self._memory(region, index)
        if memory is None or offset + count > len(memory):
            return words(OUTSIDE)
        return words(OK) + bytes(memory[offset : offset + count])

    def _followed(self, kind: int, data: bytes) -> bytes:
        if kind == WRITE:
            return words(self._write(data))
        if kind == RUN:
            return self._run(data)
        if kind == CONTINUE:
            if len(data) != 4:
                return words(MALFORMED)
            if not self.parts:
                return words(STATE)
            self.parts.pop(0)
            return self._next(int.from_bytes(data, "little"))
        if kind == LOAD:
            return words(self._load(data))
        assert kind not in (CALL, RESTART), "a call of no code is a trap, and a restart a reset"
        return words(UNKNOWN)

    def _write(self, data: bytes) -> int:
        if len(data) < 8:
            return MALFORMED
        if self.parts:
            return STATE
        offset, given = int.from_bytes(data[4:8], "little"), data[8:]
        memory = self._memory(data[0], data[1]) if data[0] in (INPUT, SCRATCH, IMAGE) else None
        if not isinstance(memory, bytearray) or offset + len(given) > len(memory):
            return OUTSIDE
        memory[offset : offset + len(given)] = given
        self.outputs = None
        self.broken |= data[0] == IMAGE
        return OK

    def _load(self, data: bytes) -> int:
        if len(data) != 8:
            return MALFORMED
        if self.parts:
            return STATE
        count, crc = struct.unpack("<II", data)
        if count > len(self.image):
            return OUTSIDE
        if crc32(self.image[:count]) != crc:
            return REFUSED
        self.outputs = None
        self.broken = count < 4 or self.image[0] != ord("M")
        if not self.broken:
            self.inferences = 0
        return REFUSED if self.broken else OK

    def _run(self, data: bytes) -> bytes:
        if len(data) != 8:
            return words(MALFORMED)
        if self.parts:
            return words(STATE)
        flags, stop = struct.unpack("<II", data)
        self.outputs = None
        if flags & RESET_STATES:
            self.inferences, self.broken = 0, False
        if self.broken:
            return words(MODEL_FAILED, 0, 0, 9, 0)
        first, second = self.inputs
        if first[0] == second[0] == 0xFF:
            return words(MODEL_FAILED, 0, 0, 5, 0)
        self.inferences = (self.inferences + 1) % 256
        middle = bytes((3 * x + second[i % 8] + i) % 256 for i, x in enumerate(first))
        first[:], second[:] = b"\xee" * 33, b"\xee" * 8
        total, sums = 0, []
        for x in middle:
            total = (total + x) % 256
            sums.append(total)
        self.result = bytes(((sums[i] ^ sums[i + 13]) + self.inferences) % 256 for i in range(20))
        self.parts = [(0, middle[:16]), (0, middle[16:]), (1, bytes(sums)), (2, self.result)]
        return self._next(stop)

    def _next(self, stop: int) -> bytes:
        """To the next part to stop at, or to the end."""
        while self.parts and self.parts[0][0] < stop:
            self.parts.pop(0)
        if not self.parts:
            self.outputs = self.result
            return words(OK, 0, 0, 0, 0)
        step, shown = self.parts[0]
        return words(STOPPED, step, len(shown), 0, 0) + shown
