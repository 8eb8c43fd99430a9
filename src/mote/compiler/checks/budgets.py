"""Budgets: refuses a model that exceeds a part's memories or the user's limits, with the numbers."""

from __future__ import annotations

from mote.base.errors import BudgetError, MoteError
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.project import Project
from mote.compiler.settings import PlanOptions
from mote.ir.graph import Graph

NEAR_FLASH = 0xFF00
"""Bytes of AVR program memory after the interrupt vectors that 16-bit addresses (`lpm`) reach."""


def check_apart(graph: Graph, settings: PlanOptions, where: str) -> None:
    """Refuses encryption and control flow on cores whose loads do not reach program memory (AVR): both read constants
    as data."""
    core = settings.target.core
    if not core.flash_apart:
        return
    if settings.encrypt:
        raise MoteError(
            f"constants cannot be decrypted from the program memory of {core.title}",
            where=where,
            remedy="omit --encrypt",
        )
    flow = next((op for op in graph.ops if op.bodies), None)
    if flow is not None:
        raise MoteError(
            f"control flow does not run on {core.title}: its bodies take constants as data",
            where=flow.where,
            remedy="use a core with one address space, or a model without control flow",
        )


def check_budgets(compiled: Compiled, code: int, stack: int = 0, what: str = "code", constants: int = 0) -> None:
    """Refuses a model that does not fit, with the numbers. `code`, `stack` and `constants` (with the parameters of
    kernel calls) are 0 while unknown; `what`: label of the code in errors. The RAM of the part must hold the stack as
    well; a RAM budget covers planned memory only."""
    s, planned = compiled.settings, {"arena": compiled.plan.arena, "counters": compiled.plan.static}
    planned |= {"code in RAM": compiled.ram_beside, "constants in RAM": compiled.ram_constants}
    if compiled.ram_code and not compiled.ram_beside:
        memory = s.target.code_rams[0]
        over_budget(memory.name, {"code": compiled.ram_code}, memory.size, s, compiled.path)
    constants = max(constants, compiled.project.constants)
    check_flashes(compiled.project, s, code + constants - compiled.project.constants, compiled.path)
    if s.target.core.flash_apart and compiled.project.constants > NEAR_FLASH:
        raise BudgetError(
            f"has {compiled.project.constants:,} bytes of constants, and the {NEAR_FLASH:,} that 16-bit addresses of"
            " program memory reach must hold them all",
            where=f"{compiled.path} on {s.target.name}",
            remedy="use a smaller model, or a core with one address space",
        )
    over_budget("RAM", planned, s.ram, s, compiled.path)
    over_budget("RAM", {**planned, "stack": stack}, s.target.ram, s, compiled.path)
    over_budget("flash", {"constants": constants, what: code}, s.flash_limit, s, compiled.path)


def over_budget(what: str, parts: dict[str, int], limit: int | None, settings: PlanOptions, path: str) -> None:
    """Refuses parts whose sum exceeds a limit."""
    need = sum(parts.values())
    if limit is not None and need > limit:
        shown = " + ".join(f"{name} {nbytes}" for name, nbytes in parts.items() if nbytes)
        raise BudgetError(
            f"needs {need:,} bytes of {what} ({shown}), {need - limit:,} more than the {limit:,} that are there",
            where=f"{path} on {settings.target.name}",
            remedy=f"use a part with more {what}, a smaller model, or a larger --{what.lower()} budget",
        )


def check_flashes(project: Project, settings: PlanOptions, code: int, path: str) -> None:
    """Refuses constants that exceed the flash memories assigned to them; code, with all that is not assigned, is
    counted in the fastest one."""
    for i, memory in enumerate(settings.target.choice("flash")):
        need = project.flash[memory.name] + (0 if i else code)
        over = need - memory.size
        if over > 0:
            raise BudgetError(
                f"needs {need:,} bytes of {memory.name}, {over:,} more than the {memory.size:,} that are there",
                where=f"{path} on {settings.target.name}",
                remedy=f"use a part with more {memory.name}, or a smaller model",
            )


def too_slow(settings: PlanOptions, cycles: int, where: str) -> BudgetError:
    """The error for a fastest plan that exceeds the time limit."""
    limit, clock = settings.cycle_limit, settings.target.clock_hz
    assert limit is not None
    over = cycles - limit
    time = f", {over / clock * 1e3:,.3g} ms at {clock / 1e6:g} MHz" if clock else ""
    budgets = " within the budget of RAM or flash" if settings.ram is not None or settings.flash is not None else ""
    return BudgetError(
        f"takes about {cycles:,} cycles at least{budgets}, by the estimate, {over:,} ({over / limit:.1%}{time}) more"
        f" than the {limit:,} that it may take",
        where=f"{where} on {settings.target.name}",
        remedy="use a faster part, a smaller model, or a larger --latency or --cycles budget",
    )
