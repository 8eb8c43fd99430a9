"""Where the sections of a firmware go: a target's memories, or those of its emulated board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mote.base.errors import MoteError
from mote.hardware.targets import Memory, Target

MINIMUM = 8 << 10
"""Bytes that the RAM of variables and stack should have beside arenas, if any RAM has."""
LIBRARY = "--output lib makes a library for a firmware of yours"


@dataclass(frozen=True)
class MemoryRegion:
    """A memory in the linker script."""

    name: str
    """The memory's name in reports."""
    origin: int
    size: int

    @property
    def symbol(self) -> str:
        """Its name in the script."""
        return "".join(c if c.isalnum() and c.isascii() else "_" for c in self.name).upper()


@dataclass(frozen=True)
class Placed:
    """A linker section of the model's, and its memory."""

    section: str
    region: MemoryRegion
    is_ram: bool
    label: str = ""
    """The name of the memory that the region stands in for, if it does."""

    @property
    def output(self) -> str:
        """The output section."""
        return f".memory_{self.label or self.region.symbol.lower()}"


@dataclass(frozen=True)
class FirmwareMap:
    """The memories of a firmware. `vectors`, `code`, `data` and `ram_code` are the regions of the vectors, of code and
    constants, of variables and stack, and of code that is executed from RAM."""

    regions: tuple[MemoryRegion, ...]
    vectors: MemoryRegion
    code: MemoryRegion
    data: MemoryRegion
    ram_code: MemoryRegion
    placed: tuple[Placed, ...] = ()
    header: str = ""
    board: str = ""
    """The emulated board that has these memories, for a core without memories of its own."""


def layout(target: Target, arenas: Mapping[str, int], *, uf2: bool = False) -> FirmwareMap:
    """The memories of a target for a firmware with arenas of so many bytes. With `uf2`, flash begins behind the part's
    UF2 boot loader."""
    if target.is_host:
        raise MoteError(
            "this computer runs programs, no firmware",
            where="option output",
            remedy="name a part with --target (`mote targets` lists them); `make` in the project builds the example",
        )
    if target.boot.refused:
        raise MoteError(target.boot.refused, where=f"target {target.name}", remedy=target.boot.remedy or LIBRARY)
    return _part(target, arenas, uf2) if target.memories else _board(target)


def emulated_layout(target: Target) -> FirmwareMap:
    """The memories of the emulated board of a target, for firmware that runs there even if the target is a part: what
    belongs into memories of the part lies in those of the board."""
    board = target.core.boards.get(target.qemu_machine or "")
    places = _board(target)
    assert board is not None
    rom, ram = places.code, places.data
    slow = MemoryRegion("slow ram", *board.slow_ram) if board.slow_ram else None
    placed = [Placed(m.section, rom, False, m.symbol.lower()) for m in target.choice("flash")]
    for memory in target.choice("ram"):
        region = slow if slow and memory.data_reads.waits else ram
        placed.append(Placed(memory.section, region, True, memory.symbol.lower()))
    return replace(places, regions=(*places.regions, *([slow] if slow else [])), placed=tuple(placed))


def _board(target: Target) -> FirmwareMap:
    """The emulated board of a core."""
    board = target.core.boards.get(target.qemu_machine or "")
    if board is None:
        raise MoteError(
            "has no memories, so that no firmware can be linked for it",
            where=f"target {target.name}",
            remedy=f"name a part, or a .toml file with [[memory]] tables that have an origin; {LIBRARY}",
        )
    vectors = MemoryRegion("vectors", board.vectors, 1 << 10)
    rom, ram = MemoryRegion("rom", *board.rom), MemoryRegion("ram", *board.ram)
    return FirmwareMap((vectors, rom, ram), vectors, rom, ram, ram, board=target.qemu_machine or "")


def _part(target: Target, arenas: Mapping[str, int], uf2: bool) -> FirmwareMap:
    regions = {m.name: _region(m, target, uf2) for m in target.memories if m.origin is not None}
    code = target.code_memory
    rams = [m for m in target.memories if m.kind == "ram" and "data" in m.holds and m.name in regions]
    if code is None or code.name not in regions or not rams:
        what = "flash for code" if code is None or code.name not in regions else "RAM for data"
        raise MoteError(
            f"has no {what} with an address, so that no firmware can be linked for it",
            where=f"target {target.name}",
            remedy=f"state the origin of its memories in a .toml file of your own; {LIBRARY}",
        )
    if code.kind != "flash":
        raise MoteError(
            f"its code is executed from {code.name}, which a boot loader of yours has to fill",
            where=f"target {target.name}",
            remedy=f"omit code_in, or use --place-code ram; {LIBRARY}",
        )
    unready = dict(target.boot.unready)
    data = _of_data([m for m in rams if m.name not in unready], arenas)
    in_ram = [m for m in target.code_rams if m.name in regions and m.name not in unready]
    several = [*target.choice("flash"), *target.choice("ram")]
    return FirmwareMap(
        tuple(regions.values()),
        regions[code.name],
        regions[code.name],
        regions[data.name],
        regions[in_ram[0].name if in_ram else data.name],
        tuple(Placed(m.section, regions[m.name], m.kind == "ram") for m in several if m.name in regions),
        target.boot.header,
    )


def _of_data(rams: list[Memory], arenas: Mapping[str, int]) -> Memory:
    """The RAM of variables and stack: the fastest one with room beside its arena, or that with the most."""
    ordered = sorted(rams, key=lambda m: m.wait)
    free = {m: m.size - arenas.get(m.name, 0) for m in ordered}
    return next((m for m in ordered if free[m] >= MINIMUM), max(ordered, key=lambda m: free[m]))


def _region(memory: Memory, target: Target, uf2: bool) -> MemoryRegion:
    origin, size = memory.origin or 0, memory.size
    loader = target.boot.uf2_origin if uf2 else None
    if loader is not None and origin <= loader < origin + size:
        return MemoryRegion(memory.name, loader, origin + size - loader)
    return MemoryRegion(memory.name, origin, size)
