"""Links models for an agent's scratch memory: code, constants and arena are in RAM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mote.base.errors import MoteError
from mote.base.files import fill
from mote.deploy.agent.sources import TRACE, agent_files
from mote.deploy.boards.protocol import Placement
from mote.deploy.firmware.agent import ADAPTER, AgentModel, adapter_files
from mote.deploy.firmware.build import Build
from mote.deploy.firmware.formats import loaded
from mote.hardware.targets import Target
from mote.hardware.toolchain.builder import libraries
from mote.hardware.toolchain.compilers import Compiler

ENTRY = "mote_scratch_entry"
ROOM = 64 << 20
"""Size of scratch memory assumed by the linker; availability is checked later."""
_SOURCE = Path(__file__).with_name("scratch_entry.c")
_GLUE = "harness_glue.c"


@dataclass(frozen=True)
class ScratchModel:
    """A model linked for scratch memory: bytes to load, and the function that registers it with the agent."""

    data: bytes
    entry: int
    """Offset of that function, with the Thumb bit if applicable."""
    bytes_needed: int
    """Bytes needed including zero-initialized memory."""


def linked_for_scratch(
    model: AgentModel, target: Target, compiler: Compiler, folder: Path, place: Placement, optimize: str
) -> ScratchModel:
    """Links a model for scratch memory at an address."""
    project = folder / "scratch"
    own = adapter_files() | {_SOURCE.name: _SOURCE.read_text(encoding="utf-8"), _GLUE: model.glue}
    headers = {name: text for name, text in agent_files().items() if name.endswith(".h")}
    project.mkdir(parents=True, exist_ok=True)
    fill(project, {**headers, **model.files, **own})
    trace = ("-include", str((project / TRACE).resolve()))
    build = Build(project, model.sources, target, compiler, optimize, (*trace, *model.flags))
    identity = f"-DMOTE_MODEL_ID={','.join(map(str, model.id))}"
    objects = [
        *build.objects((ADAPTER, _SOURCE.name, _GLUE), ("-Os", identity), "scratch"),
        *build.model(),
        *build.secret(model.secret),
    ]
    script, elf = build.workdir / "scratch.ld", build.workdir / "scratch.elf"
    script.write_text(_script(target, place), encoding="utf-8")
    build.link([*objects, *libraries(compiler)], script, elf)
    image = loaded(elf)
    symbols = _symbols(elf)
    if symbols[".tbss"]:
        raise MoteError("uses thread-local variables, which code in scratch memory cannot have", remedy="flash it")
    data = bytearray(max(part.address + len(part.data) for part in image.parts) - place.address)
    for part in image.parts:
        at = part.address - place.address
        data[at : at + len(part.data)] = part.data
    return ScratchModel(bytes(data), image.entry - place.address, symbols["mote_scratch_end"] - place.address)


def _script(target: Target, place: Placement) -> str:
    """The linker script; defines no global pointer, since on RISC-V the agent's must not be used."""
    flashes = "".join(f" *({memory.section})" for memory in target.choice("flash"))
    rams = "".join(f" *({memory.section})" for memory in target.choice("ram"))
    return f"""\
ENTRY({ENTRY})
MEMORY {{ SCRATCH (rwx) : ORIGIN = {place.address:#x}, LENGTH = {ROOM:#x} }}
SECTIONS
{{
    .text : {{ *(.text .text.* .mote_ramfunc) }} > SCRATCH
    .rodata : ALIGN(16) {{ *(.rodata .rodata.* .srodata .srodata.*){flashes} }} > SCRATCH
    .data : ALIGN(16) {{ *(.data .data.* .sdata .sdata.*) . = ALIGN(8); }} > SCRATCH
    .tbss (NOLOAD) : {{ *(.tbss .tbss.* .tdata .tdata.*) }} > SCRATCH
    .bss (NOLOAD) : ALIGN(16)
    {{
        mote_scratch_zeros = .;
        *(.sbss .sbss.* .bss .bss.* COMMON){rams}
        . = ALIGN(8);
        mote_scratch_end = .;
    }} > SCRATCH
    /DISCARD/ : {{ *(.ARM.exidx* .ARM.extab* .eh_frame* .comment .note* .init_array* .fini_array*) }}
}}
"""


def _symbols(elf: Path) -> dict[str, int]:
    """End address, and size of thread-local variables."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    with elf.open("rb") as file:
        image = ELFFile(file)
        table = image.get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        end = (table.get_symbol_by_name("mote_scratch_end") or [])[0]
        local = image.get_section_by_name(".tbss")
        return {"mote_scratch_end": int(end["st_value"]), ".tbss": int(local["sh_size"]) if local else 0}
