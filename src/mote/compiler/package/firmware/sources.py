"""The source files of a firmware in addition to its C project: start-up, console and linker script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mote.compiler.emit.c.programs.example import EXAMPLE
from mote.compiler.package.firmware.board import board
from mote.compiler.package.firmware.layout import FirmwareMap, layout
from mote.compiler.package.firmware.script import script
from mote.hardware.targets import Target

FOLDER = "firmware"
SCRIPT = f"{FOLDER}/firmware.ld"
STAGE = f"{FOLDER}/rp2040_boot.S"
"""The boot stage of the RP2040, whose checksum is computed after assembly."""
_HERE = Path(__file__).parent
_HEADERS = ("firmware.h", "stdio.h")
_SOURCES = ("boot.c", "console.c")
_IMAGES = {"rp2040": "rp2040_boot.S", "rp2350": "rp2350_image.S"}


@dataclass(frozen=True)
class FirmwareSources:
    """The source texts of a firmware by name, the files to compile, and its memory layout."""

    files: Mapping[str, str]
    sources: tuple[str, ...]
    layout: FirmwareMap
    stage: str
    """The file of a boot stage that needs a checksum, if the part has one."""
    console: str
    """Description of the console that it prints to."""


def firmware_sources(
    target: Target,
    arenas: Mapping[str, int],
    *,
    uf2: bool = False,
    program: Sequence[str] = (EXAMPLE,),
    places: FirmwareMap | None = None,
) -> FirmwareSources:
    """Start-up code, console and linker script for a target. `program`: the C files with `main`, by default the
    example; `places`: a memory layout other than the target's own."""
    places = places or layout(target, arenas, uf2=uf2)
    assert target.core.start is not None
    files = {f"{FOLDER}/{name}": (_HERE / name).read_text(encoding="utf-8") for name in (*_HEADERS, *_SOURCES)}
    files[f"{FOLDER}/start.S"] = target.core.start.read_text(encoding="utf-8")
    files[f"{FOLDER}/board.c"] = board(target.boot.setup, target.serial)
    image = _IMAGES.get(places.header)
    if image:
        files[f"{FOLDER}/{image}"] = (_HERE / image).read_text(encoding="utf-8")
    sources = [name for name in files if name.endswith((".c", ".S")) and name != STAGE]
    files[SCRIPT] = script(places)
    serial = target.serial
    return FirmwareSources(
        files,
        (*sources, *program),
        places,
        STAGE if STAGE in files else "",
        f"the UART at {serial.base:#x}{f' ({serial.pin})' if serial.pin else ''}" if serial else "semihosting",
    )
