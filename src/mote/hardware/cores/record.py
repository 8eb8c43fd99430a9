"""The record of an architecture: all that Mote knows about it, except for kernels and target files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mote.hardware.cores.board import Board
from mote.hardware.cores.cycles import CycleModel
from mote.hardware.cores.instructions import Decoded, Decoder, Timed


@dataclass(frozen=True)
class MachineCode:
    """How the machine code in an ELF file is decoded."""

    elf_machine: str
    """pyelftools' name of the architecture."""
    decode: Decoder
    padding: tuple[int, ...]
    """Halfwords that may fill alignment gaps after tables and jumps."""
    disassembler: tuple[str, ...]
    """Capstone's names of the architecture and of its modes; empty: `timed` needs no disassembly."""
    timed: Callable[[int, Decoded, int, Any], Timed]
    """Callback that classifies an instruction for cycle models, from its address, decoded form, word, and Capstone's
    instruction or None."""
    pushed: int = 0
    """Bytes of the return address that a call pushes on the stack."""


@dataclass(frozen=True)
class Unicorn:
    """Unicorn's names of the architecture and its registers, and system registers of the emulated board."""

    constants: str
    """The Python module that defines the names."""
    arch: str
    mode: str
    arguments: tuple[str, str]
    pc: str
    link: str
    cpus: str = ""
    """Prefix of the names of CPU models; empty: one model stands for all cores."""
    stack: str = ""
    """Stack pointer register of cores that load it and the entry point from their vector table; empty: execution starts
    at the first vector."""
    system: tuple[int, ...] = ()
    """Pages of system registers that are emulated as plain memory."""


@dataclass(frozen=True)
class Rtl:
    """RTL source of a core in a Python package that the user installs: paths are relative to its `root`."""

    title: str
    package: str
    """The package's name in pip."""
    module: str
    root: str
    top: Path
    """Mote's module `mote_board`: the core with its memory ports and a trace of retired instructions."""
    sources: tuple[str, ...]
    """Files that must be compiled first, in order."""
    folders: tuple[str, ...] = ()
    """Folders in which modules and included files are looked up."""
    defines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Architecture:
    """A CPU architecture; each has a folder in `mote/hardware/cores` with its start-up file. The defaults are those of
    the host, which needs neither a cross compiler nor an emulator."""

    name: str
    title: str
    """Display name of its cores."""
    gcc: str = ""
    gcc_packages: str = ""
    gcc_remedy: str = ""
    """How to install the compiler if no Debian package has it."""
    library: str = ""
    """File of the C library that gcc can locate if the library is installed."""
    gcc_flags: tuple[str, ...] = ()
    """gcc flags for all of its cores."""
    link_flags: tuple[str, ...] = ()
    """gcc flags for linking the measuring harness."""
    options: tuple[str, ...] = ()
    """Compiler options that only choose a core, its instructions or its ABI, which target files may use; with `=` if
    they take a value."""
    aligned_gcc: tuple[str, ...] = ()
    """The gcc option for aligned 32-bit accesses only, on cores that allow unaligned ones."""
    zig: bool = True
    """Whether zig compiles for it."""
    aligned_zig: str = ""
    """Suffix of zig's core name for aligned 32-bit accesses only."""
    start: Path | None = None
    """Start-up file: entry, traps and semihosting."""
    measure: Path | None = None
    """Assembly of the measuring harness that reads the emulated board's counter."""
    port: str = "port_device.c"
    """File of the measuring harness that adapts it to the emulated board."""
    support: tuple[str, ...] = ()
    """Files of the measuring harness with library functions that real parts have in ROM."""
    script: str = "device.ld"
    """Template of the linker script for the measuring harness."""
    qemu: str = ""
    qemu_packages: str = ""
    qemu_options: tuple[str, ...] = ()
    boards: Mapping[str, Board] = field(default_factory=dict)
    """Emulated boards by the emulator's machine name; RTL_BOARD: the one for cores in RTL."""
    rtl: Mapping[str, Rtl] = field(default_factory=dict)
    """Cores whose RTL can be simulated, by `rtl` of targets."""
    exceptions: Mapping[int, str] = field(default_factory=dict)
    """Names of the traps that the start-up file reports by number."""
    unicorn: Unicorn | None = None
    code: MachineCode | None = None
    variants: Mapping[int, MachineCode] = field(default_factory=dict)
    """Machine code of core variants, by the lowest byte of the ELF flags that identify them."""
    flash_apart: bool = False
    """Whether data loads cannot access program memory, so that constants there need special instructions."""
    features: tuple[str, ...] = ()
    """Optional features of its cores, as targets list them and kernels require them."""
    kernels: Callable[[str], tuple[str, ...]] = lambda cpu: ()
    """For a `cpu`: folders of `mote/compiler/kernels` whose assembly every such core can execute."""
    cycles: Mapping[str, CycleModel] = field(default_factory=dict)
    """Cycle models by `cycle_model` of targets."""
    jump: str = ""
    """Mnemonic of an unconditional jump, for programs that calibrate memory timing; empty: no such programs."""

    @property
    def gcc_install(self) -> str:
        """The command, or other way, to install the compiler."""
        return self.gcc_remedy or f"apt install {self.gcc_packages}"
