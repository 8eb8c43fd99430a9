"""Outputs that cannot be written, and command lines that cannot be understood: an error each, no traceback."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.frontends.tflite.writer import Writer
from mote.hardware.targets import load
from mote.hardware.toolchain import emulators
from mote.hardware.toolchain.emulators import Emulator
from mote.ui.cli import main

ROOT = Path(__file__).parents[3]


@contextmanager
def stream(monkeypatch: pytest.MonkeyPatch, name: str, path: str | int) -> Iterator[None]:
    """A standard stream that goes elsewhere, and is closed without a word."""
    with monkeypatch.context() as patched:
        file = open(path, "w")  # noqa: PTH123, SIM115 - pytest must not see an error when it is closed
        patched.setattr(sys, name, file)
        yield
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
        file.close()


@pytest.mark.parametrize("command", ["targets", "targets --json", "--help", "--version", "doctor"])
def test_a_full_disk(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with stream(monkeypatch, "stdout", "/dev/full"):
        assert main(command.split()) == 1
    assert capsys.readouterr().err == ("mote: error: standard output: cannot be written (No space left on device)\n")


def test_nobody_reads_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with stream(monkeypatch, "stdout", writer):
        assert main(["targets"]) == 141
    assert capsys.readouterr().err == ""


def test_nobody_hears_of_errors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with stream(monkeypatch, "stderr", "/dev/full"):
        assert main(["inspect", "absent.tflite"]) == 1
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["inspect", "absent.tflite"]) == 1


def test_closed_streams(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["targets"]) == 1
    assert "standard output: is closed" in capsys.readouterr().err


def test_the_interpreter_has_nothing_to_add_at_its_end() -> None:
    """It flushes the streams once more."""
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run([sys.executable, "-m", "mote", "targets"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1


def test_a_terminal_that_knows_ascii_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    w = Writer("m")
    y = w.tensor("größe µ", (1, 4), "int8", scale=0.1)
    w.op("RELU", [w.input("x", (1, 4), "int8", scale=0.1)], [y])
    w.output(y)
    (tmp_path / "m.tflite").write_bytes(w.finish())
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["inspect", str(tmp_path / "m.tflite")]) == 0
    assert rb"gr\xf6\xdfe \xb5" in raw.getvalue()


@pytest.mark.slow
def test_a_full_temporary_folder(tmp_path: Path) -> None:
    """A limit to the size of files is a disk that is full: the model's C does not fit."""
    done = subprocess.run(
        [sys.executable, "-m", "mote", "verify", "models/digits.tflite", "--inputs", "1"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )
    assert done.returncode == 1 and f"temporary folder {tmp_path}: cannot be written to (File too large)" in done.stderr
    assert "TMPDIR" in done.stderr and list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_of_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The emulator does not say that it could not write."""
    monkeypatch.setattr(emulators.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 0}))
    with pytest.raises(MoteError, match=r"no room for the results\n.*TMPDIR"):
        emulators.check(tmp_path / "model.elf", load("cortex-m4"), Emulator("qemu", (), ""), tmp_path, "")


@pytest.mark.parametrize(
    ("given", "where", "says"),
    [
        ("complie x.tflite", "mote", "did you mean: compile"),
        ("compile x.tflite", "mote compile", "required: --output/-o"),
        (
            "plan x.tflite --falsh 3K",
            "mote plan",
            "unrecognized arguments: --falsh 3K (did you mean: --flash, --flags, --check-flash?)",
        ),
        ("plan x.tflite --trget=host", "mote plan", "did you mean: --target"),
        ("run x.tflite --optimize sped", "mote run", "did you mean: speed?"),
        ("verify x.tflite --inputs 0", "mote verify", "--inputs"),
    ],
)
def test_usage_errors(given: str, where: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(given.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith("usage: mote") and f"{where}: error: " in printed.err
    assert says in printed.err
    for option in ("--json", "--js"):
        assert main([*given.split(), option]) == 2
        found = json.loads(capsys.readouterr().out)["error"]
        assert found["where"] == where and says in found["reason"] and "--help" in found["remedy"]
