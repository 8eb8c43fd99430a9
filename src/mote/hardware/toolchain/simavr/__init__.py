"""Runs AVR parts in libsimavr: a small host program that serves the harness's files, built on demand."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.hardware.toolchain import cache
from mote.hardware.toolchain.compilers import compile_or_raise, find_compiler
from mote.hardware.toolchain.elf import segments

SOURCE = Path(__file__).parent / "board.c"
HEADER = "simavr/sim_avr.h"
REMEDY = "apt install libsimavr-dev gcc"
_DATA = 0x800000
"""Address where AVR's linker places data memory; loadable code is below."""
_FLAGS = ("-O2", "-std=gnu99")
_FOLDERS = ("/usr/include", "/usr/local/include", "/opt/homebrew/include")


def header() -> Path | None:
    """Path of the library's header, if installed together with a C compiler to build the board."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        return None
    return next((path for folder in _FOLDERS if (path := Path(folder) / HEADER).is_file()), None)


def board(folder: Path) -> Path:
    """Path of the board program, built in a folder or cached."""
    compiler = find_compiler(targets.load("host"))
    output = folder / "simavr_board"
    command = [*compiler.command, *_FLAGS, str(SOURCE), "-o", str(output), "-lsimavr"]
    said = [*command[:-4], compiler.key, sys.platform]
    try:
        cache.fetch(cache.key(said, [SOURCE]), output, lambda: compile_or_raise(command, folder, SOURCE.name))
    except MoteError as error:
        raise MoteError(f"the simulated board cannot be built: {error.reason}", remedy=REMEDY) from None
    output.chmod(0o755)
    return output


def command(elf: Path, mcu: str, folder: Path, trace: Path | None = None) -> list[str]:
    """Command that runs an ELF file, given as a flash image in a folder."""
    image = bytearray()
    for segment in segments(elf):
        assert segment.address < _DATA
        image.extend(b"\xff" * (segment.address + len(segment.data) - len(image)))
        image[segment.address : segment.address + len(segment.data)] = segment.data
    flash = folder / "flash.bin"
    flash.write_bytes(image)
    return [str(board(folder)), mcu, str(flash), *([str(trace)] if trace else [])]
