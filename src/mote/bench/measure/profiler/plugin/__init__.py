"""Builds a QEMU plug-in with the host's C compiler that traces blocks and loads from flash."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.hardware.toolchain import Emulator, cache, find_compiler
from mote.hardware.toolchain.compilers import compile_or_raise

SOURCE = Path(__file__).parent / "follow.c"
_FIRST_OF_INTERFACE_2 = 9
"""First QEMU version that only loads plug-ins for version 2 of the interface; this plug-in uses what both versions
share."""


def plugin(emulator: Emulator, folder: Path) -> Path | None:
    """Path of the plug-in for a QEMU, built in a folder; None if there is no C compiler for it."""
    output = folder / "follow.so"
    try:
        compiler = find_compiler(targets.load("host"))
        flags = _flags(emulator.version)
        said = [*compiler.command, compiler.version, *flags]
        command = [*compiler.command, *flags, str(SOURCE), "-o", str(output)]
        cache.fetch(cache.key(said, [SOURCE]), output, lambda: compile_or_raise(command, folder, SOURCE.name))
    except MoteError:
        return None
    return output


def _flags(version: str) -> list[str]:
    major = re.match(r"\d+", version)
    interface = 2 if major and int(major[0]) >= _FIRST_OF_INTERFACE_2 else 1
    undefined = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    shared = ["-shared", "-fPIC", "-fvisibility=hidden", "-O2", "-std=gnu99"]
    return [*shared, *undefined, f"-DMOTE_PLUGIN_VERSION={interface}"]
