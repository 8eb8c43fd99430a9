"""An agent in Python on a line that loses and damages bytes: an independent model of the protocol with virtual time."""

from __future__ import annotations

import binascii
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from mote.deploy.wire.links import ConnectionLostError

STEPS, PARTS = 3, 2
INPUT, OUTPUT = 40, 24
MODEL = bytes(range(1, 17))
SCRATCH, IMAGE = 600, 700


@dataclass
class Faults:
    """Probabilities of faults: of each byte, of each chunk of bytes, and of each request."""

    seed: int = 0
    lost: float = 0.0
    damaged: float = 0.0
    noise: float = 0.0
    reset: float = 0.0
    hang: float = 0.0
    broken: float = 0.0
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def happens(self, probability: float) -> bool:
        return probability > 0 and self.random.random() < probability

    def on(self, data: bytes) -> bytes:
        """The bytes that arrive of those that were sent."""
        if not (self.lost or self.damaged or self.noise):
            return data
        arrived = bytearray()
        for byte in data:
            if self.happens(self.noise):
                arrived += self.random.randbytes(self.random.randrange(1, 9))
            if not self.happens(self.lost):
                arrived.append(byte ^ (1 << self.random.randrange(8)) if self.happens(self.damaged) else byte)
        return bytes(arrived)


def outputs_of(inputs: list[bytes]) -> list[list[bytes]]:
    """The outputs of the stand-in's model, whose state is the sum of its inputs."""
    state, results = 7, []
    for data in inputs:
        state = (state + sum(data)) % 251
        results.append([bytes((state * (i + 1) + data[i]) % 256 for i in range(OUTPUT))])
    return results


def tensor(state: int, data: bytes, step: int, part: int) -> bytes:
    return bytes((byte * (step + 2) + part + state) % 256 for byte in data[: 5 + step])


class StandIn:
    """A device at the end of a line. `receive` takes no time but the virtual one of `clock`."""

    name = "stand-in"
    window = 1

    def __init__(self, faults: Faults | None = None, *, message_bytes: int = 160) -> None:
        self.faults = faults or Faults()
        self.message_bytes = message_bytes
        self.now = 0.0
        self.hung_until = 0.0
        self.resets = self.executed = self.opened = 0
        self.sent = bytearray()
        self.is_open = True
        self.on_request: Callable[[int], None] = lambda kind: None
        self.power_up()

    # The line

    def open(self) -> None:
        self.opened += 1
        self.is_open = True
        self.sent.clear()

    def close(self) -> None:
        self.is_open = False

    def send(self, data: bytes) -> None:
        self._check()
        if self.now < self.hung_until:
            return
        for byte in self.faults.on(data):
            self._take(byte)

    def receive(self, seconds: float) -> bytes:
        self._check()
        if not self.sent:
            self.now += seconds
            return b""
        self.now += 0.001
        count = self.faults.random.randrange(1, len(self.sent) + 1)
        data, self.sent = bytes(self.sent[:count]), self.sent[count:]
        return data

    def clock(self) -> float:
        return self.now

    def _check(self) -> None:
        if self.faults.happens(self.faults.broken):
            self.is_open = False
        if not self.is_open:
            raise ConnectionLostError("the cable is out")

    # The device

    def power_up(self) -> None:
        self.resets += 1
        self.hung_until = 0.0
        junk = random.Random(self.resets)
        self.session = 0
        self.last: tuple[bytes, bytes] | None = None
        self.frame: bytearray | None = None
        self.input = bytearray(junk.randbytes(INPUT))
        self.output = bytearray(junk.randbytes(OUTPUT))
        self.scratch = bytearray(junk.randbytes(SCRATCH))
        self.image = bytearray(junk.randbytes(IMAGE))
        self.loaded = b""
        self.state = junk.randrange(251)
        self.stops: list[tuple[int, bytes]] = []
        self.stopped: tuple[int, bytes] | None = None
        self.cycles = [0] * STEPS

    def _take(self, byte: int) -> None:
        if byte == 0x7E:
            frame, self.frame = self.frame, bytearray()
            if frame:
                self._frame(frame)
        elif self.frame is not None:
            self.frame.append(byte)

    def _frame(self, stuffed: bytearray) -> None:
        body, escaped = bytearray(), False
        for byte in stuffed:
            if byte == 0x7D:
                escaped = True
            else:
                body.append(byte ^ 0x20 if escaped else byte)
                escaped = False
        if len(body) < 6 or binascii.crc32(body[:-4]) != int.from_bytes(body[-4:], "little"):
            return
        if self.faults.happens(self.faults.hang):
            self.hung_until = self.now + 3.0
            return
        if self.faults.happens(self.faults.reset):
            self.power_up()
        head, data = bytes(body[:2]), bytes(body[2:-4])
        self.on_request(head[0])
        if self.last is None or self.last[0] != head:
            answer = bytes([head[0] | 0x80, head[1]]) + self._answer(head[0], data)
            assert len(answer) + 4 <= self.message_bytes
            answer += binascii.crc32(answer).to_bytes(4, "little")
            self.last = head, b"".join(bytes([0x7D, b ^ 0x20]) if b in (0x7D, 0x7E) else bytes([b]) for b in answer)
            if self.faults.happens(self.faults.reset):
                self.power_up()
                return
        text = b"step done\r\n" if self.faults.noise else b""
        self.sent += self.faults.on(text + b"\x7e" + self.last[1] + b"\x7e")
        if head[0] == 0x28:
            self.power_up()

    def _answer(self, kind: int, data: bytes) -> bytes:
        if kind == 0x20:
            (self.session,) = struct.unpack("<I", data)
            clocks = (80_000_000, 40_000_000, 1, 4)
            words = (0, 1, 0x1FF, self.message_bytes, 0x410FC241, *clocks, 1, 1, STEPS, 1, self.resets)
            return struct.pack("<14I", *words) + MODEL + bytes(16) + b"stm32l4r5"
        if len(data) < 4 or int.from_bytes(data[:4], "little") != self.session or self.session == 0:
            return struct.pack("<I", 2)
        status, answer = self._execute(kind, data[4:])
        return struct.pack("<I", status) + answer

    def _memory(self, region: int, index: int) -> bytearray | None:
        if index:
            return None
        tensor = bytearray(self.stopped[1]) if self.stopped else None
        cycles = bytearray(struct.pack(f"<{STEPS}Q", *self.cycles))
        return [self.input, self.output, tensor, cycles, self.scratch, self.image][region] if region < 6 else None

    def _execute(self, kind: int, data: bytes) -> tuple[int, bytes]:
        if kind in (0x21, 0x22, 0x23):
            region, index = data[0], data[1]
            memory = self._memory(region, index)
            if memory is None:
                return 5, b""
            if kind == 0x21:
                return 0, struct.pack("<2I", 0x20000000, len(memory))
            (offset,) = struct.unpack_from("<I", data, 4)
            if kind == 0x22:
                (count,) = struct.unpack_from("<I", data, 8)
                return (0, bytes(memory[offset : offset + count])) if offset + count <= len(memory) else (5, b"")
            if offset + len(data) - 8 > len(memory):
                return 5, b""
            if self.stopped:
                return 6, b""
            memory[offset : offset + len(data) - 8] = data[8:]
            return 0, b""
        if kind == 0x24:
            flags, stop = struct.unpack("<2I", data)
            return (6, b"") if self.stopped else self._run(flags, stop)
        if kind == 0x25:
            return self._go_on(*struct.unpack("<I", data)) if self.stopped else (6, b"")
        if kind == 0x26:
            count, crc = struct.unpack("<2I", data)
            if count > IMAGE or binascii.crc32(self.image[:count]) != crc:
                return 8, b""
            self.loaded = bytes(self.image[:count])
            return 0, b""
        if kind == 0x27:
            offset, argument = struct.unpack("<2I", data)
            return 0, struct.pack("<IQ", (self.scratch[offset] + argument) % (1 << 32), 50)
        return (0, b"") if kind == 0x28 else (4, b"")

    def _run(self, flags: int, stop: int) -> tuple[int, bytes]:
        self.executed += 1
        if flags & 1:
            self.state = 7
        given = bytes(self.input)
        self.state = (self.state + sum(given)) % 251
        self.stops = [(s, tensor(self.state, given, s, p)) for s in range(STEPS) for p in range(PARTS)]
        self.given = given
        self.cycles = [100 * (s + 1) for s in range(STEPS)]
        self.input[:] = bytes(INPUT)  # its memory is used for something else
        return self._go_on(stop)

    def _go_on(self, stop: int) -> tuple[int, bytes]:
        self.stopped = None
        while self.stops and self.stops[0][0] < stop:
            self.stops.pop(0)
        if self.stops:
            self.stopped = self.stops.pop(0)
            step, data = self.stopped
            return 1, struct.pack("<4IQ", step, len(data), 0, 0, 10) + data[:4]
        self.output[:] = bytes((self.state * (i + 1) + self.given[i]) % 256 for i in range(OUTPUT))
        return 0, struct.pack("<4IQ", 0, 0, 0, 256, sum(self.cycles))
