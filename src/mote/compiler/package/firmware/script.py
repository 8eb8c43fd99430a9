"""The linker script of a firmware."""

from __future__ import annotations

from mote.compiler.package.firmware.layout import FirmwareMap, Placed

ALIGNMENT = 16
"""Bytes that arenas are aligned to."""


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
    return f"""\
/* The memories of the firmware, and what lies in each. The stack takes what is left of {data}, from its end down. */
ENTRY(mote_start)
MEMORY
{{
{memories}
}}
SECTIONS
{{
{boot}    .vectors : {{ KEEP(*(.mote.vectors)) KEEP(*(.mote.image)) }} > {layout.vectors.symbol}
    .text :
    {{
        *(.text .text.*)
        . = ALIGN(4);
        /* For the start-up code: image, place and size of what is copied; place and size of what is cleared. */
        mote_copies = .;
        LONG(LOADADDR(.data)) LONG(ADDR(.data)) LONG(SIZEOF(.data))
        LONG(LOADADDR(.ram_code)) LONG(ADDR(.ram_code)) LONG(SIZEOF(.ram_code))
        mote_copies_end = .;
        mote_zeros = .;
{"".join(f"        LONG(ADDR(.{name})) LONG(SIZEOF(.{name})){chr(10)}" for name in zeros)}        mote_zeros_end = .;
    }} > {code}
{flashes}    .rodata : {{ *(.rodata .rodata.* .srodata .srodata.*) . = ALIGN(8); }} > {code}
    .data : ALIGN(8)
    {{
        *(.data .data.*)
        __global_pointer$ = . + 0x800;
        *(.sdata .sdata.*)
        . = ALIGN(8);
    }} > {data} AT > {code}
    .ram_code : ALIGN(8) {{ *(.mote_ramfunc) . = ALIGN(8); }} > {layout.ram_code.symbol} AT > {code}
{"".join(_ram(place) for place in rams)}    /* Thread-local variables: they lie over the first bytes of .bss. */
    .tbss (NOLOAD) : ALIGN({ALIGNMENT}) {{ *(.tbss .tbss.*) }} > {data}
    .kept (NOLOAD) : ALIGN({ALIGNMENT}) {{ *(.mote_kept) }} > {data}
    .bss (NOLOAD) : ALIGN({ALIGNMENT})
    {{
        mote_tls = .;
        . += SIZEOF(.tbss);
        *(.sbss .sbss.* .bss .bss.* COMMON)
        . = ALIGN(8);
        mote_stack_bottom = .;
    }} > {data}
    mote_stack_top = (ORIGIN({data}) + LENGTH({data})) & 0xFFFFFFF0;

    /DISCARD/ : {{ *(.ARM.exidx* .ARM.extab* .eh_frame* .comment .note* .init_array* .fini_array*) }}
}}
"""


def _flash(place: Placed) -> str:
    return f"    {place.output} : {{ *({place.section}) . = ALIGN(8); }} > {place.region.symbol}\n"


def _ram(place: Placed) -> str:
    inside = f"*({place.section}) . = ALIGN(8);"
    return f"    {place.output} (NOLOAD) : ALIGN({ALIGNMENT}) {{ {inside} }} > {place.region.symbol}\n"
