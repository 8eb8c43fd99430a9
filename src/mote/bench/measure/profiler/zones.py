"""Maps addresses of the emulated board, which has a single ROM, to memories of the part."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from mote.bench.measure.profiler.waits import Zone
from mote.hardware.cores.board import Board
from mote.hardware.targets import Memory, Reads, Target
from mote.hardware.toolchain.elf import memory_section
from mote.hardware.toolchain.machine_code import ElfCode


def zones(target: Target, board: Board, code: ElfCode, sections: Mapping[str, tuple[int, int]]) -> list[Zone]:
    """Address zones of a program for a target: code, constants in a chosen flash, and all other constants."""
    rom, size = board.rom
    regions: list[Zone] = []
    for start, data in code.sections:
        end = start + len(data)
        if rom <= start < rom + size:
            regions.append(_zone(start, end, target.code_memory, target.reads))
        elif data:
            regions.append(_in_ram(start, end, target))
    for memory in target.choice("flash"):
        start, end = sections.get(memory_section(memory), (0, 0))
        if start < end:
            regions.append(_zone(start, end, memory, target.reads))
    inside = sorted((z.start, z.end) for z in regions if rom <= z.start < rom + size)
    gaps = pairwise([rom, *(address for extent in inside for address in extent), rom + size])
    rest = [gap for n, gap in enumerate(gaps) if n % 2 == 0 and gap[0] < gap[1]]
    return [*regions, *(_zone(start, end, target.constants_memory, target.reads) for start, end in rest)]


def _in_ram(start: int, end: int, target: Target) -> Zone:
    """Zone of code in RAM: the fastest executable RAM, without wait states if the target names none."""
    rams = target.code_rams
    return _zone(start, end, rams[0], Reads()) if rams else Zone(start, end, "RAM", Reads(), Reads(), flash=False)


def _zone(start: int, end: int, memory: Memory | None, reads: Reads) -> Zone:
    """A zone in one of the target's memories; without memories it has the target's read costs. Constants in RAM have no
    wait states."""
    if memory is None:
        return Zone(start, end, "", reads, reads)
    flash = memory.kind == "flash"
    return Zone(start, end, memory.name, memory.reads, memory.reads if flash else Reads(), flash)
