"""Runs a linked model: in QEMU, else Unicorn; AVR in simavr; on request in RTL simulation; on the host natively."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from mote.base.errors import MoteError
from mote.base.extras import version_of as package_version
from mote.base.system import subprocess
from mote.hardware.cores.board import RTL_BOARD
from mote.hardware.targets import Target
from mote.hardware.toolchain import simavr
from mote.hardware.toolchain.builder import Mode, board_of
from mote.hardware.toolchain.compilers import version_of
from mote.hardware.toolchain.devices import SimulatedDevice, answered
from mote.hardware.toolchain.harness_protocol import (
    Execution,
    failure_in,
    fault_in,
    finished,
    interpret,
    records,
    write_inputs,
)
from mote.hardware.toolchain.machine_code import read_code
from mote.hardware.toolchain.rtl import check_rtl, run_rtl
from mote.hardware.toolchain.unicorn_board import run_unicorn

ROOM = 1 << 20
"""Free disk bytes below which the disk counts as full."""
RTL = "verilator"
EMULATORS = ("qemu", "unicorn", "simavr", RTL)
UNICORN_REMEDY = "pip install unicorn"


@dataclass(frozen=True)
class Emulator:
    """An emulator to run a linked model."""

    kind: str
    command: tuple[str, ...]
    version: str


def find_emulator(target: Target, prefer: str | None = None) -> Emulator:
    """QEMU if installed, else Unicorn; `prefer` ("qemu", "unicorn", or "verilator" for RTL simulation) forces one. AVR
    only has simavr; the host runs natively."""
    if prefer not in (None, *EMULATORS):
        raise MoteError(f"unknown emulator '{prefer}'", remedy=f"use one of: {', '.join(EMULATORS)}")
    if target.is_host:
        return Emulator("native", (), "this computer")
    if prefer == RTL:
        return Emulator(RTL, (), check_rtl(target))
    if prefer == "simavr" and not target.simavr_mcu:
        raise MoteError(
            f"simavr does not run the target '{target.name}'",
            where="option emulator",
            remedy="omit it: simavr is for parts of AVR",
        )
    if target.simavr_mcu and prefer in (None, "simavr"):
        if simavr.header() is not None:
            return Emulator("simavr", (), "")
        raise MoteError(f"no emulator for target '{target.name}' was found", remedy=simavr.REMEDY)
    qemu = target.core.qemu
    if prefer != "unicorn" and target.qemu_machine and shutil.which(qemu):
        return Emulator("qemu", (qemu,), version_of((qemu, "--version")))
    if prefer != "qemu" and target.unicorn_cpu and importlib.util.find_spec("unicorn"):
        return Emulator("unicorn", (), package_version("unicorn") or "of unknown version")
    remedies = []
    if prefer != "unicorn" and target.core.qemu:
        remedies.append(f"apt install {target.core.qemu_packages}")
    if prefer != "qemu" and target.unicorn_cpu:
        remedies.append(UNICORN_REMEDY)
    why = "" if target.unicorn_cpu or prefer == "qemu" else f" (unicorn does not know the {target.cpu})"
    remedy = ", or ".join(remedies) or f"use {'simavr' if target.simavr_mcu else 'another target'}"
    raise MoteError(f"no emulator for target '{target.name}' was found{why}", remedy=remedy)


def as_run(target: Target, emulator: Emulator) -> Target:
    """The target with the board that an emulator provides for it."""
    return replace(target, qemu_machine=RTL_BOARD) if emulator.kind == RTL else target


def execute(
    elf: Path,
    target: Target,
    emulator: Emulator,
    inputs: Sequence[Sequence[bytes]],
    *,
    workdir: Path,
    mode: Mode,
    timeout_s: float = 600.0,
    devices: Mapping[str, SimulatedDevice] = MappingProxyType({}),
) -> Execution:
    """Runs all inferences in one go. `mode` must be the one that the ELF was built with. `devices` are simulated
    accelerators."""
    workdir.mkdir(parents=True, exist_ok=True)
    write_inputs(workdir, inputs)
    with answered(devices, workdir):
        if emulator.kind == "unicorn":
            said = run_unicorn(elf, target, workdir, count=mode != Mode.DUMP, timeout_s=timeout_s)
        elif emulator.kind == RTL:
            said = run_rtl(elf, target, workdir, timeout_s=timeout_s).said
        else:
            said = run_process(command(elf, target, emulator), elf, emulator, workdir, timeout_s)
        entries = check(elf, target, emulator, workdir, said)
    return interpret(entries, mode, None if target.is_host else board_of(target))


def check_devices(devices: Mapping[str, SimulatedDevice], emulator: Emulator) -> None:
    """Raises an error for an emulator whose board lacks the pipes for simulated accelerators."""
    if devices and emulator.kind in (RTL, "simavr"):
        raise MoteError(
            f"{emulator.kind} runs no model with a simulated accelerator",
            where=f"generator '{next(iter(devices))}'",
            remedy="use --emulator qemu or unicorn, or another target",
        )


def check(elf: Path, target: Target, emulator: Emulator, workdir: Path, said: str) -> list[tuple[int, int, bytes]]:
    """Parses the records of a finished run; raises an error if it crashed."""
    stream = records(workdir)
    if failure_in(stream) or not finished(stream):
        raise _crash(elf, target, emulator, stream, said)
    return stream


def command(
    elf: Path,
    target: Target,
    emulator: Emulator,
    *,
    counts: bool = True,
    shift: int | None = None,
    serial: str = "none",
) -> list[str]:
    """Command that runs an ELF file; `counts`: with a clock that advances by 2
    `shift` ns per instruction. `serial` is QEMU's backend of the board's first UART, such as "pty"."""
    if emulator.kind == "native":
        return [*emulator.command, str(elf.resolve())]
    if emulator.kind == "simavr":
        return simavr.command(elf, str(target.simavr_mcu), elf.parent)
    board = board_of(target)
    quiet = ["-display", "none", "-monitor", "none", "-serial", serial]
    semihosting = ["-semihosting-config", "enable=on,target=native"]
    machine = ["-M", str(target.qemu_machine), *(["-cpu", target.qemu_cpu] if target.qemu_cpu else [])]
    clock = ["-icount", f"shift={board.icount_shift if shift is None else shift}"] if counts else []
    return [
        *emulator.command,
        *machine,
        *clock,
        *target.core.qemu_options,
        *quiet,
        *semihosting,
        "-kernel",
        str(elf.resolve()),
    ]


def run_process(command: list[str], elf: Path, emulator: Emulator, workdir: Path, timeout_s: float) -> str:
    """Output of a process, with its exit status if nonzero, for crash messages."""
    try:
        done = subprocess.run(
            command,
            cwd=workdir,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
            env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1", "ASAN_OPTIONS": "detect_leaks=0"},
        )
    except subprocess.TimeoutExpired:
        raise timed_out(emulator.kind, elf, timeout_s) from None
    except OSError as error:
        raise MoteError(f"cannot run {command[0]}: {error.strerror}", remedy="mote doctor") from None
    said = done.stdout.decode(errors="replace").strip()
    return said or (f"exit status {done.returncode}" if done.returncode else "")


def timed_out(kind: str, elf: Path, timeout_s: float) -> MoteError:
    return MoteError(
        f"{kind}: the model did not finish within {timeout_s:g} s",
        where=str(elf),
        remedy="give fewer inferences or more time",
    )


def _crash(
    elf: Path, target: Target, emulator: Emulator, entries: list[tuple[int, int, bytes]], said: str
) -> MoteError:
    """Reason why there are no results: the harness's error, a trap of the core, or the emulator's output."""
    if shutil.disk_usage(elf.parent).free < ROOM:
        return MoteError(
            "there is no room for the results",
            where=f"temporary folder {elf.parent}",
            remedy="free some space, or name another folder with the environment variable TMPDIR",
        )
    failure, fault = failure_in(entries), fault_in(entries)
    if failure:
        return MoteError(f"{emulator.kind}: {failure}", where=str(elf))
    if fault:
        what = target.core.exceptions.get(fault.cause, f"exception {fault.cause}")
        said = f"{what} at {read_code(elf).place(fault.pc)}"
    return MoteError(
        f"{emulator.kind}: the model crashed: {said or 'it ended without results'}",
        where=str(elf),
        remedy="run it on the host with sanitizers (--target host) to find out why",
    )
