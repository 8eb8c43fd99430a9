"""`mote ota` and `mote delta` against the device's side of the protocol in C: what is sent, said and refused."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import tty
from pathlib import Path

import pytest

from mote.deploy.wire import links
from mote.ui.cli import main
from tests.deploy.update.ota_device import FLASH, NEW, OLD, listening, ota, running, written
from tests.deploy.update.update_bench import image, pair, stand_in_signed


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


def test_nobody_answers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "OPENING_S", 0.1)
    assert main(["ota", "--connect", "127.0.0.1:1", "--json"]) == 1
    assert "cannot be connected to" in json.loads(capsys.readouterr().out)["error"]["reason"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("absent.mote --listen 0", "absent.mote: cannot read the file"),
        ("{broken} --listen 0", "that are no signature"),
        ("--listen 99999", "is no HOST:PORT"),
        ("", "one of the arguments --connect --listen --serial is required"),
    ],
)
def test_errors(arguments: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = written(tmp_path, broken=NEW[:-10])
    assert main(["ota", *arguments.format(**files).split()]) != 0
    assert error in capsys.readouterr().err


def test_delta_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = written(tmp_path, old=OLD, new=NEW)
    made = tmp_path / "made.delta"
    assert main(["delta", files["old"], files["new"], "-o", str(made)]) == 0
    assert f"{made}: {made.stat().st_size:,} bytes" in capsys.readouterr().out
    assert main(["delta", files["new"], files["old"], "-o", files["old"]]) == 1, "an image is not overwritten"
