"""The fake model, built and run for any core with the compilers and emulators that are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.hardware import toolchain
from mote.hardware.targets import Target
from mote.hardware.toolchain import Compiler, Emulator, Execution, Mode
from tests.hardware.toolchain import fake_model as fake

CORES = [
    *("cortex-m0", "cortex-m0plus", "cortex-m23", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"),
    *("cortex-m85", "rv32imc"),
]
CASES = [(core, "gcc") for core in CORES] + [(core, "zig") for core in ("cortex-m4", "cortex-m0plus", "rv32imc")]
QUICK = [(core, kind) for core, kind in CASES if kind == "gcc" or core == "cortex-m4"]
"""Zig compiles a library of its own for each other core, which takes long."""
BOTH = [("cortex-m4", "qemu"), ("cortex-m4", "unicorn"), ("rv32imc", "qemu"), ("rv32imc", "unicorn")]


def compiler_for(target: Target, kind: str | None = None) -> Compiler:
    try:
        return toolchain.find_compiler(target, kind)
    except MoteError as error:
        pytest.skip(str(error))


def emulator_for(target: Target, kind: str | None = None) -> Emulator:
    try:
        return toolchain.find_emulator(target, kind)
    except MoteError as error:
        pytest.skip(str(error))


def emulators(target: Target) -> list[Emulator]:
    """All that are installed: the same file must give the same numbers on each."""
    found = []
    for kind in ("qemu", "unicorn"):
        try:
            found.append(toolchain.find_emulator(target, kind))
        except MoteError:
            continue
    if not found:
        pytest.skip(f"no emulator for {target.name}")
    return found


def build(folder: Path, target: Target, compiler: Compiler, mode: Mode, **changes: str) -> Path:
    project, sources, glue = fake.write(folder, **changes)
    return toolchain.build(
        project,
        sources,
        glue,
        target,
        compiler,
        mode=mode,
        optimize="balanced",
        workdir=folder / mode,
        extra_flags=["-Werror"],
    )


def run(folder: Path, target: Target, emulator: Emulator, elf: Path, mode: Mode) -> Execution:
    return toolchain.execute(elf, target, emulator, fake.INPUTS, workdir=folder / mode, mode=mode, timeout_s=60)


def with_run(body: str) -> str:
    return fake.MODEL.replace("int fake_run(void)\n{", "int fake_run(void)\n{\n" + body)
