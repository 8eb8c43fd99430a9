"""Arenas take no flash, whatever the linker section is called that the target names for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from mote.compiler.line import compile
from mote.compiler.several import compile_several
from mote.hardware import targets
from mote.hardware.toolchain.builder import HARNESS
from tests.compiler.emit.c.test_project import DIGITS, FLAGS, KEYWORDS, run
from tests.helpers.support import needs

FREESTANDING = HARNESS / "freestanding" / "include"
ARM = ["arm-none-eabi-gcc", *targets.load("cortex-m4").gcc_flags]
COMPILERS = {
    "gcc": ["gcc"],
    "link-time optimization": ["gcc", "-flto", "-ffat-lto-objects"],
    "arm": ARM,
    "riscv": ["riscv64-unknown-elf-gcc", *targets.load("rv32imc").gcc_flags, "--specs=picolibc.specs"],
    "xtensa": ["xtensa-lx106-elf-gcc", "-D__LITTLE_ENDIAN__"],
    "clang": ["clang"],
    "clang for arm": ["clang", "--target=thumbv7em-none-eabi", "-ffreestanding", f"-I{FREESTANDING}"],
}
MEMORIES = """\
extends = "cortex-m4"
[[memory]]
name = "flash"
kind = "flash"
size = "1M"
[[memory]]
name = "ccm"
kind = "ram"
size = "{size}"
section = "{section}"
[[memory]]
name = "sram"
kind = "ram"
size = "128K"
wait = 1
section = ".slow_data"
"""
SCRIPT = """\
MEMORY { FLASH : ORIGIN = 0x08000000, LENGTH = 1M  CCMRAM : ORIGIN = 0x10000000, LENGTH = 64K
         RAM : ORIGIN = 0x20000000, LENGTH = 128K }
SECTIONS {
    .text : { *(.text*) *(.rodata*) } > FLASH
    .ccmram : { *(.ccmram .ccmram.*) } > CCMRAM AT> FLASH
    .slow_data : { *(.slow_data) } > RAM AT> FLASH
    .data : { *(.data*) } > RAM AT> FLASH
    .bss : { *(.bss* COMMON) } > RAM
}
"""


def target(folder: Path, section: str = ".ccmram", size: str = "6K") -> str:
    """A target with two memories for arenas, the sections of which a linker script of a vendor's might have."""
    path = folder / "part.toml"
    path.write_text(MEMORIES.format(section=section, size=size))
    return str(path)


def zeros(path: Path) -> dict[str, int]:
    """The bytes of each section that has no contents."""
    with path.open("rb") as file:
        return {s.name: s["sh_size"] for s in ELFFile(file).iter_sections() if s["sh_type"] == "SHT_NOBITS"}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_compiler_gives_an_arena_contents(compiler: str, tmp_path: Path) -> None:
    """In two memories, neither of which has a name that compilers know."""
    command = COMPILERS[compiler]
    needs(command[0])
    compiled = compile(KEYWORDS, target=target(tmp_path))
    assert len(compiled.plan.memories) == 2
    compiled.write(tmp_path / "c")
    flags = [f for f in FLAGS if f != "-Wconversion"] if compiler == "xtensa" else FLAGS
    core = [] if command[0] in ("gcc", "clang") and len(command) < 4 else ["-DMOTE_PORTABLE"]
    run([*command, *flags, *core, "-O2", "-c", "keywords.c", "-o", "keywords.o"], tmp_path / "c")
    found = zeros(tmp_path / "c" / "keywords.o")
    assert (found[".ccmram"], found[".slow_data"]) == tuple(-(-n // 8) * 8 for n in compiled.plan.arenas)


def image(folder: Path, source: str) -> int:
    """Bytes of flash of a linked model."""
    (folder / "part.ld").write_text(SCRIPT)
    (folder / "main.c").write_text("void *memcpy(void *a, const void *b, unsigned n);\nint main(void) { return 0; }\n")
    flags = ["-O2", "-ffunction-sections", "-fdata-sections", "-nostartfiles", "-Wl,-T,part.ld", "-Wl,-e,main"]
    run([*ARM, *flags, source, "main.c", "-lm", "-o", "model.elf"], folder)
    run(["arm-none-eabi-objcopy", "-O", "binary", "model.elf", "model.bin"], folder)
    return (folder / "model.bin").stat().st_size


def test_the_binary_has_no_zeros_for_an_arena(tmp_path: Path) -> None:
    """Linked by a script that keeps initial values of its memories in flash, as those of vendors do."""
    needs(ARM[0])
    sizes = {}
    for section in (".bss.mote_ccm", ".ccmram"):
        folder = tmp_path / section
        compile(KEYWORDS, target=target(tmp_path, section, "64K")).write(folder)
        sizes[section] = image(folder, "keywords.c")
    assert sizes[".ccmram"] == sizes[".bss.mote_ccm"]


def test_models_that_share_an_arena(tmp_path: Path) -> None:
    needs(ARM[0])
    several = compile_several([DIGITS, KEYWORDS], target=target(tmp_path, size="64K"))
    several.write(tmp_path / "c")
    run([*ARM, *FLAGS, "-O2", "-c", "mote_models.c", "-o", "models.o"], tmp_path / "c")
    assert zeros(tmp_path / "c" / "models.o")[".ccmram"] >= 8_000


def test_a_macro_of_the_users_places_arenas_too(tmp_path: Path) -> None:
    needs("gcc")
    compile(KEYWORDS, target=target(tmp_path, size="64K")).write(tmp_path / "c")
    own = '-DMOTE_SECTION(name)=__attribute__((section(".bss.own")))'
    run(["gcc", *FLAGS, own, "-DMOTE_PORTABLE", "-c", "keywords.c", "-o", "keywords.o"], tmp_path / "c")
    assert zeros(tmp_path / "c" / "keywords.o")[".bss.own"] >= 8_000


def test_names_that_compilers_know_need_nothing(tmp_path: Path) -> None:
    project = compile(KEYWORDS, target=target(tmp_path, ".bss.ccm", "64K")).project
    assert "MOTE_ZEROS" not in project.files["keywords.c"]
