"""The memory layout of a firmware: in a target's memories, or in those of its emulated board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mote.base.errors import MoteError
from mote.hardware.targets import Memory, Target

MINIMUM = 8 << 10
"""Bytes that the RAM for variables and stack should have in addition to arenas, if any RAM has them."""
LIBRARY = "--output lib makes a library for a firmware of yours"


@dataclass(frozen=True)
class MemoryRegion:
    """A memory in the linker script."""

    name: str
    """Name of the memory in reports."""
    origin: int
    size: int

    @property
    def symbol(self) -> str:
        """Name of the memory in the linker script."""
        return "".join(c if c.isalnum() and c.isascii() else "_" for c in self.name).upper()


@dataclass(frozen=True)
class Placed:
    """A linker section of the model, and the memory that it is placed in."""

    section: str
    region: MemoryRegion
    is_ram: bool
    label: str = ""
    """Name of the memory that the region replaces, if it does."""

    @property
    def output(self) -> str:
        """Name of the output section in the linker script."""
        return f".memory_{self.label or self.region.symbol.lower()}"


@dataclass(frozen=True)
class FirmwareMap:
    """The memory layout of a firmware. `vectors`: region of the vector table; `code`: of code and constants; `data`: of
    variables and stack; `ram_code`: of code that is executed from RAM."""

    regions: tuple[MemoryRegion, ...]
    vectors: MemoryRegion
    code: MemoryRegion
    data: MemoryRegion
    ram_code: MemoryRegion
    placed: tuple[Placed, ...] = ()
    header: str = ""
    board: str = ""
    """The emulated board with these memories, for a core without memories of its own."""


def layout(target: Target, arenas: Mapping[str, int], *, uf2: bool = False) -> FirmwareMap:
    """The memory layout of a firmware for a target. `arenas`: their bytes by memory; `uf2`: flash begins after the
    part's UF2 boot loader."""
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
    """The memory layout on the emulated board of a target, even if the target is a real part: sections for memories of
    the part are placed in those of the board."""
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
    """The memory layout of the emulated board of a core."""
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
    """The RAM for variables and stack: the fastest with enough space in addition to its arena, or else the one with
    most space."""
    ordered = sorted(rams, key=lambda m: m.wait)
    free = {m: m.size - arenas.get(m.name, 0) for m in ordered}
    return next((m for m in ordered if free[m] >= MINIMUM), max(ordered, key=lambda m: free[m]))


def _region(memory: Memory, target: Target, uf2: bool) -> MemoryRegion:
    origin, size = memory.origin or 0, memory.size
    loader = target.boot.uf2_origin if uf2 else None
    if loader is not None and origin <= loader < origin + size:
        return MemoryRegion(memory.name, loader, origin + size - loader)
    return MemoryRegion(memory.name, origin, size)
