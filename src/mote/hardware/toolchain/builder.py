"""Compiles a generated model with the test harness to an ELF file for a board, or a program for the host."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from string import Template

from mote.base.errors import BoardError, MoteError
from mote.hardware.cores.board import Board
from mote.hardware.targets import Memory, Target
from mote.hardware.targets.flags import OPTIMIZATION, SETS, STANDARD, optimization
from mote.hardware.toolchain import cache
from mote.hardware.toolchain.compilers import Compiler, compile_or_raise, is_clang, native_flags
from mote.hardware.toolchain.elf import memory_section

HARNESS = Path(__file__).parent / "harness"
MAIN, DEVICE_PIPES = HARNESS / "main.c", HARNESS / "device_pipes.c"

COMMON = (STANDARD, "-Wall", "-Wextra")
_DEVICE = ("-ffunction-sections", "-fdata-sections", "-fno-common", "-fno-asynchronous-unwind-tables")
# zig cc has its own ideas of safety, which cost instructions that no other compiler would spend.
_ZIG = ("-fno-sanitize=all", "-fno-stack-protector", "-fomit-frame-pointer", "-fno-unwind-tables")
# Sanitized code is for finding faults, and takes longer to build than to run: accesses are checked by calls, and by
# one sanitizer where both would notice.
_SANITIZE_LEVEL = "-O0"
_SANITIZE_ALL = (
    *("-g1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "-fno-sanitize=null,object-size",
)
_CALLS = "asan-instrumentation-with-call-threshold=0"
SANITIZE = (*_SANITIZE_ALL, "--param", _CALLS)
"""Flags of gcc for sanitizers."""
# Symbols that the libraries of sanitizers take from others are left to the loader: looking for them takes longer than
# all other linking.
_SANITIZE_LINK = ("-Wl,--allow-shlib-undefined",) if sys.platform == "linux" else ()
# The harness must pull in no library: what is in the ELF of a library is the model's.
_OVERFLOWED = re.compile(r"region [`'](?P<region>\w+)':? overflowed by (?P<over>\d+) bytes")
"""Pattern of GNU's and LLVM's linker messages about memory that is too small."""
_HARNESS_FLAGS = ("-Os", "-ffreestanding", "-fno-builtin")


def _sanitize_flags(compiler: Compiler) -> tuple[str, ...]:
    """Flags for sanitizers: clang, which `cc` and zig may be, has another option for calls than gcc, and warns of it
    where it links."""
    return (*_SANITIZE_ALL, "-mllvm", f"-{_CALLS}", "-Qunused-arguments") if is_clang(compiler) else SANITIZE


class Mode(StrEnum):
    """Action of the hook between steps: none, record instruction counts, dump every step's output, or a labelled marker
    nop."""

    MEASURE = "measure"
    PROFILE = "profile"
    DUMP = "dump"
    MARK = "mark"


def build(
    project: Path,
    sources: Sequence[Path],
    glue: Path,
    target: Target,
    compiler: Compiler,
    *,
    mode: Mode,
    optimize: str,
    workdir: Path,
    sanitize: bool = False,
    extra_flags: Sequence[str] = (),
    secret: Path | None = None,
    drivers: Path | None = None,
) -> Path:
    """Compiles and links to `workdir/model.elf`. `extra_flags` apply to the model's files. A `secret` file is compiled
    with the harness and never cached. `drivers` is a folder of simulated drivers, whose headers come first."""
    if optimize not in OPTIMIZATION and optimize not in SETS:
        raise MoteError(f"unknown optimization '{optimize}'", remedy=f"use one of: {', '.join(OPTIMIZATION)}")
    if sanitize and not target.is_host:
        raise MoteError("sanitizers work on the host only", remedy="use --target host")
    workdir = workdir.resolve()
    workdir.mkdir(parents=True, exist_ok=True)
    checks = _sanitize_flags(compiler) if sanitize else ()
    base = [*compiler.command, *target_flags(target, compiler), *COMMON, *checks]
    how = optimization(optimize, target.cpu)
    level = _SANITIZE_LEVEL if sanitize else how.level
    include = [*([f"-I{drivers.resolve()}"] if drivers else []), f"-I{project.resolve()}", f"-I{HARNESS}"]
    trace = [] if mode == Mode.MEASURE else ["-include", str(HARNESS / "trace.h")]
    if mode in (Mode.PROFILE, Mode.MARK):
        trace.append(f"-DMOTE_{mode.upper()}")

    tuning = how.gcc if compiler.kind == "gcc" else ()
    flags = [*base, level, *tuning, *include, *trace, *extra_flags]
    compilation = Compilation(compiler.key, project.resolve(), workdir)
    objects = [compilation.object(flags, source, f"model_{i}_{source.stem}.o") for i, source in enumerate(sources)]
    objects.append(compilation.object([*base, level, *include], glue, "glue.harness.o"))
    if secret is not None:
        objects.append(compilation.compiled([*base, level, *include], secret, "secret.harness.o"))
    simulated = [] if drivers is None else sorted(drivers.glob("*.c"))
    plain = [*base, level, *include, *extra_flags]
    objects += [compilation.object(plain, source, f"driver_{i}.harness.o") for i, source in enumerate(simulated)]
    harness = [*base, f"-I{HARNESS}", *_harness_flags(target)]
    checking = ["-DHARNESS_CHECK"] if mode == Mode.DUMP else []
    objects.append(compilation.object([*harness, *checking], MAIN, "main.harness.o"))
    own = [*_harness_sources(target), *([DEVICE_PIPES] if drivers else [])]
    objects += [compilation.object(harness, source, f"{source.stem}.harness.o") for source in own]

    elf = workdir / "model.elf"
    link = [*base, level, *(_SANITIZE_LINK if sanitize else ()), *_link_flags(target, compiler, workdir), *objects]
    try:
        compile_or_raise([*link, "-o", str(elf), *libraries(compiler)], workdir, f"linking {elf.name}")
    except MoteError as error:
        raise _overflow(str(error), target) or error from None
    return elf


def has_board(target: Target) -> bool:
    """Whether there is an emulated board to link a target's code for."""
    return (target.qemu_machine or target.simavr_mcu or "") in target.core.boards


def board_of(target: Target) -> Board:
    """Emulated board that a target's code is linked for, with either emulator."""
    boards = target.core.boards
    board = boards.get(target.qemu_machine or target.simavr_mcu or "")
    if board is None:
        key = "simavr_mcu" if target.core.flash_apart else "qemu_machine"
        raise MoteError(
            f"target '{target.name}' cannot be emulated: no board for {key} = {getattr(target, key)!r}",
            remedy=f"extend a bundled core, or set {key} to one of: {', '.join(boards)}"
            if boards
            else f"nothing that is known to Mote emulates {target.core.title}",
        )
    return board


def overflowed(said: str) -> dict[str, int]:
    """Overflowed bytes by memory, from a linker's message."""
    return {match["region"]: int(match["over"]) for match in _OVERFLOWED.finditer(said)}


def _overflow(said: str, target: Target) -> BoardError | None:
    """Error for a linker's message about memory that is too small, with sizes; None for other messages."""
    overflows = overflowed(said)
    if not overflows or target.is_host:
        return None
    board = board_of(target)
    sizes = {"ROM": ("flash", board.rom[1]), "RAM": ("RAM", board.ram[1])}
    sizes |= {"SLOW_RAM": ("slow RAM", board.slow_ram[1])} if board.slow_ram else {}
    parts = [(*sizes[region], over) for region, over in overflows.items() if region in sizes]
    reason = " and ".join(
        f"{size + over:,} bytes of {what}, {over:,} more than its {size:,}" for what, size, over in parts
    )
    return BoardError(
        f"does not fit the emulated board: with code, inputs and outputs it needs {reason}",
        where=f"target {target.name}",
        remedy="use a smaller model, --ram min or --input rows; `mote compile` and `mote plan` need no board",
    )


@dataclass(frozen=True)
class Compilation:
    """Compiles the files of a build to objects, reusing cached ones."""

    compiler: str
    """Cache key of the compiler."""
    project: Path
    workdir: Path

    def object(self, flags: Sequence[str], source: Path, name: str) -> str:
        """Path of a source file's object, from the cache or newly compiled."""
        output = self.workdir / name
        said = [self.compiler, *(flag.replace(str(self.project), "project") for flag in flags)]
        folders = [Path(flag.removeprefix("-I")) for flag in flags if flag.startswith("-I")]
        forced = [Path(flag) for before, flag in pairwise(flags) if before == "-include"]
        key = cache.key(said, cache.included([source, *forced], folders))
        cache.fetch(key, output, lambda: self.compiled(flags, source, name))
        return str(output)

    def compiled(self, flags: Sequence[str], source: Path, name: str) -> str:
        """Path of a source file's object, compiled now."""
        output = self.workdir / name
        compile_or_raise([*flags, "-c", str(source.resolve()), "-o", str(output)], self.workdir, source.name)
        return str(output)


def target_flags(target: Target, compiler: Compiler) -> tuple[str, ...]:
    """Compiler options for a target's core."""
    if compiler.kind == "gcc":
        return (*target.gcc_flags, *target.core.gcc_flags, *_DEVICE)
    if compiler.kind == "zig":
        headers = ("-isystem", str(HARNESS / "freestanding" / "include"))
        return (*target.zig_flags, *headers, *_DEVICE, *_ZIG)
    return native_flags(compiler) if target.is_native else ()


def _harness_sources(target: Target) -> list[Path]:
    core = target.core
    device = [
        HARNESS / core.port,
        *(HARNESS / file for file in core.support),
        *(file for file in (core.start, core.measure) if file),
    ]
    return [HARNESS / "port_host.c"] if core.start is None else device


def _harness_flags(target: Target) -> tuple[str, ...]:
    if target.is_host:
        return ("-O1",)
    board = board_of(target)
    return (
        *_HARNESS_FLAGS,
        "-DMOTE_HARNESS",
        f"-DMOTE_COUNTER={board.counter:#x}",
        f"-DMOTE_COUNTER_HIGH={board.counter_high:#x}",
        f"-DMOTE_TIMER_{board.timer.upper()}",
        *([f"-DMOTE_MAILBOX={board.mailbox:#x}"] if board.mailbox else []),
    )


def _link_flags(target: Target, compiler: Compiler, workdir: Path) -> tuple[str, ...]:
    if target.is_host:
        return ()
    script = workdir / "device.ld"
    script.write_text(_linker_script(board_of(target), target), encoding="utf-8")
    # zig has no start files for a board, and with -Os keeps the names of functions only where it is asked to debug.
    flags = (*target.core.link_flags, *target.gcc_link_flags)
    own = ("-nostartfiles", *flags) if compiler.kind == "gcc" else ("-g",)
    return (*own, "-static", f"-T{script}", "-Wl,--gc-sections")


def libraries(compiler: Compiler) -> tuple[str, ...]:
    """Linker options for the math library; zig links its own automatically."""
    return () if compiler.kind == "zig" else ("-lm",)


def _linker_script(board: Board, target: Target) -> str:
    template = Template((HARNESS / target.core.script).read_text(encoding="utf-8"))
    (rom, rom_size), (ram, ram_size), slow = board.rom, board.ram, board.slow_ram
    late = [m for m in target.choice("ram") if slow is not None and m.data_reads.waits]
    fast = [m for m in target.choice("ram") if m not in late]
    return template.substitute(
        vectors=hex(board.vectors),
        rom_origin=hex(rom),
        rom_size=hex(rom_size),
        ram_origin=hex(ram),
        ram_size=hex(ram_size),
        flashes=_memories(target.choice("flash"), ":", "ROM"),
        slow_ram="" if slow is None else f"    SLOW_RAM (rw) : ORIGIN = {slow[0]:#x}, LENGTH = {slow[1]:#x}\n",
        rams=_memories(fast, "(NOLOAD) : ALIGN(16)", "RAM") + _memories(late, "(NOLOAD) : ALIGN(16)", "SLOW_RAM"),
    )


def _memories(memories: Sequence[Memory], kind: str, region: str) -> str:
    """Linker script sections for each memory with model data, if the board has room for it."""
    return "".join(f"    {memory_section(m)} {kind} {{ *({m.section}) }} > {region}\n" for m in memories)
