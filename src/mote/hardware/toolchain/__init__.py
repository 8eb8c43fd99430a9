"""Compilers, emulators and ELF files: from a generated C project to outputs and exact counts.

`build` compiles a model with the test harness, `execute` runs it, `sizes` measures flash and RAM, `worst_stack` bounds
the stack."""

from mote.hardware.toolchain.builder import Mode, build
from mote.hardware.toolchain.compilers import Compiler, find_compiler
from mote.hardware.toolchain.elf import Sizes, sizes
from mote.hardware.toolchain.emulators import Emulator, as_run, execute, find_emulator
from mote.hardware.toolchain.harness_protocol import Execution
from mote.hardware.toolchain.stack import Frame, Stack, worst_stack

__all__ = [
    "Compiler",
    "Emulator",
    "Execution",
    "Frame",
    "Mode",
    "Sizes",
    "Stack",
    "as_run",
    "build",
    "execute",
    "find_compiler",
    "find_emulator",
    "sizes",
    "worst_stack",
]
