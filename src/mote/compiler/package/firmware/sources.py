"""The files of a firmware beside those of its C project."""

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
"""The boot stage whose checksum is computed once it is assembled."""
_HERE = Path(__file__).parent
_HEADERS = ("firmware.h", "stdio.h")
_SOURCES = ("boot.c", "console.c")
_IMAGES = {"rp2040": "rp2040_boot.S", "rp2350": "rp2350_image.S"}


@dataclass(frozen=True)
class FirmwareSources:
    """The texts of a firmware by file name, the files to compile, and its memories."""

    files: Mapping[str, str]
    sources: tuple[str, ...]
    layout: FirmwareMap
    stage: str
    """The file of a boot stage with a checksum, if the part wants one."""
    console: str
    """Where it prints."""


def firmware_sources(
    target: Target,
    arenas: Mapping[str, int],
    *,
    uf2: bool = False,
    program: Sequence[str] = (EXAMPLE,),
    places: FirmwareMap | None = None,
) -> FirmwareSources:
    """Start-up code, console and linker script for a target. `program` are the C files with `main`: by default the
    example's. `places` are memories other than the target's own."""
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
