"""`mote doctor`: purposes, what is missing for them, and what that takes."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import install_sizes
import mote
from mote.base.errors import MoteError
from mote.base.extras import installing
from mote.bench.doctor import APT, Diagnosis, doctor
from mote.hardware import targets
from mote.hardware.cores import ARCHITECTURES, HOST
from mote.ui.cli import main

NEAR, FEW = 0.4, 4
"""How far the size of what is installed may be from the record, as a share and in megabytes: other versions, other
processors."""


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any tool."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def test_nothing_is_there(bare: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Every purpose is missing, and each has a command."""
    result = doctor()
    assert not result.ready and not any(purpose.ready for purpose in result.purposes)
    assert all(purpose.install and all(purpose.install) for purpose in result.purposes)
    assert main(["doctor"]) == 0, "a list is no failure"
    assert main(["doctor", "--for", "sign"]) == 1
    out = capsys.readouterr().out
    assert f"{installing('sign')} (" in out and "missing  cryptography" in out


def test_alternatives_and_several_needs(bare: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One tool of each group is enough, and one command may bring several."""
    (arm,) = doctor("arm").purposes
    apt, zig = arm.install[0]
    assert apt.command == f"{APT} gcc-arm-none-eabi libnewlib-arm-none-eabi" and zig.command == installing("zig")
    assert apt.megabytes and zig.megabytes and str(zig).endswith(f"({zig.megabytes} MB)")
    (onnx,) = doctor("onnx").purposes
    assert [[way.command for way in group] for group in onnx.install] == [[installing("onnx")]]
    (profile,) = doctor("profile").purposes
    assert len(profile.install) == 2, "a disassembler and an emulator"
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(sys.modules["mote.bench.doctor"], "first_line", lambda command: "1.0")
    monkeypatch.setattr("mote.hardware.toolchain.compilers.first_line", lambda command: "libc.a")
    assert not doctor("arm").ready, "a compiler without its C library is of no use"
    monkeypatch.setattr("mote.hardware.toolchain.compilers.first_line", lambda command: "/usr/lib/libc.a")
    assert doctor("arm").ready and doctor("arm", "host").purposes[0].tools == ("arm-none-eabi-gcc",)
    assert [tool.name for tool in doctor("profile").tools if tool.found] == ["qemu-system-arm", "qemu-system-riscv32"]


def test_purposes(capsys: pytest.CaptureFixture[str]) -> None:
    """Names are unique; an unknown one is an error; JSON has the groups."""
    with pytest.raises(MoteError, match="did you mean: profile"):
        doctor("profil")
    assert main(["doctor", "--for", "profil"]) == 2
    assert "did you mean: profile" in capsys.readouterr().err
    assert main(["doctor", "--for", "host", "--json"]) in (0, 1)
    result = json.loads(capsys.readouterr().out)
    (host,) = result["purposes"]
    assert (host["name"], host["needs"]) == ("host", [["cc", "clang", "ziglang"]])
    assert result["ready"] is host["ready"]
    assert {tool["name"] for tool in result["tools"]} == {"cc", "clang", "ziglang"}
    empty = Diagnosis((), ())
    assert empty.ready and repr(empty) == "<Diagnosis of 0 purposes: all ready>"


def test_what_zig_compiles_for() -> None:
    loaded = [targets.load(name) for name in targets.names()]
    assert {target.core.name for target in loaded if target.zig_flags} == {
        core.name for core in ARCHITECTURES.values() if core.zig and core is not HOST
    }
    emulated = {target.core.name for target in loaded if target.qemu_machine or target.unicorn_cpu or target.simavr_mcu}
    known = {purpose.name.removeprefix("run-") for purpose in doctor().purposes if purpose.name.startswith("run-")}
    assert known == emulated - {"host"} <= set(ARCHITECTURES)


def test_every_command_of_the_list_has_a_size() -> None:
    """But for tools that are no packages, and packages of which nobody knows."""
    unknown = {tool.name for tool in mote.doctor().tools if tool.megabytes is None}
    flashing = set(mote.doctor("flash").purposes[0].needs[0])
    assert unknown - flashing == {"xtensa-esp32s3-elf-gcc", "jax", "tensorflow"}


@pytest.mark.slow
def test_sizes_are_those_of_what_is_installed() -> None:
    """Of every extra and package that is here."""
    extras, packages = install_sizes.measured_wheels()
    recorded = install_sizes.recorded()
    assert extras, "numpy at least is installed"
    for kind, sizes in (("extras", extras), ("pip", packages)):
        for name, size in sizes.items():
            wanted = recorded[kind][name]
            assert abs(size - wanted) <= FEW + NEAR * wanted, f"{kind} {name}: {size} MB: {install_sizes.__file__}"
    assert set(recorded["extras"]) == set(install_sizes.extras())
    assert set(recorded["apt"]) == set(install_sizes.apt_packages())


def test_sizes_of_debian_packages() -> None:
    """At least what dpkg says of the packages themselves, where they are installed."""
    if shutil.which("dpkg-query") is None:
        pytest.skip("no dpkg")
    checked = 0
    for names, size in install_sizes.recorded()["apt"].items():
        command = ["dpkg-query", "-W", "-f=${Installed-Size}\n", *names.split()]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            own = sum(map(int, asked.stdout.split())) / 1024
            assert (1 - NEAR) * own - FEW <= size <= 3 * own + 500, f"{names}: {size} MB, {own:.0f} of its own"
            checked += 1
    if not checked:
        pytest.skip("none of the packages is installed by dpkg")


def test_the_page_has_every_extra() -> None:
    text = install_sizes.PAGE.path.read_text(encoding="utf-8")
    assert install_sizes.PAGE.with_table(install_sizes.table()) == text, "benchmarks/install_sizes.py --record"


def test_dependencies_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extras of dependencies and markers count, what is not installed gives nothing."""

    class Distribution:
        def __init__(self, *requires: str) -> None:
            self.requires = requires

    known = {
        "a": Distribution("b[x]; python_version > '3'", "absent; sys_platform == 'none'", "c; extra == 'y'"),
        "b": Distribution("c; extra == 'x'", "a"),
        "c": Distribution(),
        "d": Distribution("absent"),
    }
    monkeypatch.setattr(install_sizes, "installed", lambda: known)
    assert install_sizes.closure([Requirement("A")]) == {"a", "b", "c"}
    assert install_sizes.closure([Requirement("b")]) == {"a", "b", "c"}
    assert install_sizes.closure([Requirement("d")]) is None
    assert Path(install_sizes.SIZES).is_file()
