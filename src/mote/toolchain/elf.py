"""Reading linked ELF files: how large the model is, and which function an address is in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mote.errors import MoteError
from mote.targets import Target


@dataclass(frozen=True)
class Sizes:
    """The model and the library functions it uses, without the harness, in bytes.

    Flash is `code + constants`; `constants` has the initial values of `.data`. `static` is RAM: `.data` and `.bss`,
    so the arena is in it.
    """

    code: int
    constants: int
    static: int


@dataclass(frozen=True)
class Segment:
    """Bytes to load at an address."""

    address: int
    data: bytes


def sizes(elf: Path, target: Target) -> Sizes | None:
    """From the sections that harness/device.ld keeps for the model; None on the host, where they say nothing."""
    if target.arch == "host":
        return None
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        found = {s.name: int(s["sh_size"]) for s in ELFFile(file).iter_sections()}
    stray = [n for n, size in found.items() if size and _allocated_elsewhere(n)]
    if ".text" not in found or stray:
        raise MoteError(f"not linked by Mote's script: {', '.join(stray) or 'no .text'}", where=str(elf))
    data = found.get(".data", 0)
    return Sizes(found[".text"], found.get(".rodata", 0) + data, data + found.get(".bss", 0))


def _allocated_elsewhere(name: str) -> bool:
    """A section that the linker placed by itself would be missing from the sizes."""
    return name.startswith(
        (".data.", ".rodata.", ".text.", ".bss.", ".sdata", ".sbss", ".srodata", ".got", ".init")
    )


def segments(elf: Path) -> list[Segment]:
    """What a loader puts into memory: at the load addresses, as a debugger would flash it."""
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        loads = [s for s in ELFFile(file).iter_segments() if s["p_type"] == "PT_LOAD" and s["p_filesz"]]
        return [Segment(int(s["p_paddr"]), bytes(s.data())) for s in loads]


def entry(elf: Path) -> int:
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        return int(ELFFile(file)["e_entry"])


def place(elf: Path, address: int) -> str:
    """An address as a person reads it: the function it is in, if it is in one."""
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        for symbol in table.iter_symbols() if table else ():
            start = symbol["st_value"] & ~1
            if symbol["st_info"]["type"] == "STT_FUNC" and start <= address < start + symbol["st_size"]:
                return f"{address:#010x} (in {symbol.name})"
    return f"{address:#010x}"
