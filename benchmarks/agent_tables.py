"""The tables of docs/deploy/agent.md: bytes of the agent on three cores, and what a run over the wire adds to the
instructions of a model, with `mote run` in QEMU as the reference.

    python benchmarks/agent_tables.py [MODEL ...]
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

import mote
from mote.base.files import fill, temporary_folder
from mote.deploy.agent.sources import agent_files
from mote.hardware import targets
from mote.hardware.toolchain.compilers import find_compiler

CORES = ("cortex-m4", "cortex-m0plus", "rv32imc")
BOARDS = ("cortex-m4", "cortex-m7", "cortex-m0plus", "rv32imc")
MODELS = Path(__file__).parents[1] / "models"
DEFAULT = [str(MODELS / "digits.tflite"), str(MODELS / "keywords.tflite")]
SOURCES = ("mote_agent.c", "mote_frame.c")
BUILDS = {
    "all of it": (),
    "`MOTE_AGENT_LOADS=0`": ("-DMOTE_AGENT_LOADS=0",),
    "`MOTE_AGENT_RUNS=0` too": ("-DMOTE_AGENT_LOADS=0", "-DMOTE_AGENT_RUNS=0"),
}
"""Settings of a build and the options of the compiler for them."""


def sizes(core: str, flags: tuple[str, ...] = ()) -> tuple[int, int]:
    """Bytes of code and constants, and of RAM, of the agent and its frames at -Os."""
    target = targets.load(core)
    compiler = find_compiler(target, "gcc")
    code = ram = 0
    with temporary_folder() as folder:
        fill(folder, agent_files())
        for source in SOURCES:
            command = [*compiler.command, *target.gcc_flags, *target.core.gcc_flags, "-std=c99", "-Os", *flags]
            subprocess.run([*command, "-c", source, "-o", "agent.o"], check=True, cwd=folder)
            with (folder / "agent.o").open("rb") as file:
                for section in ELFFile(file).iter_sections():
                    if section["sh_flags"] & SH_FLAGS.SHF_ALLOC:
                        code += section["sh_size"] if section["sh_type"] != "SHT_NOBITS" else 0
                        ram += section["sh_size"] if section["sh_flags"] & SH_FLAGS.SHF_WRITE else 0
    return code, ram


def size_rows() -> list[str]:
    """The table of sizes, without its head."""
    return [
        f"| {build} | `{core}` | {code:,} | {ram:,} |"
        for core in CORES
        for build, flags in BUILDS.items()
        for code, ram in [sizes(core, flags)]
    ]


def overhead_row(model: str, core: str) -> str:
    """What the hook and the agent add to the instructions of an inference."""
    alone = mote.run(model, target=core, emulator="qemu").instructions
    wired = mote.run(model, target=core, board=f"qemu:{core}").instructions
    assert alone is not None and wired is not None
    return f"| {Path(model).stem} | `{core}` | {alone:,} | {wired:,} | {(wired - alone) / alone:+.3%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=DEFAULT)
    arguments = parser.parse_args()
    print("| build | core | code, bytes | RAM, bytes |\n|---|---|---|---|")
    print("\n".join(size_rows()))
    print("\n| model | core | `mote run` | over the wire | difference |\n|---|---|---|---|---|")
    for model in arguments.models:
        for core in BOARDS:
            print(overhead_row(model, core))


if __name__ == "__main__":
    main()
