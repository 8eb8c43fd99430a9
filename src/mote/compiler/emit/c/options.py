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
"""Linker section of code that is executed from RAM."""
CONSTANTS = Memory("RAM for constants", "ram", 1 << 40, section=".data.mote_constants")
"""Stands for constants that start-up code copies to RAM with .data; budgets limit how many."""
STEP_INPUTS = 3
"""Number of inferences in which the longest step is measured."""
STEP_MARGIN = 5
"""Percent added to the longest measured step, since some kernels take longer for some values."""


@dataclass(frozen=True)
class Built:
    """Measurements of a linked model, and the compiler that built it."""

    compiler: str
    code: int
    """Bytes of code."""
    constants: int
    """Bytes of constants, with the parameters of kernel calls."""
    stack: int | None = None
    """Worst-case bytes of stack of a run; None if unknown."""


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
    """Optimization policy of the C compiler: a key of `mote.hardware.targets.flags.OPTIMIZATION`."""
    cpu: str = ""
    """Name of the target's core."""
    core_flags: tuple[str, ...] = ()
    """gcc flags that select the core."""
    native: bool = False
    """Whether measurements use all instructions of this computer."""
    instruction_sets: tuple[str, ...] = SETS
    """Instruction sets of the core: kernel files for other ones are not written."""
    fused: bool = False
    """Whether float32 products are accumulated with fused multiply-add."""
    single_file: bool = False
    caller_arena: bool = False
    instances: bool = False
    """Whether all variables are members of a struct that the caller allocates and passes to every function."""
    cpp: bool = False
    """Whether a C++ class is generated as well."""
    estimate: str = ""
    """Estimated cost of an inference, and of one with a training step, as text with the unit."""
    built: Built | None = None
    """Measurements of the linked model."""
    longest_step: int | None = None
    """Instructions of the longest measured step plus STEP_MARGIN percent; no upper bound."""
    model: int = 0
    """CRC-32 of the model file, so that no model restores a state that another one has saved."""
    digest: str = ""
    """SHA-256 of the model file in hexadecimal; empty if there is no file."""
    version: str = ""
    """The model's version in the metadata of its file."""
    labels: tuple[tuple[str, ...], ...] = ()
    """Class names of each output."""
    normalizations: tuple[Normalization, ...] = ()
    """Normalization of each input."""
    check_flash: bool = False
    """Whether init checks constants in flash."""
    shared_arena: bool = False
    """Whether the arena is the one in mote_models.c that several models share."""
    keep_outputs: bool = False
    """Whether outputs are copied out of the arena, so that runs of other models do not overwrite them."""
    keep_status: bool = False
    """Whether the status of the last run is stored, as one call runs several models."""
    samples: int = 0
    """Sensor samples per inference, if the caller may push any number of them at a time; 0: it pushes whole rows."""
    flashes: tuple[Memory, ...] = ()
    """Memories for constants, fastest first: `CONSTANTS`, or flash; empty if the linker decides."""
    cipher: WeightCipher | None = None
    """The cipher that encrypts constants; None: they are not encrypted."""
    flash_apart: bool = False
    """Whether data loads do not reach flash (AVR): constants there have an attribute, and are copied or read by special
    instructions."""
    code_in_ram: bool = False
    """Whether inner loops are in a linker section that start-up code copies to RAM."""

    @property
    def flash_mark(self) -> str:
        """The attribute of constants in flash with a space before it; empty if data loads reach flash."""
        return " MOTE_FLASH" if self.flash_apart else ""

    @property
    def optimization(self) -> Optimization:
        """The C compiler's optimization flags."""
        return optimization(self.optimize, self.cpu)

    @property
    def only_gcc(self) -> tuple[str, ...]:
        """Compiler flags that only gcc has, which do not depend on the core."""
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
