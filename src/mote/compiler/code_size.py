"""The size of a model's code: that of the linked firmware where there is a compiler for the core."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from mote import toolchain
from mote.compiler.budgets import check_budgets
from mote.compiler.compiled import Compiled
from mote.compiler.firmware import Bench, firmware
from mote.compiler.settings import Settings
from mote.emit.c.ramcode import hot_files
from mote.errors import BudgetError, MoteError
from mote.files import temporary_folder
from mote.toolchain import Emulator, Mode

CODE, CODE_PER_FILE, CODE_PER_OPERATOR = 4096, 2560, 64
"""Bytes of code that a model is thought to take where it cannot be compiled: for itself, for each header of kernels and
for each operator."""
REPLANNED = 3
"""How often a model is planned anew when its code takes RAM: another plan may have other code."""


@dataclass(frozen=True)
class CodeSize:
    """Bytes of a model's code: those of the linked firmware, or an estimate on the safe side and the reason for it."""

    nbytes: int
    estimated: str = ""
    ram: int = 0
    """Bytes of it that are copied to RAM."""

    @property
    def what(self) -> str:
        """What it is called in messages."""
        return "code, by an estimate on the safe side" if self.estimated else "code"


def code_size(compiled: Compiled) -> CodeSize:
    """Of the linked firmware without the harness, where there is a compiler for the core."""
    target = compiled.settings.target
    if target.is_host:
        return CodeSize(_estimate(compiled), "the host's code is not a microcontroller's")
    in_ram = compiled.project.options.code_in_ram
    try:
        found = toolchain.find_compiler(target)
    except MoteError as error:
        hot = len(hot_files(compiled.plan)) if in_ram else 0
        return CodeSize(_estimate(compiled), error.reason, CODE_PER_FILE * hot)
    with temporary_folder() as folder:
        elf = Bench(firmware(compiled), found, Emulator("none", (), ""), folder).elf(Mode.MEASURE)
        sizes = toolchain.sizes(elf, target)
    assert sizes is not None
    return CodeSize(sizes.code, ram=sizes.ram_code)


def _estimate(compiled: Compiled) -> int:
    """More than any model so far has taken on any core, with any optimization."""
    plans = compiled.plan.all
    files = {step.kernel.file for plan in plans for step in plan.steps}
    return CODE + CODE_PER_FILE * len(files) + CODE_PER_OPERATOR * sum(len(plan.works) for plan in plans)


def checked_code(compiled: Compiled) -> CodeSize:
    """The size of the code, which is held against the flash together with the constants."""
    code = code_size(compiled)
    check_budgets(compiled, code.nbytes, what=code.what)
    return code


def beside_code(compiled: Compiled, again: Callable[[Settings], Compiled]) -> Compiled:
    """A model whose code is in RAM, within what that leaves of a budget: planned again where it was too much."""
    for _ in range(REPLANNED):
        settings = replace(compiled.settings, ram_code=code_size(compiled).ram)
        found = replace(compiled, settings=settings)
        with suppress(BudgetError):
            check_budgets(found, code=0)
            return found
        compiled = again(settings)
    check_budgets(found, code=0)
    return found
