"""Writes firmware to a part with the user's flash tools: which are installed, which support the part, and their
commands."""

from __future__ import annotations

import json
import os
import shutil
import string
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import mote.hardware.targets as targets
from mote.base.documents import parse_json
from mote.base.errors import MoteError
from mote.base.files import read_file
from mote.base.system import subprocess
from mote.base.text import did_you_mean, printable
from mote.hardware.targets import Target
from mote.hardware.targets.firmware import Flashing, read_boot, read_flashing
from mote.hardware.targets.values import is_whole

RECORD = "firmware/firmware.json"
"""File in a firmware folder that records the part."""
FORMATS = ("elf", "hex", "bin", "uf2")
BUILD = "`mote compile MODEL --target PART --output elf,bin -o DIR` builds firmware (docs/deploy/firmware.md)"
_MOST_RECORD = 1 << 16
_INFO = "INFO_UF2.TXT"
"""File on the drive of every UF2 boot loader."""
_ARDUINO, _IDF = "library.properties", "flash_args"


@dataclass(frozen=True)
class FlashedPart:
    """Facts about the part that flash tools need."""

    target: str
    origin: int | None
    """Address to write a raw binary to."""
    flashing: Flashing
    uf2_family: int | None

    def record(self) -> str:
        """Text of the file `RECORD`."""
        return json.dumps(asdict(self), indent=2) + "\n"


@dataclass(frozen=True)
class FlashJob:
    """Firmware to write: files by format, the part if known, and the user's choices."""

    path: Path
    files: Mapping[str, Path]
    part: FlashedPart | None
    board: str = ""
    """Arduino's board name (FQBN)."""
    port: str = ""
    """Serial port, probe serial number, or folder of a drive."""
    probe: str = ""
    """OpenOCD's name of the debug probe."""

    def file(self, *formats: str) -> Path | None:
        """First existing file among these formats."""
        return next((self.files[kind] for kind in formats if kind in self.files), None)


@dataclass(frozen=True)
class FlashCommand:
    """Command that writes firmware; `copies`: a file is copied to a drive, without a program."""

    arguments: tuple[str, ...]
    folder: Path | None = None
    copies: bool = False


@dataclass(frozen=True)
class FlashTool:
    """A flash tool: its programs, and its command for a job or the reason why it has none."""

    name: str
    programs: tuple[str, ...]
    """Alternative names of the program; empty if none is needed."""
    purpose: str
    remedy: str
    command: Callable[[FlashJob, str], FlashCommand | str]
    version: str = "--version"

    @property
    def program(self) -> str | None:
        """Path of its program, if installed."""
        return next((path for name in self.programs if (path := shutil.which(name))), None)


def firmware_part(target: Target, origin: int | None) -> FlashedPart:
    """Part facts of a target whose firmware starts at an address."""
    return FlashedPart(target.name, origin, target.flashing, target.boot.uf2_family)


def flash_job(path: str, target: str = "", port: str = "", probe: str = "") -> FlashJob:
    """Describes the firmware in a file or folder and its part: as recorded next to it, by `target` (or an Arduino
    board), or by a UF2 family id."""
    place = Path(path).absolute()  # no tool takes it for an option
    if not path or not place.exists():
        raise MoteError("there is no such file or folder", where=path, remedy=BUILD)
    if probe and not probe.replace("-", "").replace("_", "").isalnum():
        raise MoteError(f"'{printable(probe)}' is no name of a probe", where="option probe", remedy="cmsis-dap, stlink")
    files = _files(place)
    board, name = (target, "") if ":" in target else ("", target)
    recorded = _recorded(place if place.is_dir() else place.parent)
    part = _of_target(name) if name else recorded or _of_family(files.get("uf2"))
    if name and recorded and part and recorded.target != part.target:
        raise MoteError(
            f"was built for {recorded.target}, not for {part.target}", where=path, remedy="omit --target, or build anew"
        )
    _check_family(files.get("uf2"), part)
    return FlashJob(place, files, part, board, port, probe)


def _files(place: Path) -> dict[str, Path]:
    if place.is_file():
        kind = place.suffix.removeprefix(".").lower()
        if kind not in FORMATS:
            raise MoteError(f"is none of {', '.join(FORMATS)}", where=str(place), remedy=BUILD)
        return {kind: place}
    every = {kind: sorted(place.glob(f"*.{kind}")) for kind in FORMATS}
    for kind, several in every.items():
        if len(several) > 1:
            raise MoteError(f"has several .{kind} files", where=str(place), remedy="name the file")
    files = {kind: file for kind, several in every.items() for file in several}
    if not files and not (place / _ARDUINO).exists() and _flash_args(place) is None:
        raise MoteError("has no firmware", where=str(place), remedy=BUILD)
    return files


def _of_target(name: str) -> FlashedPart:
    target = targets.load(name)
    memory = target.code_memory
    return firmware_part(target, memory.origin if memory else None)


def _recorded(folder: Path) -> FlashedPart | None:
    """Part of a folder's record, validated like a target file since anyone may have written it."""
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        keys: Any = parse_json(read_file(path, _MOST_RECORD))
        origin = keys["origin"]
        family = {} if keys["uf2_family"] is None else {"uf2_family": keys["uf2_family"]}
        if not isinstance(keys["target"], str) or not (origin is None or is_whole(origin, 0, (1 << 32) - 1)):
            raise ValueError
        flashing = {key: value for key, value in keys["flashing"].items() if value}
        return FlashedPart(
            printable(keys["target"]), origin, read_flashing(path, flashing), read_boot(path, family).uf2_family
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise MoteError("is damaged", where=str(path), remedy="build the firmware anew, or name its --target") from None


def _family(file: Path) -> int | None:
    head = read_file(file, 32)
    return int.from_bytes(head[28:32], "little") if head.startswith(b"UF2\n") else None


def _of_family(file: Path | None) -> FlashedPart | None:
    """The unique bundled part with the family id of a UF2 file."""
    family = _family(file) if file else None
    if family is None:
        return None
    parts = [t for t in map(targets.load, targets.names()) if t.boot.uf2_family == family]
    return _of_target(parts[0].name) if len(parts) == 1 else None


def _check_family(file: Path | None, part: FlashedPart | None) -> None:
    family = _family(file) if file else None
    if family is not None and part and part.uf2_family not in (None, family):
        raise MoteError(f"is for the family {family:#x}, not for {part.target}", where=str(file))


def flash_command(job: FlashJob, tool: str = "") -> tuple[FlashTool, FlashCommand]:
    """The write command of the requested tool, or of the first suitable one."""
    if tool and tool not in FLASH_TOOLS:
        remedy = f"{did_you_mean(tool, FLASH_TOOLS)}use one of: {', '.join(FLASH_TOOLS)}"
        raise MoteError(f"'{printable(tool)}' is not known", where="option tool", remedy=remedy)
    reasons = []
    for candidate in [FLASH_TOOLS[tool]] if tool else FLASH_TOOLS.values():
        made = _command(candidate, job)
        if isinstance(made, FlashCommand):
            return candidate, made
        reasons.append(f"{candidate.name}: {made}")
    part = job.part.target if job.part else "its part, which is not known"
    others = [other.name for other in FLASH_TOOLS.values() if tool and isinstance(_command(other, job), FlashCommand)]
    install = "install one of them (`mote doctor`)" if job.part else "name the part with --target"
    raise MoteError(
        f"cannot be written to {part}:\n  " + "\n  ".join(reasons),
        where=str(job.path),
        remedy=f"use another tool: {', '.join(others)}" if others else install,
    )


def _command(tool: FlashTool, job: FlashJob) -> FlashCommand | str:
    """A tool's command; that it does not fit is reported before that it is not installed."""
    made = tool.command(job, tool.program or tool.name)
    missing = tool.programs and tool.program is None
    return f"is not installed ({tool.remedy})" if isinstance(made, FlashCommand) and missing else made


def flash(command: FlashCommand) -> None:
    """Runs a write command; its output goes to the user."""
    if command.copies:
        _copy(Path(command.arguments[1]), Path(command.arguments[2]))
        return
    try:
        done = subprocess.run(command.arguments, cwd=command.folder, check=False)
    except OSError as error:
        raise MoteError(f"cannot run {command.arguments[0]}: {error.strerror}", remedy="mote doctor") from None
    if done.returncode != 0:
        raise MoteError(
            f"{Path(command.arguments[0]).name} ended with status {done.returncode}; its own message is above",
            remedy="check the cable, the port (--port) and the boot mode of the part",
        )


def _copy(file: Path, folder: Path) -> None:
    """Copies to a drive that disappears as soon as it has all blocks."""
    try:
        with (folder / file.name).open("wb") as drive:
            drive.write(file.read_bytes())
            drive.flush()
            os.fsync(drive.fileno())
    except OSError as error:
        raise MoteError(f"cannot be written ({error.strerror})", where=str(folder)) from None


def drives() -> list[Path]:
    """Mounted drives of UF2 boot loaders."""
    return [place for place in _mounts() if (place / _INFO).is_file()]


def _mounts() -> Iterator[Path]:
    if sys.platform == "win32":
        yield from (Path(f"{letter}:/") for letter in string.ascii_uppercase)
    elif sys.platform == "darwin":
        yield from sorted(Path("/Volumes").glob("*"))
    else:
        for line in read_file("/proc/mounts").decode(errors="replace").splitlines():
            yield Path(line.split(" ")[1].replace("\\040", " "))


def _drive(job: FlashJob, program: str) -> FlashCommand | str:
    file = job.file("uf2")
    if file is None:
        return "takes .uf2 files"
    given = [Path(job.port)] if job.port else drives()
    if job.port and not (given[0] / _INFO).is_file():
        return f"{job.port} is no drive of a UF2 boot loader"
    label = job.part.flashing.drive if job.part else ""
    named = [place for place in given if place.name == label] or given
    if len(named) != 1:
        names = ", ".join(map(str, named))
        return (
            f"several are mounted: {names}; name one with --port" if named else "no drive of a boot loader is mounted"
        )
    return FlashCommand(("cp", str(file), str(named[0])), copies=True)


def _picotool(job: FlashJob, program: str) -> FlashCommand | str:
    if not (job.part and job.part.flashing.picotool):
        return "writes RP2040 and RP2350 only"
    placed = _placed_file(job, job.part, "-o", "uf2", "elf", "bin")
    if isinstance(placed, str):
        return placed
    file, offset = placed
    return FlashCommand((program, "load", "-v", "-x", str(file), *offset))


def _pyocd(job: FlashJob, program: str) -> FlashCommand | str:
    if not (job.part and job.part.flashing.pyocd):
        return _unknown(job, "pyocd")
    placed = _placed_file(job, job.part, "-a", "elf", "hex", "bin")
    if isinstance(placed, str):
        return placed
    file, offset = placed
    uid = ("-u", job.port) if job.port else ()
    return FlashCommand((program, "flash", "-W", "-t", job.part.flashing.pyocd, *uid, *offset, str(file)))


def _openocd(job: FlashJob, program: str) -> FlashCommand | str:
    if not (job.part and job.part.flashing.openocd):
        return _unknown(job, "openocd")
    placed = _placed_file(job, job.part, "", "elf", "hex", "bin")
    if isinstance(placed, str):
        return placed
    file, offset = placed
    if set(str(file)) & set("{}\\\n"):
        return "cannot name a file with braces, a backslash or a line break"
    flashing = job.part.flashing
    serial = ("-c", f"adapter serial {{{job.port}}}") if job.port and not set(job.port) & set("{}\\\n") else ()
    write = " ".join(["program", f"{{{file}}}", "verify", "reset", "exit", *offset])
    probe = f"interface/{job.probe or flashing.probe or 'cmsis-dap'}.cfg"
    return FlashCommand((program, "-f", probe, *serial, "-f", flashing.openocd, "-c", write))


def _probe_rs(job: FlashJob, program: str) -> FlashCommand | str:
    if not (job.part and job.part.flashing.probe_rs):
        return _unknown(job, "probe_rs")
    placed = _placed_file(job, job.part, "--base-address", "elf", "hex", "bin")
    if isinstance(placed, str):
        return placed
    file, offset = placed
    serial = ("--probe", job.port) if job.port else ()
    form = ("--binary-format", file.suffix.removeprefix("."))
    return FlashCommand((program, "download", "--chip", job.part.flashing.probe_rs, *serial, *form, *offset, str(file)))


def _dfu(job: FlashJob, program: str) -> FlashCommand | str:
    if not (job.part and job.part.flashing.dfu):
        return "writes parts whose boot ROM speaks DFU (STM32)"
    file = job.file("bin")
    if file is None or job.part.origin is None:
        return "takes .bin files (--output bin)"
    serial = ("-S", job.port) if job.port else ()
    return FlashCommand((program, *serial, "-a", "0", "-s", f"{job.part.origin:#x}:leave", "-D", str(file)))


def _esptool(job: FlashJob, program: str) -> FlashCommand | str:
    folder = _flash_args(job.path)
    if folder is None:
        return f"takes the folder that idf.py has built, with {_IDF} in it"
    if not (job.part and job.part.flashing.esptool):
        return "name the chip with --target: esp32c3 or another one of Espressif's"
    port = ("--port", job.port) if job.port else ()
    write = "write_flash" if program.endswith(".py") else "write-flash"
    return FlashCommand((program, "--chip", job.part.flashing.esptool, *port, write, f"@{_IDF}"), folder.resolve())


def _arduino(job: FlashJob, program: str) -> FlashCommand | str:
    sketches = sorted(job.path.glob("examples/*/*.ino")) if job.path.is_dir() else []
    if not (job.path / _ARDUINO).exists() or not sketches:
        return "takes a folder of `mote compile --package arduino`"
    if not job.board or not job.port:
        return "name the board and its port: --target arduino:avr:mega --port /dev/ttyACM0"
    where = ("--fqbn", job.board, "--port", job.port, "--library", str(job.path))
    return FlashCommand((program, "compile", "--upload", *where, str(sketches[0].parent)))


def _unknown(job: FlashJob, tool: str) -> str:
    if job.part is None:
        return "the part is not known: name it with --target"
    return f"has no name for {job.part.target}: state '{tool}' in [flash] of a target file of your own"


def _placed_file(job: FlashJob, part: FlashedPart, option: str, *kinds: str) -> tuple[Path, tuple[str, ...]] | str:
    """The file to write, with the options for the address of a raw binary, or the reason why there is none."""
    file = job.file(*kinds)
    if file is None:
        return f"takes .{', .'.join(kinds[:-1])} and .{kinds[-1]} files"
    if file.suffix != ".bin":
        return file, ()
    if part.origin is None:
        return "the address of flash is not known"
    return file, tuple(word for word in (option, f"{part.origin:#x}") if word)


def _flash_args(folder: Path) -> Path | None:
    """Folder in which ESP-IDF left the arguments for esptool."""
    places: Sequence[Path] = (folder, folder / "build")
    return next((place for place in places if (place / _IDF).is_file()), None)


FLASH_TOOLS: Mapping[str, FlashTool] = {
    tool.name: tool
    for tool in (
        FlashTool("drive", (), "copy .uf2 files to the drive of a boot loader", "press BOOTSEL or reset twice", _drive),
        FlashTool(
            "picotool",
            ("picotool",),
            "write RP2040 and RP2350 over USB",
            "apt install picotool, or github.com/raspberrypi/picotool",
            _picotool,
            "version",
        ),
        FlashTool("pyocd", ("pyocd",), "write parts with a debug probe, without root", "pip install pyocd", _pyocd),
        FlashTool("openocd", ("openocd",), "write parts with a debug probe", "apt install openocd", _openocd),
        FlashTool("probe-rs", ("probe-rs",), "write parts with a debug probe", "probe.rs", _probe_rs),
        FlashTool("dfu-util", ("dfu-util",), "write STM32 over USB", "apt install dfu-util", _dfu),
        FlashTool("esptool", ("esptool", "esptool.py"), "write ESP32", "pip install esptool", _esptool, "version"),
        FlashTool(
            "arduino-cli",
            ("arduino-cli",),
            "build and write Arduino packages",
            "arduino.github.io/arduino-cli",
            _arduino,
            "version",
        ),
    )
}
"""Flash tools by name, in the order in which they are tried."""
