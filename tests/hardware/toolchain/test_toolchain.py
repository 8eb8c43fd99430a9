"""Which compiler and emulator are chosen for a target, and what is said where there is none."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.bench.doctor import doctor
from mote.hardware import targets, toolchain
from mote.hardware.targets import Target
from mote.hardware.toolchain import Compiler, Emulator, builder, compilers

Find = Callable[[Target, str | None], Compiler | Emulator]


@pytest.fixture
def _nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.mark.usefixtures("_nothing_installed")
@pytest.mark.parametrize(
    ("find", "core", "error"),
    [
        (toolchain.find_compiler, "cortex-m4", r"apt install gcc-arm-none-eabi .*or pip install ziglang"),
        (toolchain.find_compiler, "host", "apt install gcc, or pip install ziglang"),
        (toolchain.find_emulator, "cortex-m4", "apt install qemu-system-arm, or pip install unicorn"),
        (toolchain.find_emulator, "cortex-m55", "unicorn does not know the cortex-m55"),
    ],
)
def test_a_missing_tool_comes_with_a_remedy(find: Callable[[Target], object], core: str, error: str) -> None:
    with pytest.raises(MoteError, match=error):
        find(targets.load(core))


@pytest.mark.usefixtures("_nothing_installed")
def test_the_doctor_has_a_remedy_for_every_missing_tool() -> None:
    assert not any(finding.found for finding in doctor().tools)
    assert all(finding.remedy for finding in doctor().tools)


def test_machines_that_cannot_be_emulated() -> None:
    with pytest.raises(MoteError, match="cannot be emulated"):
        builder.board_of(replace(targets.load("cortex-m4"), qemu_machine="microbit"))


@pytest.fixture
def _all_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(compilers, "first_line", lambda command: "/1.0")
    monkeypatch.setattr("mote.hardware.toolchain.emulators.version_of", lambda command: "1.0")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())


@pytest.mark.usefixtures("_all_installed")
@pytest.mark.parametrize(
    ("find", "wanted", "found"),
    [
        (toolchain.find_compiler, None, "gcc"),
        (toolchain.find_compiler, "zig", "zig"),
        (toolchain.find_emulator, None, "qemu"),
        (toolchain.find_emulator, "unicorn", "unicorn"),
    ],
)
def test_which_tool_is_taken(find: Find, wanted: str | None, found: str) -> None:
    assert find(targets.load("cortex-m4"), wanted).kind == found


@pytest.mark.usefixtures("_all_installed")
def test_zig_takes_the_place_of_a_gcc_without_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilers, "first_line", lambda command: "libc.a")
    assert toolchain.find_compiler(targets.load("cortex-m4")).kind == "zig"


@pytest.mark.usefixtures("_all_installed")
@pytest.mark.parametrize(
    ("find", "wanted", "error"),
    [
        (toolchain.find_compiler, "icc", "unknown compiler"),
        (toolchain.find_emulator, "renode", "unknown emulator"),
        (toolchain.find_emulator, "simavr", "simavr does not run the target 'cortex-m4'"),
    ],
)
def test_tools_that_there_are_not(find: Find, wanted: str, error: str) -> None:
    with pytest.raises(MoteError, match=error):
        find(targets.load("cortex-m4"), wanted)


def test_import_is_fast() -> None:
    code = (
        "import sys, mote.hardware.toolchain; print([m for m in ('unicorn', 'elftools', 'numpy') if m in sys.modules])"
    )
    path = str(Path(toolchain.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": path}
    )
    assert done.stdout.strip() == "[]"
