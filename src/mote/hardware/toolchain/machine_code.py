"""Machine code of an ELF file: executable sections, functions and labels."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError
from mote.hardware.cores import ARCHITECTURES
from mote.hardware.cores.instructions import Decoded, Known
from mote.hardware.cores.record import MachineCode

_EXECUTABLE = 4  # SHF_EXECINSTR
_FUNCTION = 2  # STT_FUNC
_MACHINES = {core.code.elf_machine: core for core in ARCHITECTURES.values() if core.code is not None}


@dataclass(frozen=True)
class ElfCode:
    """Executable sections and functions of an ELF file.

    `borders` are alternating start and end addresses of code; `starts` those of the functions, in order."""

    elf: Path
    machine: MachineCode
    sections: list[tuple[int, bytes]]
    borders: list[int]
    functions: dict[str, int]
    starts: list[int]
    names: dict[int, str]
    ends: dict[int, int]
    labels: list[tuple[int, str]]
    """All other symbols in the code, in address order."""

    def word(self, at: int) -> int:
        """The four bytes at an address, fewer at the end."""
        for start, data in self.sections:
            if start <= at < start + len(data):
                return int.from_bytes(data[at - start : at - start + 4], "little")
        return 0

    def instruction(self, at: int, known: Known | None = None) -> Decoded:
        """Decodes the instruction at an address, given known register values before it."""
        return self.machine.decode(self.word, at, known or {})

    def is_code(self, at: int) -> bool:
        return bisect_right(self.borders, at) % 2 == 1

    def start(self, at: int) -> int:
        """Start address of the function that contains an address."""
        return self.starts[max(bisect_right(self.starts, at) - 1, 0)]

    def place(self, at: int) -> str:
        """An address in words: relative to the function that contains or precedes it."""
        if not self.starts or at < self.starts[0]:
            return f"{at:#010x}"
        start = self.start(at)
        return f"{at:#010x} ({self.names[start]}+{at - start:#x})"

    def bytes(self, start: int, end: int) -> bytes:
        for base, data in self.sections:
            if base <= start < base + len(data):
                return data[start - base : end - base]
        return b""


def machine_of(elf: Path) -> str:
    """Architecture of an ELF file; empty if unsupported."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with elf.open("rb") as file:
            core = _MACHINES.get(ELFFile(file)["e_machine"])
            return core.name if core else ""
    except OSError as error:
        raise MoteError(f"cannot be read: {error.strerror}", where=str(elf)) from None
    except ELFError:
        raise MoteError("is not an ELF file", where=str(elf), remedy="give the linked program, not its image") from None


def read_code(elf: Path) -> ElfCode:
    """The code in an ELF file for an architecture that Mote knows."""
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        parsed = ELFFile(file)
        core = _MACHINES[parsed["e_machine"]]
        machine = core.variants.get(parsed["e_flags"] & 0x7F, core.code)
        assert machine is not None
        executable = {n: s for n, s in enumerate(parsed.iter_sections()) if s["sh_flags"] & _EXECUTABLE}
        sections = [(int(s["sh_addr"]), bytes(s.data())) for s in executable.values()]
        symbols = [s for s in elf_symbols(parsed) if s.section in executable]
    # Where a function has several names, the shortest is the one that people know.
    functions = sorted((s for s in symbols if s.is_function), key=lambda s: (len(s.name), s.name), reverse=True)
    names = {s.address: s.name for s in functions}
    starts = sorted(names)
    ends = dict(pairwise([*starts, 1 << 32])) | {s.address: s.address + s.size for s in functions if s.size}
    entries = {s.name: s.address for s in functions}
    labels = sorted((s.address, s.name) for s in symbols if not s.is_function and not s.name.startswith("$"))
    return ElfCode(elf, machine, sections, _borders(sections, symbols), entries, starts, names, ends, labels)


@dataclass(frozen=True)
class Symbol:
    name: str
    address: int
    size: int
    is_function: bool
    section: int


def elf_symbols(parsed: Any) -> Iterator[Symbol]:
    """Symbols of an ELF file, parsed here since pyelftools takes a second for the thousands of labels that zig
    emits."""
    table = parsed.get_section_by_name(".symtab")
    if table is None:
        return
    names = parsed.get_section(table["sh_link"]).data()
    for name, value, size, info, _, section in struct.iter_unpack("<3I2BH", table.data()):
        text = names[name : names.index(0, name)].decode(errors="backslashreplace")
        yield Symbol(text, value & ~1, size, info & 15 == _FUNCTION, section)


def _borders(sections: list[tuple[int, bytes]], symbols: list[Symbol]) -> list[int]:
    """Code borders by mapping symbols of code ($t, $x) and data ($d); a section starts with code."""
    marks = {start + len(data): False for start, data in sections} | {start: True for start, _ in sections}
    marks |= {s.address: s.name[1] != "d" for s in symbols if s.name[:2] in ("$t", "$x", "$d")}
    borders: list[int] = []
    for at, begins in sorted(marks.items()):
        if begins == (len(borders) % 2 == 0):
            borders.append(at)
    return borders
