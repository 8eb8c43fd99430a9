"""`mote ota` against the device's side of the protocol in C, over TCP, a pseudo-terminal, and lines that lose bytes."""

from __future__ import annotations

import json
import os
import pty
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.deploy.update.header import read_header
from mote.deploy.update.messages import Type
from mote.deploy.update.session import Patience, Session, UpdatePlan, update
from mote.deploy.wire import links
from mote.deploy.wire.frames import ANSWER, FrameReader, Message
from mote.deploy.wire.links import Connecting, ConnectionLostError, Listening, Opened
from mote.ui.cli import main
from tests.deploy.update.update_bench import HERE, MODULE, built, image, pair, sources, stand_in_signed
from tests.helpers.support import examples

FLASH = 2 * 65_536 + 2 * 4096
OLD, NEW = (stand_in_signed(image(version, payload)) for version, payload in enumerate(pair(20_000), 1))
PATIENT = Patience(answer_s=0.1, tries=300, restart_s=60.0, confirm_s=60.0)
"""Questions are repeated soon, and answers awaited for as long as a busy machine takes."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("device"), [HERE / "device.c", *sources(*MODULE)])


@pytest.fixture
def flash(tmp_path: Path) -> Path:
    path = tmp_path / "flash"
    path.write_bytes(b"\xff" * FLASH)
    return path


@contextmanager
def running(command: list[str], **how: object) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, **how)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


@contextmanager
def listening(program: Path, flash: Path, *more: str) -> Iterator[int]:
    """A device that listens; the port."""
    with running([str(program), str(flash), "listen", *more], stdout=subprocess.PIPE) as process:
        assert process.stdout
        yield int(process.stdout.readline())


def written(folder: Path, **images: bytes) -> dict[str, str]:
    for name, data in images.items():
        (folder / f"{name}.mote").write_bytes(data)
    return {name: str(folder / f"{name}.mote") for name in images}


def ota(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main(["ota", *arguments, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


messages = st.builds(Message, st.integers(0, 255), st.integers(0, 255), st.binary(max_size=60))


@given(sent=st.lists(messages, max_size=5), noise=st.lists(st.binary(max_size=8), min_size=6, max_size=6))
@settings(max_examples=examples(120), deadline=None)
def test_messages_are_found_among_other_bytes(sent: list[Message], noise: list[bytes]) -> None:
    """Text between frames may end with a flag: then a frame begins where none does, and nothing is lost."""
    between = [part.replace(b"\x7e", b"") for part in noise]
    data = b"".join(part + message.framed for part, message in zip(between, sent, strict=False))
    reader = FrameReader()
    assert [m for i in range(0, len(data), 7) for m in reader.take(data[i : i + 7])] == sent
    damaged = bytearray(data)
    for position in range(0, len(data), 11):
        damaged[position] ^= 0x10
    assert all(m in sent for m in FrameReader().take(bytes(damaged)))


def test_install_update_and_what_is_refused(
    program: Path, flash: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = image(3, pair(20_000)[1], product=8)
    files = written(
        tmp_path,
        old=OLD,
        new=NEW,
        forged=stand_in_signed(image(3, bytes(20_000)), forged=True),
        plain=image(3, bytes(20_000)),
        other=stand_in_signed(other),
        large=stand_in_signed(image(3, bytes(70_000))),
    )
    with listening(program, flash, "confirm") as port:
        to = ("--connect", f"127.0.0.1:{port}")
        assert ota(capsys, *to)["active"] is None
        done = ota(capsys, files["old"], *to)
        assert (done["sent"], done["state"], done["stream_bytes"]) == ("image", "confirmed", len(OLD))
        assert ota(capsys, files["old"], *to)["sent"] == "nothing", "it runs that already"
        done = ota(capsys, files["new"], *to, "--from", files["new"], "--from", files["old"])
        assert (done["sent"], done["state"]) == ("delta", "confirmed")
        assert done["stream_bytes"] < len(NEW) / 20  # type: ignore[operator]
        found = ota(capsys, *to)
        assert (found["version"], found["counter"], found["state"]) == (2, 2, "idle")
        refused = {
            "old": "has version 1, and the device accepts none below 2",
            "forged": "the device refuses: the signature is not genuine",
            "plain": "the device refuses: the image is not signed",
            "other": "is for product 8, and the device is product 7",
            "large": "and the device has room for 65,536",
        }
        for name, reason in refused.items():
            assert main(["ota", files[name], *to]) == 1
            assert reason in capsys.readouterr().err, name
        assert main(["ota", *to]) == 0
        assert "runs version 2 from slot 1" in capsys.readouterr().out


def test_trials_are_confirmed_by_the_host_or_taken_back(
    program: Path, flash: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = written(tmp_path, old=OLD, new=NEW)
    with listening(program, flash) as port:
        to = ("--connect", f"127.0.0.1:{port}", "--wait", "0.1")
        assert ota(capsys, files["old"], *to)["state"] == "trial", "nobody has confirmed it"
        assert main(["ota", files["new"], *to]) == 1
        assert "has a model on trial, of version 1" in capsys.readouterr().err
        assert ota(capsys, files["old"], *to, "--confirm")["state"] == "confirmed"
        assert ota(capsys, files["new"], *to, "--no-restart")["state"] == "installed"
        assert ota(capsys, *to)["version"] == 1
        done = ota(capsys, files["new"], *to)
        assert (done["sent"], done["state"]) == ("nothing", "trial"), "it was there already"
    with listening(program, flash) as port:
        found = ota(capsys, "--connect", f"127.0.0.1:{port}")
        assert (found["version"], found["rejected"], found["state"]) == (1, 2, "idle"), "a reset took it back"


def test_a_serial_line(program: Path, flash: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = written(tmp_path, old=OLD)
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    name = os.ttyname(theirs)
    with running([str(program), str(flash), "stdio", "confirm"], stdin=ours, stdout=ours):
        done = ota(capsys, files["old"], "--serial", name)
        assert done["state"] == "confirmed"
        assert main(["ota", files["old"], "--serial", name, "--baud", "0"]) == 1
        assert "0 baud is no speed" in capsys.readouterr().err
    os.close(ours), os.close(theirs)
    assert main(["ota", "--serial", str(flash)]) == 1
    assert "cannot be opened" in capsys.readouterr().err


def test_the_device_calls(program: Path, flash: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = written(tmp_path, old=OLD)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with running([str(program), str(flash), "connect", port, "confirm"]):
        assert main(["ota", files["old"], "--listen", f"127.0.0.1:{port}"]) == 0
    said = capsys.readouterr().out
    assert f"{files['old']}: {len(OLD):,} bytes" in said and "confirmed" in said


@pytest.mark.slow
def test_many_devices_call(program: Path, flash: Path, tmp_path: Path) -> None:
    """The second one has a newer model; the third is the first again, after its restart."""
    files = written(tmp_path, old=OLD)
    strange = tmp_path / "strange"
    strange.write_bytes(stand_in_signed(image(9, b"", product=7)).ljust(FLASH, b"\xff"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    arguments = ["ota", files["old"], "--listen", f"127.0.0.1:{port}", "--forever"]
    command = [sys.executable, "-c", f"from mote.ui.cli import main; raise SystemExit(main({arguments!r}))"]
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        assert server.stdout
        said = []
        for where in (flash, strange, flash):
            with running([str(program), str(where), "connect", port, "confirm"]):
                said.append(server.stdout.readline() + server.stdout.readline())
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 128 + signal.SIGTERM
    assert b"the device restarts" in said[0]
    assert b"accepts none below 9" in said[1]
    assert b"runs it already" in said[2] and b"confirmed" in said[2]


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


def test_nobody_answers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(links, "OPENING_S", 0.1)
    assert main(["ota", "--connect", "127.0.0.1:1", "--json"]) == 1
    assert "cannot be connected to" in json.loads(capsys.readouterr().out)["error"]["reason"]
    session = Session(Silent(), Patience(answer_s=0.01, tries=2))
    with pytest.raises(ConnectionLostError, match="does not answer"):
        session.hello()
    files = written(tmp_path, broken=NEW[:-10])
    for arguments, reason in {
        ("absent.mote", "--listen", "0"): "absent.mote: cannot read the file",
        (files["broken"], "--listen", "0"): "that are no signature",
        ("--listen", "99999"): "is no HOST:PORT",
        (): "one of the arguments --connect --listen --serial is required",
    }.items():
        assert main(["ota", *arguments]) != 0
        assert reason in capsys.readouterr().err


def test_delta_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = written(tmp_path, old=OLD, new=NEW)
    made = tmp_path / "made.delta"
    assert main(["delta", files["old"], files["new"], "-o", str(made)]) == 0
    assert f"{made}: {made.stat().st_size:,} bytes" in capsys.readouterr().out
    assert main(["delta", files["new"], files["old"], "-o", files["old"]]) == 1, "an image is not overwritten"
