"""Build files that Mote writes compile a model with the flags that Mote measures it with."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from mote.base.errors import MoteError
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.compiler.package.packagers import PACKAGERS
from mote.hardware.targets.flags import STANDARD, UNFUSED, optimization
from mote.hardware.toolchain import find_compiler
from mote.hardware.toolchain.builder import COMMON, target_flags
from mote.hardware.toolchain.compilers import native_flags
from tests.compiler.emit.c.test_project import DIGITS
from tests.helpers.support import emulated, needs

FLOATS = DIGITS.with_name("digits_float.tflite")
CORES = {"cortex-m4": FLOATS, "cortex-m0": DIGITS, "cortex-m55": DIGITS, "rv32imc": DIGITS, "atmega2560": DIGITS}
NO_LEVEL = {"arduino", "micropython"}
"""Ecosystems whose own level of optimization no library changes."""


def written(folder: Path, model: Path, target: str, **options: object) -> Compiled:
    compiled = compile(model, target=target, name="net", optimize="speed", **options)
    compiled.write(folder)
    return compiled


def code(path: Path) -> dict[str, bytes]:
    """Code and constants of an object file by section."""
    with path.open("rb") as file:
        parts = [s for s in ELFFile(file).iter_sections() if s.name.startswith((".text", ".rodata", ".progmem"))]
        return {s.name: s.data() for s in parts if s["sh_size"]}


@pytest.mark.parametrize("core", CORES)
def test_the_command_in_the_makefile_builds_what_is_measured(core: str, tmp_path: Path) -> None:
    """The same machine code as the measured build has."""
    compiled = written(tmp_path, CORES[core], emulated(core))
    target = compiled.settings.target
    compiler = find_compiler(target)
    if compiler.kind != "gcc":
        pytest.skip("the flags are gcc's")
    how = optimization(compiled.settings.built_for, target.cpu)
    own = [*compiler.command, *target_flags(target, compiler), *COMMON, how.level, *how.gcc]
    subprocess.run([*own, "-I.", "-c", "net.c", "-o", "measured.o"], cwd=tmp_path, check=True)
    (command,) = re.findall(r"^#     (make .*)$", (tmp_path / "Makefile").read_text(), re.M)
    libc = [f"CPPFLAGS={flag}" for flag in target.core.gcc_flags if flag.startswith("--specs")]
    words = [
        f"{word} {libc[0].split('=', 1)[1]}" if libc and word.startswith("CC=") else word
        for word in shlex.split(command)
    ]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    measured = code(tmp_path / "measured.o")
    assert len(measured) > 3 and code(tmp_path / "net.o") == measured


def test_native_builds_use_all_instructions_of_this_computer(tmp_path: Path) -> None:
    """Unless the user says otherwise."""
    needs("make", "cmake")
    compiled = written(tmp_path, FLOATS, "native")
    wanted = {flag for flag in native_flags(find_compiler(compiled.settings.target)) if not flag.startswith("-D")}
    assert len(wanted) == 2 and UNFUSED in wanted

    def commands(*command: str) -> list[set[str]]:
        said = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        return [
            set(line.split()) for line in said.splitlines() if re.search(r"\bnet\.c\b", line) and " -c " in f" {line} "
        ]

    (made,) = commands("make", "-n", "libnet.a")
    assert made >= {*wanted, "-O3", STANDARD}
    (plain,) = commands("make", "-n", "libnet.a", "NATIVE=")
    assert plain & wanted == {UNFUSED}
    subprocess.run(["make", "test"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(["cmake", "-S", ".", "-B", "build"], cwd=tmp_path, check=True, capture_output=True)
    built = commands("cmake", "--build", "build", "--verbose")
    assert len(built) == 2 and all(one >= {*wanted, "-O3", STANDARD} for one in built)
    subprocess.run([str(tmp_path / "build" / "selftest")], check=True, capture_output=True)
    subprocess.run(["cmake", "-S", ".", "-B", "off", "-DNET_NATIVE=OFF"], cwd=tmp_path, check=True, capture_output=True)
    assert not any(one & wanted for one in commands("cmake", "--build", "off", "--verbose"))


def test_other_targets_do_not(tmp_path: Path) -> None:
    written(tmp_path, DIGITS, "host")
    assert "native" not in (tmp_path / "Makefile").read_text() + (tmp_path / "CMakeLists.txt").read_text()


@pytest.mark.parametrize("target", ["cortex-m55", "atmega2560", "native"])
def test_packages_have_the_flags(target: str) -> None:
    """Options that gcc alone knows, and the level."""
    compiled = compile(DIGITS, target=target, name="net", optimize="speed")
    flags = [f for f in compiled.package.flags if f]
    assert any(flag.startswith("-O") for flag in flags) and (target == "native" or len(flags) > 1)
    for name, packager in PACKAGERS.items():
        try:
            files = packager.files(compiled.package)
        except MoteError as error:
            assert "package" in error.where, name
            continue
        build = "\n".join(str(text) for path, text in files.items() if not path.endswith((".c", ".h", ".cpp", ".ino")))
        for flag in flags if name not in NO_LEVEL else []:
            assert flag in build, f"{name}: {flag}"
    assert "-O3" in json.loads(str(PACKAGERS["platformio"].files(compiled.package)["library.json"]))["build"]["flags"]
