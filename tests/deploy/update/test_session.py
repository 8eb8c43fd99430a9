"""Sessions of an update over lines that lose bytes, with devices that lose power or answer oddly."""

from __future__ import annotations

import random
import signal
import struct
import subprocess
import threading
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.deploy.update.header import read_header
from mote.deploy.update.messages import Type
from mote.deploy.update.session import Patience, Session, UpdatePlan, update
from mote.deploy.wire.frames import ANSWER, FrameReader, Message
from mote.deploy.wire.links import Connecting, ConnectionLostError, Listening, Opened
from tests.deploy.update.ota_device import OLD, PATIENT, listening
from tests.deploy.update.update_bench import image, stand_in_signed
from tests.helpers.support import examples


class Lossy(Connecting):
    """A line that loses, changes and doubles what goes over it, both ways."""

    def __init__(self, port: int, seed: int, rate: float) -> None:
        super().__init__("127.0.0.1", port)
        self.rng, self.rate = random.Random(seed), rate

    def spoiled(self, data: bytes) -> bytes:
        if self.rng.random() > self.rate or not data:
            return data
        at = self.rng.randrange(len(data))
        changed = bytes([data[at] ^ 1 << self.rng.randrange(8)])
        return self.rng.choice([b"", data + data, data[:at] + changed + data[at + 1 :], data[:at], b"noise\x7e" + data])

    def send(self, data: bytes) -> None:
        super().send(self.spoiled(data))

    def receive(self, seconds: float) -> bytes:
        return self.spoiled(super().receive(seconds))


@pytest.mark.parametrize("seed", range(examples(6)))
def test_a_line_that_loses_bytes(program: Path, flash: Path, seed: int) -> None:
    plan = UpdatePlan(OLD, read_header(OLD, "old"), confirms=True)
    patience = Patience(answer_s=0.05, tries=30, restart_s=60.0, connections=20)
    with listening(program, flash) as port, Opened(Lossy(port, seed, 0.15)) as line:
        outcome = update(Session(line, patience), plan, "old")
    assert outcome.state == "confirmed" and outcome.sent_again
    assert flash.read_bytes().startswith(OLD)


class Watched(Listening):
    """Something happens once, after so many bytes."""

    def __init__(self, after: int, then: Callable[[], None]) -> None:
        super().__init__("127.0.0.1", 0)
        self.left, self.then = after, then

    def send(self, data: bytes) -> None:
        before, self.left = self.left, self.left - len(data)
        super().send(data)
        if before > 0 >= self.left:
            self.then()


@pytest.mark.parametrize("by_delta", [False, True])
def test_power_fails_while_it_receives(program: Path, flash: Path, by_delta: bool) -> None:
    """The device is killed, and goes on from what its flash has: the host has to send the rest only."""
    old, new = image(1, random.Random(1).randbytes(40_000)), image(2, random.Random(2).randbytes(30_000))
    new = stand_in_signed(new[:192] + old[192:9000] + new[9000:])
    new = stand_in_signed(image(2, new[192:-80]))
    first = stand_in_signed(old)
    devices: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        command = [str(program), str(flash), "connect", str(line.port), "confirm"]
        devices.append(subprocess.Popen(command))

    def kill() -> None:
        devices[-1].send_signal(signal.SIGKILL)
        devices[-1].wait()
        threading.Timer(0.2, start).start()

    line = Watched(1 << 30, kill)
    start()
    try:
        with Opened(line):
            plan = UpdatePlan(first, read_header(first, "first"))
            assert update(Session(line, PATIENT), plan, "").state == "confirmed"
            line.left = 17_000
            plan = UpdatePlan(new, read_header(new, "new"), [(read_header(first, "first"), first)] if by_delta else [])
            outcome = update(Session(line, PATIENT), plan, "new")
    finally:
        for device in devices:
            device.kill()
            device.wait()
    assert (outcome.sent, outcome.state) == ("delta" if by_delta else "image", "confirmed")
    assert outcome.connections == 2 and outcome.resumed_at >= 4096
    again = outcome.sent_again * outcome.device.most_data
    assert outcome.bytes_sent - again < outcome.stream_bytes + 16_384
    assert len(devices) == 2


class Silent:
    """A line on which nobody answers, or somebody speaks nonsense."""

    window, name = 1, "nowhere"

    def __init__(self, says: bytes = b"") -> None:
        self.says = says

    def open(self) -> None: ...

    def close(self) -> None: ...

    def send(self, data: bytes) -> None: ...

    def receive(self, seconds: float) -> bytes:
        return self.says


def test_nobody_answers() -> None:
    session = Session(Silent(), Patience(answer_s=0.01, tries=2))
    with pytest.raises(ConnectionLostError, match="does not answer"):
        session.hello()


class Odd(Silent):
    """A device that takes so many bytes at a time, and says of each frame that it has as many bytes as `positions` say,
    over and over."""

    window = 2

    def __init__(self, most_data: int, positions: Sequence[int], begun: bytes = bytes(12)) -> None:
        super().__init__()
        self.most_data, self.positions, self.begun = most_data, cycle(positions), begun
        self.reader, self.answers = FrameReader(), b""

    def send(self, data: bytes) -> None:
        for question in self.reader.take(data):
            answer = bytes(4)
            if question.type == Type.HELLO:
                answer = struct.pack("<4x4B12I", 1, 0, 0, 255, self.most_data, 1 << 20, *[0] * 10)
            elif question.type == Type.BEGIN:
                answer = self.begun
            elif question.type == Type.DATA:
                answer = struct.pack("<III", 0, next(self.positions), 0)
            self.answers += Message(question.type | ANSWER, question.sequence, answer).framed

    def receive(self, seconds: float) -> bytes:
        found, self.answers = self.answers, b""
        return found


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("device", "reason"),
    [
        (Odd(0, [0]), "takes 0 bytes of data at a time"),
        (Odd(64, [64, 0]), "the device was lost 5 times"),
        (Odd(64, [64, 128, 64, 0, 128]), "lost 5 times: the device takes no more data"),
        (Odd(64, [10_000]), "has 10,000 bytes, of which 128 were sent"),
        (Odd(64, [0], bytes(8)), "answers something else"),
        (Odd(64, [0], b""), "knows of no update"),
    ],
)
def test_a_device_that_answers_oddly(device: Odd, reason: str) -> None:
    patience = Patience(answer_s=0.2, tries=1, finish_s=0.1)
    with pytest.raises(MoteError, match=reason):
        update(Session(device, patience), UpdatePlan(OLD, read_header(OLD, "old")), "old")
