"""Compilers, emulators and ELF files: from a generated C project to outputs and exact numbers.

`build` compiles a model with the harness, `execute` runs it, `sizes` says what flash and RAM it takes, `worst_stack`
how much stack.
`doctor` lists the tools that all of this can use.
"""

from mote.toolchain.builder import Mode, build
from mote.toolchain.compilers import Compiler, find_compiler
from mote.toolchain.doctor import Diagnosis, Finding, doctor
from mote.toolchain.elf import Sizes, sizes
from mote.toolchain.emulators import Emulator, as_run, execute, find_emulator
from mote.toolchain.harness_protocol import Execution
from mote.toolchain.stack import Frame, Stack, worst_stack

__all__ = [
    "Compiler",
    "Diagnosis",
    "Emulator",
    "Execution",
    "Finding",
    "Frame",
    "Mode",
    "Sizes",
    "Stack",
    "as_run",
    "build",
    "doctor",
    "execute",
    "find_compiler",
    "find_emulator",
    "sizes",
    "worst_stack",
]
