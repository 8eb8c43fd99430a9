"""Reads linked ELF files: model size, and loadable memory contents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mote.base.errors import MoteError
from mote.hardware.targets import Memory, Target
from mote.hardware.toolchain.machine_code import Symbol, elf_symbols

_ALLOCATED = 2  # SHF_ALLOC
# All of harness/device.ld: a section that the linker placed by itself would be missing from the sizes.
_MODEL = (".text", ".rodata", ".data", ".ram_code", ".bss")
_HARNESS = (".reset", ".vectors", ".stack", ".tbss", ".harness_rom", ".harness_data", ".harness_bss")


@dataclass(frozen=True)
class Sizes:
    """Bytes of the model and the library functions it uses, without the harness.

    Flash is `code + constants`, where constants include initial values of `.data`. `static` is RAM: `.data` and `.bss`
    including the arena. `ram_code` is the part of the code that is copied to RAM and counts there as well."""

    code: int
    constants: int
    static: int
    memories: dict[str, int] = field(default_factory=dict)
    """Bytes by memory, if the target has several of a kind."""
    ram_code: int = 0


@dataclass(frozen=True)
class FlashPart:
    """Flash bytes of a model under one symbol; without a name between symbols: alignment and unnamed constants."""

    name: str
    nbytes: int
    is_code: bool


@dataclass(frozen=True)
class LoadSegment:
    """Bytes to load at an address."""

    address: int
    data: bytes


def sizes(elf: Path, target: Target) -> Sizes | None:
    """Sizes from the sections that harness/device.ld keeps for the model; None on the host."""
    if target.is_host:
        return None
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        sections = [s for s in ELFFile(file).iter_sections() if s["sh_flags"] & _ALLOCATED]
    by_section = {s.name: int(s["sh_size"]) for s in sections}
    memories = {m: by_section.get(memory_section(m), 0) for kind in ("ram", "flash") for m in target.choice(kind)}
    known = (*_MODEL, *_HARNESS, *map(memory_section, memories))
    stray = [name for name, size in by_section.items() if size and name not in known]
    if ".text" not in by_section or stray:
        raise MoteError(f"not linked by Mote's script: {', '.join(stray) or 'no .text'}", where=str(elf))
    data = by_section.get(".data", 0)
    placed = {kind: sum(n for m, n in memories.items() if m.kind == kind) for kind in ("ram", "flash")}
    return Sizes(
        by_section[".text"] + by_section.get(".ram_code", 0),
        by_section.get(".rodata", 0) + data + placed["flash"],
        data + by_section.get(".bss", 0) + placed["ram"],
        {m.name: n for m, n in memories.items()},
        by_section.get(".ram_code", 0),
    )


def flash_parts(elf: Path, target: Target) -> list[FlashPart]:
    """The model's flash by symbol in address order, adding up to code and constants of `sizes`."""
    from elftools.elf.elffile import ELFFile

    constants = (".rodata", ".data", *(memory_section(m) for m in target.choice("flash")))
    parts: list[FlashPart] = []
    with elf.open("rb") as file:
        parsed = ELFFile(file)
        symbols = sorted(elf_symbols(parsed), key=lambda s: (s.address, -s.size, len(s.name), s.name))
        for number, section in enumerate(parsed.iter_sections()):
            is_code = section.name in (".text", ".ram_code")
            if section["sh_flags"] & _ALLOCATED and (is_code or section.name in constants):
                start = int(section["sh_addr"])
                own = [s for s in symbols if s.section == number and (s.size or s.is_function)]
                parts += _between(own, start, start + int(section["sh_size"]), is_code)
    return parts


def _between(symbols: list[Symbol], start: int, end: int, is_code: bool) -> Iterator[FlashPart]:
    """Bytes of a section by symbol; a function without a size ends at the next symbol."""
    at = start
    for n, symbol in enumerate(symbols):
        following = next((s.address for s in symbols[n + 1 :] if s.address > symbol.address), end)
        last = min(symbol.address + symbol.size if symbol.size else following, end)
        if last <= at:
            continue
        if symbol.address > at:
            yield FlashPart("", symbol.address - at, is_code)
        yield FlashPart(symbol.name, last - max(symbol.address, at), is_code)
        at = last
    if end > at:
        yield FlashPart("", end - at, is_code)


def extents(elf: Path) -> dict[str, tuple[int, int]]:
    """(start, end) address of each section."""
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        sections = [s for s in ELFFile(file).iter_sections() if s["sh_flags"] & _ALLOCATED]
        return {s.name: (int(s["sh_addr"]), int(s["sh_addr"]) + int(s["sh_size"])) for s in sections}


def memory_section(memory: Memory) -> str:
    """Name of the section that harness/device.ld creates for a memory."""
    return f".memory_{memory.symbol}"


def segments(elf: Path) -> list[LoadSegment]:
    """Loadable bytes by load address, as a debugger flashes them."""
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        loads = [s for s in ELFFile(file).iter_segments() if s["p_type"] == "PT_LOAD" and s["p_filesz"]]
        return [LoadSegment(int(s["p_paddr"]), bytes(s.data())) for s in loads]
