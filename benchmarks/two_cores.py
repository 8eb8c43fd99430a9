"""A model on two emulated cores: the same outputs as on one, and how many instructions the longer core takes.

    PYTHONPATH=src:models python benchmarks/two_cores.py [MODEL.tflite ...] [--core rp2350]

Runs the bundled models and the architectures of MLPerf Tiny (or the models named) on QEMU with one core and with two,
and prints a table for docs/compile/two-cores.md. The longer core is that with more instructions between two barriers;
what both take for the barriers themselves is added, what they wait there is not.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlperf_tiny
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.compiler.plan.plan import SplitKernel
from mote.hardware import targets
from mote.hardware.targets import Target
from mote.hardware.targets.flags import optimization
from mote.hardware.toolchain import find_compiler
from mote.hardware.toolchain.emulators import find_emulator

ROOT = Path(__file__).parents[1]
BOARD = Path(__file__).parent / "two_cores_board"
BUNDLED = {name: ROOT / "models" / f"{name}.tflite" for name in ("digits", "keywords")}
TINY = ("ic", "kws", "vww", "ad")
HEAD = """\
| model | layers split | RAM, one core | two | instructions, one core | two | times as fast | by the estimate |
|---|---|---|---|---|---|---|---|"""
A_BARRIER = 12
"""Instructions of a barrier at which nobody waits, on a Cortex-M33."""
MACHINES = {
    "arm": ("mps2-an521", ["-global", "sse-200.CPU0_FPU=true", "-global", "sse-200.CPU0_DSP=true"]),
    "riscv": ("virt", ["-smp", "2"]),
}
"""Boards of QEMU with two equal cores."""
MEMORIES = {"arm": (0x10000000, 0x38000000), "riscv": (0x80000000, 0x80800000)}
SCRIPT = """
MEMORY {{ ROM (rx) : ORIGIN = {rom:#x}, LENGTH = 4M  RAM (rwx) : ORIGIN = {ram:#x}, LENGTH = 4M }}
SECTIONS {{
    .text : {{ KEEP(*(.vectors)) . = ALIGN(1024); KEEP(*(.vectors_1)) *(.text .text.*) }} > ROM
    .rodata : {{ *(.rodata .rodata.* .srodata .srodata.*) . = ALIGN(8); }} > ROM
    .data : ALIGN(8) {{ data_start = .; *(.data .data.* .sdata .sdata.*) . = ALIGN(8); data_end = .; }} > RAM AT > ROM
    data_image = LOADADDR(.data);
    .bss (NOLOAD) : ALIGN(16) {{ bss_start = .; *(.sbss .sbss.* .bss .bss.* COMMON) . = ALIGN(8); bss_end = .; }} > RAM
    .stacks (NOLOAD) : ALIGN(16) {{ . += 64K; stacks_top = .; }} > RAM
    /DISCARD/ : {{ *(.ARM.exidx* .ARM.extab* .eh_frame* .comment .note* .init_array* .fini_array* .tbss* .tdata*) }}
}}
"""


@dataclass(frozen=True)
class Counted:
    """Instructions of an inference."""

    core_0: int
    core_1: int
    longer: int
    """Of the core with more of them, between any two barriers."""
    barriers: int

    @property
    def taken(self) -> int:
        """The instructions from the first to the last, one after another."""
        return self.longer + A_BARRIER * self.barriers


def counted(compiled: Compiled, folder: Path) -> Counted:
    """Builds a model for a board with two cores and runs it; an error where the outputs differ from one core's."""
    target = compiled.settings.target
    compiled.write(folder)
    elf = _linked(compiled, target, folder)
    emulator = find_emulator(target, "qemu")
    plugin = folder / "count.so"
    interface = 2 if int(emulator.version.partition(".")[0]) >= 9 else 1
    flags = ["-shared", "-fPIC", "-fvisibility=hidden", "-O2", "-std=gnu99", f"-DMOTE_PLUGIN_VERSION={interface}"]
    _run(["cc", *flags, str(BOARD / "count.c"), "-o", str(plugin)])
    places = {"meet": (0, 0), **_symbols(elf)}
    begin, end, meet = (places[name][0] & ~1 for name in ("begin", "end", "meet"))
    given = f"begin={begin:#x},end={end:#x},from={meet:#x},to={meet + places['meet'][1]:#x}"
    machine, more = MACHINES[target.arch]
    quiet = ["-display", "none", "-monitor", "none", "-serial", "none", "-semihosting", "-d", "plugin"]
    said = _run(
        [
            *emulator.command,
            *("-M", machine, *more, *target.core.qemu_options, *quiet),
            *("-plugin", f"{plugin},{given}", "-kernel", str(elf)),
        ]
    )
    counts = re.search(r"core_0 (\d+) core_1 (\d+) longer (\d+) barriers (\d+)", said)
    assert counts, said
    return Counted(*map(int, counts.groups()))


def _linked(compiled: Compiled, target: Target, folder: Path) -> Path:
    """The ELF file of a model and the board's program."""
    compiler, how = find_compiler(target, "gcc"), optimization(compiled.settings.optimize, target.cpu)
    rom, ram = MEMORIES[target.arch]
    (folder / "board.ld").write_text(SCRIPT.format(rom=rom, ram=ram))
    flags = [*target.gcc_flags, *target.core.gcc_flags, how.level, *how.gcc, "-ffunction-sections", "-I."]
    own = ["-DMOTE_BARRIER=meet"] if compiled.settings.cores == 2 else []
    _run([*compiler.command, *flags, *own, "-c", f"{compiled.name}.c", "-o", "model.o"], folder)
    board = [str(BOARD / "board.c"), f"-DMODEL_CORES={compiled.settings.cores}"]
    _run([*compiler.command, *flags, "-c", *board, "-o", "board.o"], folder)
    link = ["-nostartfiles", "-static", "-Tboard.ld", "-Wl,--gc-sections"]
    _run([*compiler.command, *flags, *link, "model.o", "board.o", "-o", "board.elf", "-lm"], folder)
    return folder / "board.elf"


def _symbols(elf: Path) -> dict[str, tuple[int, int]]:
    """Address and size of the functions of an ELF file."""
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        return {s.name: (int(s["st_value"]), int(s["st_size"])) for s in table.iter_symbols()}


def _run(command: Sequence[str], folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def both(model: Any, core: str) -> tuple[Compiled, Counted, Compiled, Counted]:
    """A model for one core and for two, and what they take."""
    with TemporaryDirectory() as one, TemporaryDirectory() as two:
        single, double = (compile(model, target=core, name="model", cores=cores) for cores in (1, 2))
        return single, counted(single, Path(one)), double, counted(double, Path(two))


def row(name: str, model: Any, core: str) -> str:
    """A line of the table."""
    single, one, double, two = both(model, core)
    kernels = [steps[0].kernel for _, steps in double.plan.works]
    split = sum(isinstance(kernel, SplitKernel) for kernel in kernels)
    estimate = single.cost / double.cost
    return (
        f"| {name} | {split} of {len(kernels)} | {single.plan.ram:,} | {double.plan.ram:,} | {one.longer:,} |"
        f" {two.taken:,} | {one.longer / two.taken:.2f} | {estimate:.2f} |"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="model files (default: bundled and MLPerf Tiny)")
    parser.add_argument("--core", default="rp2350", help="target whose kernels are run (default: rp2350)")
    given = parser.parse_args(arguments)
    core = targets.load(given.core)
    assert core.arch in MACHINES, f"no board with two cores for {core.arch}"
    models: dict[str, Any] = {Path(path).stem: path for path in given.models}
    models = models or {**BUNDLED, **{name: mlperf_tiny.build(name) for name in TINY}}
    print(HEAD)
    for name, model in models.items():
        print(row(name, model, given.core), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
