"""Finds a C compiler for a target: the system's gcc, or clang of the ziglang wheel, which needs no root."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mote.base.errors import MoteError
from mote.base.extras import megabytes
from mote.base.system import has_processes, subprocess
from mote.hardware.cores import Architecture
from mote.hardware.targets import Target
from mote.hardware.targets.flags import NATIVE, UNFUSED

ZIG_REMEDY = f"pip install ziglang ({megabytes('extras', 'zig')} MB)"


@dataclass(frozen=True)
class Compiler:
    """A C compiler; `kind` determines its options."""

    kind: str
    command: tuple[str, ...]
    version: str

    @property
    def key(self) -> str:
        """Cache key: distinguishes compilers, even builds of the same version."""
        return f"{self.version} {program(self.command)}"


def find_compiler(target: Target, prefer: str | None = None) -> Compiler:
    """The system's compiler if installed, else zig; `prefer` ("gcc", "zig"; host: "clang") forces one."""
    if not has_processes():
        raise MoteError("this Python cannot start a C compiler", remedy="use one that can start other programs")
    if target.is_host:
        return _host_compiler(prefer)
    if prefer not in (None, "gcc", "zig"):
        raise MoteError(f"unknown compiler '{prefer}'", remedy="use gcc or zig")
    core = target.core
    if prefer != "zig" and gcc_is_complete(core):
        return Compiler("gcc", (core.gcc,), version_of((core.gcc, "--version")))
    if prefer != "gcc" and target.zig_flags and (zig := zig_command()):
        return Compiler("zig", zig, version_of((*zig[:-1], "version")))
    gcc = core.gcc_install
    both = f"{gcc}, or {ZIG_REMEDY}" if target.zig_flags else gcc
    remedy = {"gcc": gcc, "zig": ZIG_REMEDY if target.zig_flags else "use --compiler gcc", None: both}[prefer]
    raise MoteError(f"no C compiler for target '{target.name}' was found", remedy=remedy)


def gcc_is_complete(core: Architecture) -> bool:
    """Whether gcc has its C library, a separate package that provides <string.h> and memcpy."""
    installed = shutil.which(core.gcc) is not None
    return installed and "/" in first_line((core.gcc, f"-print-file-name={core.library}"))


def _host_compiler(prefer: str | None) -> Compiler:
    for name in (prefer,) if prefer else ("cc", "gcc", "clang", "zig"):
        zig = zig_command() if name == "zig" else None
        if zig or (name != "zig" and shutil.which(name)):
            command = zig or (name,)
            return Compiler("host", command, version_of((*command, "--version")))
    raise MoteError(
        f"no C compiler for this computer was found{f': {prefer}' if prefer else ''}",
        remedy=f"apt install {prefer or 'gcc'}, or {ZIG_REMEDY}",
    )


def is_clang(compiler: Compiler) -> bool:
    """Whether a compiler is clang or is made of it, whatever its command is called."""
    return "__clang__" in (_predefined(compiler.command) or "")


def native_flags(compiler: Compiler) -> tuple[str, ...]:
    """Options for a host compiler to use all instructions of this CPU without changing results; they include a name of
    the instruction set, so that cached objects are reused on equal CPUs only."""
    for option in NATIVE:
        macros = _predefined((*compiler.command, option))
        if macros is not None:
            return option, UNFUSED, f"-DMOTE_MACHINE=0x{zlib.crc32(macros.encode()):08x}u"
    return ()


def program(command: Sequence[str]) -> str:
    """Cache key of the program behind a command: its output, and size and time of the file, which change with
    updates."""
    zig = importlib.util.find_spec(command[2]) if tuple(command[1:2]) == ("-m",) else None
    path = Path(zig.origin).with_name("zig") if zig and zig.origin else Path(shutil.which(command[0]) or command[0])
    try:
        about = path.stat()
    except OSError:
        return ""
    return f"{about.st_size} {about.st_mtime_ns}"


def _predefined(command: tuple[str, ...]) -> str | None:
    """Predefined macros of a compiler; None if it rejects the options."""
    return _macros(command, program(command))


@cache
def _macros(command: tuple[str, ...], program: str) -> str | None:
    ask = (*command, "-dM", "-E", "-x", "c", os.devnull)
    try:
        done = subprocess.run(ask, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def zig_command() -> tuple[str, ...] | None:
    """Command of `zig cc` in the ziglang wheel, if installed."""
    if importlib.util.find_spec("ziglang") is None:
        return None
    return (sys.executable, "-m", "ziglang", "cc")


def first_line(command: tuple[str, ...]) -> str:
    """First output line of a command, or why it does not run."""
    return _first_line(command, program(command))


@cache
def _first_line(command: tuple[str, ...], program: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run: {error}"
    return (done.stdout or done.stderr).strip().partition("\n")[0]


def version_of(command: tuple[str, ...]) -> str:
    """Version number in a tool's output; the whole line if there is none."""
    line = first_line(command)
    numbers = re.findall(r"\d+\.\d+(?:\.\d+)*", re.sub(r"\([^)]*\)", "", line))
    return numbers[0] if numbers else line


def compile_or_raise(command: Sequence[str], cwd: Path, what: str) -> str:
    """Runs a compiler, with temporary files in its working folder; returns its output. On failure raises an error with
    the shortened output."""
    place = {**os.environ, "TMPDIR": str(cwd)}
    try:
        done = subprocess.run(command, cwd=cwd, env=place, capture_output=True, text=True, timeout=600, check=False)
    except OSError as error:
        raise MoteError(f"cannot run {command[0]}: {error.strerror}", where=what, remedy="mote doctor") from None
    except subprocess.TimeoutExpired:
        raise MoteError(f"{command[0]} did not finish within 10 minutes", where=what) from None
    if done.returncode != 0:
        output = (done.stderr + done.stdout).strip().splitlines()
        shown = "\n".join(output[:40]) + (f"\n... and {len(output) - 40} lines more" if len(output) > 40 else "")
        raise MoteError(f"the C compiler failed:\n{shown}", where=what, remedy=f"the command was: {' '.join(command)}")
    return done.stdout
