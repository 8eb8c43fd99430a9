"""Firmware of the examples: built with the compiler that is installed, and run on an emulated core."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from mote.base.errors import MoteError
from mote.compiler.emit.c.project import Project
from mote.compiler.plan.plan import Plan
from mote.compiler.settings import Settings
from mote.deploy.firmware.artifacts import artifacts
from mote.deploy.firmware.usage import Usage
from mote.hardware import toolchain
from mote.hardware.toolchain.emulators import command

SECONDS = 300
"""How long the emulator may take."""


@dataclass(frozen=True)
class Ran:
    """What firmware printed, and the memories that it takes."""

    lines: list[str]
    usage: Usage | None


def run_program(project: Project, plans: Sequence[Plan], settings: Settings, program: Mapping[str, str]) -> Ran:
    """Builds a model and a program around it, by file name, and runs the program to its end."""
    made = artifacts(project, plans, settings, ["elf"], program)
    with TemporaryDirectory(prefix="mote-") as folder:
        elf = Path(folder, "firmware.elf")
        content = made.files[f"{project.options.name}.elf"]
        elf.write_bytes(content if isinstance(content, bytes) else content.encode())
        emulator = toolchain.find_emulator(settings.target, "qemu")
        words = command(elf, settings.target, emulator, counts=False)
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    if done.returncode:
        raise MoteError(f"the firmware ended with status {done.returncode}: {(done.stdout + done.stderr)[-500:]}")
    return Ran((done.stdout + done.stderr).splitlines(), made.usage)
