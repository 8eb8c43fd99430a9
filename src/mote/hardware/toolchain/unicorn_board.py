"""Emulates boards with Unicorn in this process: semihosting, counter, and basic block counts.

Unicorn has no clock, so the counter counts executed instructions: a hook at each basic block adds its cached number of
instructions. The harness reads the counter at one fixed place of a function that is always called, so the rest of that
block cancels out."""

from __future__ import annotations

import struct
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from mote.base.errors import MoteError
from mote.base.stopping import undisturbed
from mote.hardware.cores.board import WORD, Board
from mote.hardware.targets import Target
from mote.hardware.toolchain.builder import board_of
from mote.hardware.toolchain.elf import segments
from mote.hardware.toolchain.machine_code import read_code

_PAGE = 0x1000
_NOWHERE = 0xFFFFFFFE
_SYS_OPEN, _SYS_WRITE, _SYS_READ, _SYS_EXIT = 0x01, 0x05, 0x06, 0x20


Told = Callable[[int, int], None]


def run_unicorn(
    elf: Path,
    target: Target,
    workdir: Path,
    *,
    count: bool,
    timeout_s: float,
    entered: Told | None = None,
    loaded: Told | None = None,
) -> str:
    """Runs a program to its end; returns an error text or nothing. Results are in files, as with QEMU. Callbacks:
    `entered` gets address and size of each executed basic block, `loaded` those of each read from read-only memory."""
    machine = _Machine(elf, target, workdir, entered, loaded)
    try:
        return machine.run(count, timeout_s)
    except import_module("unicorn").UcError as error:
        return f"{error} at {machine.code.place(machine.pc)}"
    finally:
        machine.close()


class _Machine:
    """An emulated board, with the state for Unicorn's callbacks."""

    def __init__(
        self, elf: Path, target: Target, workdir: Path, entered: Told | None = None, loaded: Told | None = None
    ) -> None:
        # Untyped, and an optional dependency.
        unicorn: Any = import_module("unicorn")
        self.code, self.workdir = read_code(elf), workdir
        self.board: Board = board_of(target)
        self.files: list[BinaryIO] = []
        self.executed = self.started = 0
        self.blocks: dict[tuple[int, int], int] = {}
        self.said = ""
        self.exited = False
        self.entered, self.loaded = entered, loaded
        names = target.core.unicorn
        cpu = f"{names.cpus}{target.unicorn_cpu}" if names and names.cpus else ""
        self.constants: Any = import_module(names.constants) if names else None
        if names is None or not hasattr(self.constants, cpu or names.pc):
            raise MoteError(
                f"Unicorn knows no '{target.unicorn_cpu}'",
                where=f"target {target.name}",
                remedy="extend a bundled core, or set unicorn_cpu to one of Unicorn's names without UC_CPU_ARM_",
            )
        self.names = names
        cpus = (self._constant(cpu),) if cpu else ()
        self.uc: Any = unicorn.Uc(getattr(unicorn, names.arch), getattr(unicorn, names.mode), *cpus)
        self.registers = tuple(map(self._constant, names.arguments))
        self.pc_register, self.link_register = self._constant(names.pc), self._constant(names.link)
        self._map()

    def _constant(self, name: str) -> int:
        return int(getattr(self.constants, name))

    @property
    def pc(self) -> int:
        return int(self.uc.reg_read(self.pc_register))

    def _map(self) -> None:
        """Maps the board's memories and counter, and system registers as plain memory."""
        (rom, rom_size), (ram, ram_size) = self.board.rom, self.board.ram
        pages = {self.board.vectors // _PAGE * _PAGE: _PAGE, ram: ram_size}
        pages |= dict([self.board.slow_ram] if self.board.slow_ram else [])
        rom_start = rom // _PAGE * _PAGE
        pages[rom_start] = rom + rom_size - rom_start
        pages |= dict.fromkeys(self.names.system, _PAGE)
        for start, size in pages.items():
            self.uc.mem_map(start, size)
        timer = self.board.counter // _PAGE * _PAGE
        self.uc.mmio_map(timer, _PAGE, self._read_timer, None, self._write_timer, None)
        for segment in segments(self.code.elf):
            self.uc.mem_write(segment.address, segment.data)

    def run(self, count: bool, timeout_s: float) -> str:
        unicorn: Any = import_module("unicorn")
        call = self.code.functions["mote_semihost"]
        self.uc.hook_add(unicorn.UC_HOOK_CODE, self._semihost_called, begin=call, end=call)
        self.uc.hook_add(unicorn.UC_HOOK_INTR, self._trap)
        if count:
            self.uc.hook_add(unicorn.UC_HOOK_BLOCK, self._block)
        if self.entered:
            entered = self.entered
            self.uc.hook_add(unicorn.UC_HOOK_BLOCK, lambda uc, address, size, _: entered(address, size))
        if self.loaded:
            loaded, (rom, rom_size) = self.loaded, self.board.rom
            self.uc.hook_add(
                unicorn.UC_HOOK_MEM_READ,
                lambda uc, access, address, size, value, _: loaded(address, size),
                begin=rom,
                end=rom + rom_size - 1,
            )
        start = self.board.vectors
        if self.names.stack:
            stack, start = struct.unpack("<2I", self.uc.mem_read(self.board.vectors, 8))
            self.uc.reg_write(self._constant(self.names.stack), stack)
        with undisturbed(self.uc.emu_stop):  # what is raised while Unicorn calls back would be lost
            self.uc.emu_start(start, _NOWHERE, timeout=int(timeout_s * 1e6))
        if not self.exited and not self.said:
            raise MoteError(
                f"unicorn: the model did not finish within {timeout_s:g} s",
                where=str(self.code.elf),
                remedy="give fewer inferences or more time; QEMU is ten times as fast",
            )
        return self.said

    def close(self) -> None:
        for file in self.files:
            file.close()

    def _block(self, uc: Any, address: int, size: int, _: Any) -> None:
        known = self.blocks.get((address, size))
        if known is None:
            known = self.blocks[address, size] = self._instructions(address, address + size)
        self.executed += known

    def _instructions(self, at: int, end: int) -> int:
        count = 0
        while at < end:
            at += self.code.instruction(at).size
            count += 1
        return count

    def _ticks(self) -> int:
        return int((self.executed - self.started) * self.board.ticks_per_instruction)

    def _read_timer(self, uc: Any, offset: int, size: int, _: Any) -> int:
        """The two words that the harness reads: the counter, and its wrap-around flag."""
        high = offset == self.board.counter_high % _PAGE
        if self.board.timer == "cmsdk":
            return int(self._ticks() >= WORD - 1) if high else (WORD - 1 - self._ticks()) % WORD
        return self._ticks() // WORD if high else self._ticks() % WORD

    def _write_timer(self, uc: Any, offset: int, size: int, value: int, _: Any) -> None:
        if self.board.timer == "cmsdk":
            self.started = self.executed

    def _trap(self, uc: Any, number: int, _: Any) -> None:
        self.said = f"exception {number} at {self.code.place(self.pc)}"
        uc.emu_stop()

    def _semihost_called(self, uc: Any, address: int, size: int, _: Any) -> None:
        """Handles semihosting calls in place of the breakpoint, which Unicorn does not survive on RISC-V."""
        operation, block = (int(uc.reg_read(r)) for r in self.registers)
        uc.reg_write(self.registers[0], self._semihost(operation, block) & (WORD - 1))
        uc.reg_write(self.pc_register, uc.reg_read(self.link_register))

    def _semihost(self, operation: int, block: int) -> int:
        """Implements the four semihosting calls of the harness; reading and writing return the bytes left over."""
        first, second, third = struct.unpack("<3I", self.uc.mem_read(block, 12))
        if operation == _SYS_OPEN:
            name = bytes(self.uc.mem_read(first, third)).decode()
            path = self.workdir / name
            self.files.append(path.open("wb" if second >= 4 else "rb", buffering=0 if path.is_fifo() else -1))
            return len(self.files) - 1
        if operation == _SYS_WRITE:
            return int(third) - int(self.files[first].write(self.uc.mem_read(second, third)))
        if operation == _SYS_READ:
            data = self.files[first].read(third)
            self.uc.mem_write(second, data)
            return int(third) - len(data)
        self.exited = operation == _SYS_EXIT
        self.said = f"exit status {second}" if second or not self.exited else ""
        self.uc.emu_stop()
        return 0
