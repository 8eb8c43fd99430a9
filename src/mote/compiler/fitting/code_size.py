"""Flash of a model: of the linked firmware if there is a compiler for the core, else with an estimate of its code."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.compiler.checks.budgets import check_budgets
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.options import Built
from mote.compiler.emit.c.project import Project
from mote.compiler.emit.c.ramcode import hot_files
from mote.compiler.firmware import Firmware, firmware, linked, several_firmware, stack_of
from mote.hardware import toolchain
from mote.hardware.toolchain import Compiler
from mote.hardware.toolchain.builder import board_of

CODE, CODE_PER_FILE, CODE_PER_OPERATOR = 4096, 2560, 64
"""Estimated bytes of code without a compiler: per model, per kernel header and per operator."""
LARGEST = 2
"""Safety factor for the code size of external functions, which was measured with another compiler or flags."""
ON_HOST = "the host's code is not a microcontroller's"
"""The reason for an estimate on the host."""


@dataclass(frozen=True)
class CodeSize:
    """Bytes of a model's code: measured in the linked firmware; or an upper estimate, and the reason why it is none."""

    nbytes: int
    constants: int
    """Bytes of constants: measured, with the parameters of kernel calls and constants of the C library; or without
    them."""
    estimated: str = ""
    """The reason why `nbytes` is an estimate; empty if it was measured."""
    ram: int = 0
    """Bytes of code copied to RAM."""
    built: Built | None = None
    """Measurements of the linked model (compiler, code size, stack) for the generated header."""

    @property
    def flash(self) -> int:
        """Bytes of constants and code."""
        return self.constants + self.nbytes

    @property
    def what(self) -> str:
        """The label of `nbytes` in messages."""
        return "code, by an estimate on the safe side" if self.estimated else "code"


def code_size(compiled: Compiled) -> CodeSize:
    """The code size of the linked firmware without the harness, or an estimate."""
    target, constants = compiled.settings.target, compiled.project.constants
    if target.is_host:
        return CodeSize(_estimate(compiled), constants, ON_HOST)
    in_ram = compiled.project.options.code_in_ram
    try:
        compiler = toolchain.find_compiler(target)
        board_of(target)
    except MoteError as error:
        hot = len(hot_files(compiled.plan)) if in_ram else 0
        return CodeSize(_estimate(compiled), constants, error.reason, CODE_PER_FILE * hot)
    return _linked(firmware(compiled), compiler, constants)


def with_built(compiled: Compiled, code: CodeSize) -> Compiled:
    """The model with the measurements of its code in the generated header, if there are any."""
    return compiled if code.built is None else compiled.with_built(code.built)


def several_code_size(models: Sequence[Compiled], *projects: Project) -> CodeSize:
    """The code size of several models in one firmware: of the linked firmware without the harness, or an estimate that
    counts shared kernels once. `projects`: their C, as one project or one for each model."""
    target, constants = models[0].settings.target, sum(project.constants for project in projects)
    if target.is_host:
        return CodeSize(_estimate(*models), constants, ON_HOST)
    try:
        compiler = toolchain.find_compiler(target)
        board_of(target)
    except MoteError as error:
        return CodeSize(_estimate(*models), constants, error.reason)
    return _linked(several_firmware(models, *projects), compiler, constants)


def _linked(what: Firmware, compiler: Compiler, arrays: int) -> CodeSize:
    """The sizes of linked firmware, whose models have `arrays` bytes of constant arrays."""
    with temporary_folder() as folder:
        elf = linked(what, compiler, folder)
        sizes = toolchain.sizes(elf, what.target)
        stack = _stack(elf, what.learning)
    assert sizes is not None
    constants = max(sizes.constants, arrays)
    built = Built(f"{compiler.kind} {compiler.version}".strip(), sizes.code, constants, stack)
    return CodeSize(sizes.code, constants, ram=sizes.ram_code, built=built)


def _stack(elf: Path, learning: Sequence[str]) -> int | None:
    """The worst-case stack of a model in bytes; None if it cannot be derived from the code."""
    with suppress(MoteError):
        return stack_of(elf, learning)
    return None


def _estimate(*models: Compiled) -> int:
    """An upper estimate of code size in bytes, for any core and optimization level."""
    plans = [plan for compiled in models for plan in compiled.plan.all]
    files = {step.kernel.files for plan in plans for step in plan.steps}
    operators = sum(len(plan.works) for plan in plans)
    linked = dict(function for plan in plans for step in plan.steps for function in step.kernel.price.linked)
    own = CODE * len(models) + CODE_PER_FILE * len(files) + CODE_PER_OPERATOR * operators
    return own + LARGEST * sum(linked.values())


def checked_code(compiled: Compiled) -> CodeSize:
    """The code size; raises BudgetError if code and constants exceed the flash."""
    code = code_size(compiled)
    check_budgets(compiled, code.nbytes, what=code.what, constants=code.constants)
    return code
