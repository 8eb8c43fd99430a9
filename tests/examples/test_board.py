"""The board's example on an emulated core, and its boards.toml. Its smaller twin, over TCP, is among the tests of
packages."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mote.deploy.boards.boards_file import boards_file
from mote.deploy.firmware.flash import FLASH_TOOLS
from tests.helpers.support import emulated

EXAMPLE = Path(__file__).parents[2] / "examples" / "board"


@pytest.mark.slow
def test_layers_are_measured_on_an_emulated_board() -> None:
    emulated("cortex-m4")
    done = subprocess.run([sys.executable, EXAMPLE / "board.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert (
        "instructions" in done.stdout and "%" in done.stdout and "every tensor equals the reference's." in done.stdout
    )


def test_the_boards_of_the_example_are_understood() -> None:
    file = EXAMPLE / "boards.toml"
    names = tomllib.loads(file.read_text(encoding="utf-8"))["boards"]
    known = [boards_file(str(file)).board(name) for name in names]
    assert [entry.name for entry in known] == list(names)
    assert all(entry.target is not None for entry in known)
    assert {entry.flash.tool for entry in known if entry.flash} <= set(FLASH_TOOLS)
