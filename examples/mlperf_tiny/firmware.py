"""Firmware for MLPerf Tiny: a model with the serial protocol, built for a board, and started where it can be."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tasks import THRESHOLD, Task

import mote
from mote.base.errors import MoteError
from mote.base.files import fill
from mote.compiler.package.adapters.sources import source_files
from mote.deploy.firmware.artifacts import artifacts
from mote.deploy.firmware.usage import Usage
from mote.hardware import targets, toolchain
from mote.hardware.targets import Target
from mote.hardware.targets.firmware import SerialPort, Touch
from mote.hardware.toolchain.builder import COMMON, target_flags
from mote.hardware.toolchain.compilers import compile_or_raise
from mote.hardware.toolchain.emulators import command

HERE = Path(__file__).parent
SHIFT = 3
"""The emulated core takes 2^3 ns for an instruction: 125 million in a second."""
_CMSDK = SerialPort("cmsdk", 0x40004000, setup=(Touch(0x40004010, "=", 16), Touch(0x40004008, "=", 0xB)))
EMULATED = {
    **{f"mps2-{image}": ("mps2", _CMSDK) for image in ("an385", "an386", "an500")},
    "virt": ("virt", SerialPort("ns16550", 0x10000000)),
}
"""QEMU's machines: the file of their board, and their UART."""


@dataclass(frozen=True)
class Built:
    """Firmware, or a program of this computer's."""

    elf: Path
    target: Target
    usage: Usage | None
    """The memories that firmware takes."""


def build(
    model: str,
    task: Task,
    target: str,
    folder: Path,
    *,
    energy: bool = False,
    board: str = "",
    shrink: bool = True,
    recording: str = "",
    threshold: int = THRESHOLD,
) -> Built:
    """Compiles a model and links it with the protocol. `board` is a C file with the board's functions: by default the
    one of an emulated machine, of this computer, or of a target in `boards`. A `recording`, which is a WAV file, stands
    in for the microphone of a task that listens, which detects scores above the `threshold`."""
    place, file = _board(target, board)
    sound = {"preprocess": task.preprocess, "stream": 1} if task.preprocess else {}
    compiled = mote.compile(model, target=place, name="network", shrink=shrink, **sound)
    task.check(compiled.source, model)
    folder.mkdir(parents=True, exist_ok=True)
    program = {
        f"mlperf/{path.name}": path.read_text(encoding="utf-8") for path in sorted((HERE / "firmware").iterdir())
    }
    config = task.config(energy=energy, recording=bool(recording), threshold=threshold)
    program |= {"mlperf/board.c": file.read_text(encoding="utf-8"), "mlperf/config.h": config}
    if task.preprocess:
        sources = source_files([recording] if recording else ["dma"])
        program |= {f"mlperf/{name}": text for name, text in sources.items()}
    if place.is_host:
        return Built(_program(compiled.project.files | program, compiled.project.sources, place, folder), place, None)
    made = artifacts(compiled.project, [compiled.plan], compiled.settings, ["elf"], program)
    fill(folder, {"firmware.elf": made.files["network.elf"], **compiled.project.files, **program, **_texts(made.files)})
    return Built(folder / "firmware.elf", place, made.usage)


def _texts(files: dict[str, str | bytes]) -> dict[str, str]:
    return {name: text for name, text in files.items() if isinstance(text, str)}


def _board(name: str, file: str) -> tuple[Target, Path]:
    """The target, and the C file of its board."""
    own = HERE / "boards" / f"{name}.toml"
    target = targets.load(str(own) if own.is_file() else name)
    known = own.stem if own.is_file() else "host" if target.is_host else ""
    if not known and not target.memories and target.qemu_machine in EMULATED:
        known, serial = EMULATED[target.qemu_machine]
        target = replace(target, serial=serial)
    path = Path(file) if file else HERE / "boards" / f"{known}.c"
    if not path.is_file():
        raise MoteError(
            "no such file" if file else "its clock and its serial port are not known to this example",
            where=file or f"target {name}",
            remedy="give a C file with the functions of a board (firmware/mlperf.h) as --board",
        )
    return target, path


def _program(files: dict[str, str], sources: tuple[str, ...], target: Target, folder: Path) -> Path:
    """The same for this computer."""
    fill(folder, files)
    compiler = toolchain.find_compiler(target)
    program = folder / "firmware.elf"
    names = [*sources, *(name for name in files if name.startswith("mlperf/") and name.endswith(".c"))]
    flags = [*target_flags(target, compiler), *COMMON, "-O2", f"-I{folder}"]
    paths = [str(folder / name) for name in names]
    compile_or_raise([*compiler.command, *flags, *paths, "-lm", "-o", str(program)], folder, "the program")
    return program


@contextmanager
def started(built: Built) -> Iterator[str]:
    """Runs firmware in QEMU or on this computer; gives the name of the pseudo-terminal that is its serial line."""
    with _on_host(built.elf) if built.target.is_host else _emulated(built) as port:
        yield port


@contextmanager
def _emulated(built: Built) -> Iterator[str]:
    emulator = toolchain.find_emulator(built.target, "qemu")
    words = command(built.elf, built.target, emulator, shift=SHIFT, serial="pty")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout
            said = process.stdout.readline()
            name = re.search(r"/dev/\S+", said)
            if name is None:
                raise MoteError(f"QEMU does not run the firmware: {said.strip()}", where=str(built.elf))
            yield name[0]
        finally:
            process.kill()


@contextmanager
def _on_host(program: Path) -> Iterator[str]:
    ours, theirs = pty.openpty()
    tty.setraw(theirs, termios.TCSANOW)
    with subprocess.Popen([program], stdin=ours, stdout=ours) as process:
        try:
            yield os.ttyname(theirs)
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)
