"""Tutorials: their blocks of Python and their commands, one after another, as a reader would run them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from mote.ui.cli import main
from tests.helpers.support import emulated, needs_litert

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = ("pip ", "mote flash ")
"""Beginnings of commands that need a network, or a board."""


def follow(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run the blocks of a page in a folder; what QEMU printed."""
    emulated("cortex-m4")
    (folder / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(folder)
    variables: dict[str, object] = {}
    printed = []
    for language, block in BLOCK.findall((ROOT / "docs" / "start" / page).read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(block, page, "exec"), variables)
            continue
        for line in block.splitlines():
            command = line.partition(" #")[0].strip()
            if command.startswith(NOT_RUN):
                continue
            if command.startswith("mote "):
                assert main(shlex.split(command)[1:]) == 0, command
            elif command.startswith("qemu"):
                printed.append(in_qemu(command))
            else:
                subprocess.run(command, shell=True, check=True)
    return printed


def in_qemu(command: str) -> str:
    """What the firmware prints; its last instruction ends the emulator."""
    words = shlex.split(command)
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr


def accuracy(said: str) -> float:
    """Of the compiled C, as `mote evaluate` prints it."""
    match = re.search(r"compiled C on this computer +([\d.]+)%", said)
    assert match is not None, said
    return float(match[1])


@pytest.mark.slow
@needs_litert
def test_from_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    printed = follow("from-pytorch.md", tmp_path, monkeypatch)
    said = capfd.readouterr().out
    assert 85 < accuracy(said) < 99, "the page says nine of ten"
    assert "equal bit for bit" in said and printed[0].count("digits_int8 ") >= 2 and ": class " in printed[0]
    assert (tmp_path / "build" / "pico" / "digits_int8.uf2").exists()
    assert list((tmp_path / "build" / "from_python").glob("*.h"))


@needs_litert
@pytest.mark.frontends
def test_from_keras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("keras")
    emulated("rv32imc")
    printed = follow("from-keras.md", tmp_path, monkeypatch)
    said = capfd.readouterr().out
    assert accuracy(said) > 80 and "equal bit for bit" in said and ": class " in printed[0]
    assert (tmp_path / "build" / "nucleo" / "digits_int8.hex").exists()
