"""The linker script of a firmware."""

from __future__ import annotations

from mote.compiler.package.firmware.layout import FirmwareMap, Placed
from mote.compiler.package.templates import filled

ALIGNMENT = 16
"""Alignment of arenas in bytes."""


def script(layout: FirmwareMap) -> str:
    """The linker script for GNU ld and LLD."""
    memories = "\n".join(
        f"    {region.symbol} : ORIGIN = {region.origin:#010x}, LENGTH = {region.size:#x}" for region in layout.regions
    )
    code, data = layout.code.symbol, layout.data.symbol
    flashes = "".join(_flash(place) for place in layout.placed if not place.is_ram)
    rams = [place for place in layout.placed if place.is_ram]
    zeros = ["bss", *(place.output.lstrip(".") for place in rams)]
    boot = "    .boot : { KEEP(*(.mote.boot)) } > " + code + "\n" if layout.header == "rp2040" else ""
    return filled(
        "firmware.ld",
        {
            "DATA": data,
            "MEMORIES": memories,
            "BOOT": boot,
            "VECTORS": layout.vectors.symbol,
            "ZEROS": "".join(f"        LONG(ADDR(.{name})) LONG(SIZEOF(.{name})){chr(10)}" for name in zeros),
            "CODE": code,
            "FLASHES": flashes,
            "RAM_CODE": layout.ram_code.symbol,
            "RAMS": "".join(_ram(place) for place in rams),
            "ALIGNMENT": str(ALIGNMENT),
        },
    )


def _flash(place: Placed) -> str:
    return f"    {place.output} : {{ *({place.section}) . = ALIGN(8); }} > {place.region.symbol}\n"


def _ram(place: Placed) -> str:
    inside = f"*({place.section}) . = ALIGN(8);"
    return f"    {place.output} (NOLOAD) : ALIGN({ALIGNMENT}) {{ {inside} }} > {place.region.symbol}\n"
