"""The record of an architecture: all that Mote knows of it outside of its kernels and of the files of targets."""

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
    """How the instructions in an ELF file are read."""

    elf_machine: str
    """pyelftools' name of the architecture."""
    decode: Decoder
    padding: tuple[int, ...]
    """Half words that fill the space between a table or a jump and what comes next."""
    disassembler: tuple[str, ...]
    """Capstone's names of the architecture and of the modes; none where `timed` needs no disassembly."""
    timed: Callable[[int, Decoded, int, Any], Timed]
    """A callback for the cycle models: address, decoded instruction, word, and Capstone's instruction or None."""
    pushed: int = 0
    """Bytes of the return address that a call puts on the stack."""


@dataclass(frozen=True)
class Unicorn:
    """Unicorn's names of an architecture, of its registers, and what the emulated board has beside its memories."""

    constants: str
    """The module that has the names."""
    arch: str
    mode: str
    arguments: tuple[str, str]
    pc: str
    link: str
    cpus: str = ""
    """The prefix of the names of cores; empty where one core represents all."""
    stack: str = ""
    """The stack pointer, where a core takes it and the entry from the first two words of its vectors; empty where it
    begins at the first of them."""
    system: tuple[int, ...] = ()
    """Pages of registers of the system that are plain memory here."""


@dataclass(frozen=True)
class Rtl:
    """The register-transfer level of a core, in a Python package of the user's: paths are relative to its `root`."""

    title: str
    package: str
    """The name that pip knows."""
    module: str
    root: str
    top: Path
    """The module `mote_board`, ours: the core with its ports to memory, and what retires."""
    sources: tuple[str, ...]
    """Files that must be read first, in order."""
    folders: tuple[str, ...] = ()
    """Where modules and included files are looked up."""
    defines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Architecture:
    """A new architecture is one of these in a folder of `mote/cores`, beside its start-up file. The defaults are those
    of this computer, which needs neither a cross compiler nor an emulator."""

    name: str
    title: str
    """The name of its cores for people."""
    gcc: str = ""
    gcc_packages: str = ""
    gcc_remedy: str = ""
    """How to get the compiler where no package of Debian has it."""
    library: str = ""
    """The file that gcc finds where its C library is installed."""
    gcc_flags: tuple[str, ...] = ()
    """For every core of it."""
    link_flags: tuple[str, ...] = ()
    """For linking the measuring harness with gcc."""
    options: tuple[str, ...] = ()
    """Options of compilers that only choose a core, its instructions and its calls: with `=` where they take a word."""
    aligned_gcc: tuple[str, ...] = ()
    """The gcc option for aligned 32-bit accesses only, on cores that allow unaligned ones."""
    zig: bool = True
    """Whether zig compiles for it."""
    aligned_zig: str = ""
    """The suffix of zig's core name for aligned 32-bit accesses only."""
    start: Path | None = None
    """The start-up file: entry, traps and semihosting."""
    measure: Path | None = None
    """Reading the counter of the emulated board, for the measuring harness."""
    port: str = "port_device.c"
    """The file of the measuring harness with what it needs of the emulated board."""
    support: tuple[str, ...] = ()
    """Files of the measuring harness with library functions that parts have in their ROM."""
    script: str = "device.ld"
    """The template of the linker script for the measuring harness."""
    qemu: str = ""
    qemu_packages: str = ""
    qemu_options: tuple[str, ...] = ()
    boards: Mapping[str, Board] = field(default_factory=dict)
    """The emulated boards, by the emulator's name of the machine; RTL_BOARD is that of cores in RTL."""
    rtl: Mapping[str, Rtl] = field(default_factory=dict)
    """Cores whose RTL can be simulated, by `rtl` of targets."""
    exceptions: Mapping[int, str] = field(default_factory=dict)
    """The names of the traps that the start-up file reports by number."""
    unicorn: Unicorn | None = None
    code: MachineCode | None = None
    variants: Mapping[int, MachineCode] = field(default_factory=dict)
    """Machine code of cores that the flags of ELF files tell apart, by the lowest byte of the flags."""
    flash_apart: bool = False
    """Loads of data do not reach program memory: constants there are read by instructions of their own."""
    features: tuple[str, ...] = ()
    """The optional features of its cores, as targets name them and kernels require them."""
    kernels: Callable[[str], tuple[str, ...]] = lambda cpu: ()
    """The folders of `mote/kernels` with assembly that every core with this `cpu` has the instructions for."""
    cycles: Mapping[str, CycleModel] = field(default_factory=dict)
    """The cycle models, by `cycle_model` of targets."""
    jump: str = ""
    """The mnemonic of an unconditional jump, for programs that calibrate the timing of memories; empty: none are."""

    @property
    def gcc_install(self) -> str:
        """How to get the compiler."""
        return self.gcc_remedy or f"apt install {self.gcc_packages}"
