"""Options of the generated C."""

from __future__ import annotations

from dataclasses import dataclass

from mote.base.text import printable
from mote.compiler.emit.c.c import Comment
from mote.compiler.emit.c.encryption import WeightCipher
from mote.compiler.emit.licence import SPDX
from mote.compiler.kernels.files import SETS
from mote.hardware.targets import Memory
from mote.hardware.targets.flags import NATIVE, UNFUSED, Optimization, only_gcc, optimization
from mote.ir.graph.tensor import Normalization
from mote.version import __version__

RAMFUNC_SECTION = ".mote_ramfunc"
"""The linker section of code executed from RAM."""
CONSTANTS = Memory("RAM for constants", "ram", 1 << 40, section=".data.mote_constants")
"""The place of constants that start-up code copies to RAM, as it does all of .data; budgets limit it."""
STEP_INPUTS = 3
"""Inferences that the longest step is looked for in."""
STEP_MARGIN = 5
"""Percent that are stated beside it, since a few kernels take longer for some values."""


@dataclass(frozen=True)
class Built:
    """Measurements of a linked model, and the compiler that it was built by."""

    compiler: str
    code: int
    """Bytes of code."""
    stack: int | None = None
    """The most bytes of stack that a run takes; None where that is unknown."""


@dataclass(frozen=True)
class ProjectOptions:
    """Options of the generated C."""

    name: str
    source: str = ""
    """The model file's name, for the comment at the top."""
    notes: tuple[str, ...] = ()
    """Notes for users, in the comment at the top of the header."""
    target: str = "host"
    optimize: str = "balanced"
    """The C compiler's optimization: a key of `mote.hardware.targets.flags.OPTIMIZATION`."""
    cpu: str = ""
    """The target's core."""
    core_flags: tuple[str, ...] = ()
    """gcc flags that select the core."""
    native: bool = False
    """It is measured with all instructions of this computer."""
    instruction_sets: tuple[str, ...] = SETS
    """Instruction sets of the core for which the kernel library has files: those of others are not written."""
    fused: bool = False
    """Float32 products are accumulated with fused multiply-add."""
    single_file: bool = False
    caller_arena: bool = False
    instances: bool = False
    """All variables are members of a struct that the caller makes and every function takes a pointer to."""
    cpp: bool = False
    """There is a C++ class, too."""
    estimate: str = ""
    """Estimated cost of an inference, with its unit, and of one that learns."""
    built: Built | None = None
    """Measurements of the linked model."""
    longest_step: int | None = None
    """Instructions of the longest step that was measured, with STEP_MARGIN: no bound."""
    model: int = 0
    """CRC-32 of the model file: a state saved by one model is not restored by another."""
    digest: str = ""
    """SHA-256 of the model file in hexadecimal; empty where there is no file."""
    version: str = ""
    """The model's version, as its file says."""
    labels: tuple[tuple[str, ...], ...] = ()
    """Class names of each output."""
    normalizations: tuple[Normalization, ...] = ()
    """Normalization of each input."""
    check_flash: bool = False
    """Init verifies constants in flash."""
    shared_arena: bool = False
    """The arena is that of mote_models.c, which other models use as well."""
    keep_outputs: bool = False
    """Outputs are copied out of the arena, where they outlive runs of other models."""
    keep_status: bool = False
    """The status of the last run is kept, too: one call runs several models."""
    samples: int = 0
    """Samples of a sensor that an inference takes, where the caller pushes any number of them; 0: it pushes rows."""
    flashes: tuple[Memory, ...] = ()
    """Memories for constants, fastest first: `CONSTANTS`, or flash; empty where there is no choice."""
    cipher: WeightCipher | None = None
    """Encrypts the constants of kernels."""
    flash_apart: bool = False
    """Loads of data do not reach flash: constants there are marked, and copied or read by other means."""
    code_in_ram: bool = False
    """Inner loops are in a section that the start-up code copies to RAM."""

    @property
    def flash_mark(self) -> str:
        """The attribute of constants in flash behind a space, where loads of data do not reach them."""
        return " MOTE_FLASH" if self.flash_apart else ""

    @property
    def optimization(self) -> Optimization:
        """The C compiler's optimization flags."""
        return optimization(self.optimize, self.cpu)

    @property
    def only_gcc(self) -> tuple[str, ...]:
        """gcc-only flags, for any core that the user's flags choose."""
        return only_gcc(self.core_flags, self.optimization)

    @property
    def measured(self) -> str:
        """A sentence on how the model was built for measurements."""
        how = self.optimization
        flags = " ".join([*self.core_flags, how.level, *how.gcc, *((NATIVE[0], UNFUSED) if self.native else ())])
        return printable(f"What Mote measures on {self.target} is built by gcc with {flags}.")


def banner(options: ProjectOptions, what: str) -> Comment:
    """The comment at the top of a generated file."""
    made = f"Generated by Mote {__version__} from {options.source} for {options.target}."
    return Comment(f"{SPDX}\n{what}\n\n{made}\nDo not edit: generate it again instead.")
