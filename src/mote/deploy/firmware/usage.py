"""Flash, RAM and stack use of a linked firmware, from its ELF file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mote.base.errors import BudgetError, MoteError
from mote.compiler.package.firmware.layout import FirmwareMap
from mote.deploy.firmware.formats import Loaded
from mote.hardware.targets import Target
from mote.hardware.toolchain.elf import extents
from mote.hardware.toolchain.stack import Stack, worst_stack


@dataclass(frozen=True)
class Usage:
    """Memory use of a firmware, with stack."""

    memories: dict[str, tuple[int, int]]
    """(bytes used, bytes available) by memory, without stack."""
    stack: Stack | None
    """Deepest call chain from the entry; None if unknown."""
    unknown: str
    """Why the stack is unknown."""
    stack_room: int
    """Bytes left for the stack."""
    stack_in: str
    """Name of the memory with the stack."""


def usage(elf: Path, image: Loaded, layout: FirmwareMap, target: Target) -> Usage:
    """Memory use of a firmware; raises an error if its stack does not fit."""
    used = {region.name: 0 for region in layout.regions}
    spans = [(part.address, part.address + len(part.data)) for part in image.parts]
    spans += [span for span in extents(elf).values() if not any(a <= span[0] and span[1] <= b for a, b in spans)]
    for start, end in spans:
        for region in layout.regions:
            if region.origin <= start < region.origin + region.size:
                used[region.name] += end - start
    room = layout.data.size - used[layout.data.name]
    stack, unknown = None, ""
    try:
        stack = worst_stack(elf, "mote_boot")
    except MoteError as error:
        unknown = error.reason
    if stack is not None and stack.size > room:
        raise BudgetError(
            f"the stack needs {stack.size:,} bytes, and {room:,} of {layout.data.name} are left for it",
            where=f"target {target.name}",
            remedy="use a smaller model, --ram min or a larger part",
        )
    memories = {region.name: (used[region.name], region.size) for region in layout.regions if used[region.name]}
    return Usage(memories, stack, unknown, room, layout.data.name)
