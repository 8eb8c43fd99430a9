"""Several models that never run at the same time, in one project with a shared arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mote.compiler.budgets import check_flashes, over_budget
from mote.compiler.code_size import CodeSize, code_size
from mote.compiler.compiled import Compiled
from mote.compiler.line import emitted, given_model, golden, reading
from mote.compiler.settings import Settings, chosen_settings
from mote.emit.c.model.arenas import shared
from mote.emit.c.options import ProjectOptions
from mote.emit.c.project import Job, Project, generate_shared
from mote.errors import MoteError
from mote.package.description import Package, model_package
from mote.package.packagers import packaged, write_packages

FOLDER = "mote_models"
"""The name of the library; no model can have it."""


@dataclass(frozen=True)
class Shared:
    """Compiled models, each of which can be run and verified alone, and their common C project."""

    models: tuple[Compiled, ...]
    project: Project
    settings: Settings

    def __repr__(self) -> str:
        names = ", ".join(m.name for m in self.models)
        return f"<Shared {names} for {self.settings.target.name}: arena {self.arena:,} bytes>"

    @property
    def arena(self) -> int:
        """Bytes of all memories: the maximum over the models in each."""
        return self.project.arena

    @property
    def memories(self) -> dict[str, int]:
        """Bytes of each memory, where the target has several."""
        return {m.name: nbytes for m, nbytes in shared(c.plan for c in self.models).items() if m is not None}

    @property
    def path(self) -> str:
        return ", ".join(m.path for m in self.models)

    @property
    def package(self) -> Package:
        """The description of its C library for packagers."""
        return model_package(self.project, self.settings.target)

    def write(self, output: str | Path, package: Sequence[str] = (), *, force: bool = False) -> list[str]:
        """Writes the C project or packages of it, as `Compiled.write` does."""
        return write_packages(str(output), dict.fromkeys(package, self.package), self.package, force=force)


def compile_shared(models: Sequence[Any], settings: Settings | None = None, **options: Any) -> Shared:
    """Compiles models into one project with one arena of the largest model's size. Options as for `compile`."""
    settings = chosen_settings(settings, options)
    _check_settings(settings)
    if not isinstance(models, list | tuple):
        raise MoteError("one model was given, not a list of them", remedy="put it into a list, or use mote.compile")
    if not models:
        raise MoteError("no model was given")
    compiled = []
    for model in models:
        with reading(given_model(model, settings)) as subject:
            compiled.append(emitted(subject, settings))
    _check_names(compiled)
    parts = [Job(c.plan, replace(c.project.options, shared_arena=True), golden(c.plan.graph)) for c in compiled]
    folder = ProjectOptions(
        FOLDER,
        source=", ".join(m.options.source for m in parts),
        target=settings.target.name,
        optimize=settings.optimize,
        cpu=settings.target.cpu,
        core_flags=settings.target.gcc_flags,
        fused="fma" in settings.target.features,
    )
    alone, project = generate_shared(parts, folder)
    target = settings.target
    members = tuple(replace(c, project=packaged(p, target)) for c, p in zip(compiled, alone, strict=True))
    shared = Shared(members, packaged(project, target), settings)
    check_shared_budgets(shared, code=0)
    if settings.flash is not None:
        check_shared_code(shared)
    return shared


def check_shared_code(shared: Shared) -> list[CodeSize]:
    """Code sizes of the models, checked against the flash together with the constants."""
    codes = [code_size(compiled) for compiled in shared.models]
    check_shared_budgets(shared, sum(code.nbytes for code in codes), codes[0].what)
    return codes


def check_shared_budgets(shared: Shared, code: int, what: str = "code") -> None:
    """Refuses models that do not fit together, with the numbers; `what` is the label of the code."""
    s, project = shared.settings, shared.project
    check_flashes(project, s, code, shared.path)
    over_budget("RAM", {"shared arena": project.arena}, s.ram_limit, s, shared.path)
    over_budget("flash", {"constants": project.constants, what: code}, s.flash_limit, s, shared.path)


def _check_settings(settings: Settings) -> None:
    if settings.name:
        raise MoteError(
            "several models cannot have one name",
            where="option name",
            remedy="omit it: each model is called as its file",
        )
    if settings.place_code != "flash":
        raise MoteError(
            "code in RAM is not counted for models that share an arena",
            where="option place_code",
            remedy="compile the models one by one",
        )
    if settings.step:
        raise MoteError(
            "how long a step takes is not measured for models that share an arena",
            where="option step",
            remedy="compile the models one by one with --step to see it; the step functions are there without it",
        )
    if settings.instances:
        raise MoteError(
            "the shared arena is a variable, and a model with instances has none",
            where="option instances",
            remedy="compile the models one by one with --instances --caller-arena, and pass the same memory to"
            " every init()",
        )
    if settings.caller_arena:
        raise MoteError(
            "an arena of the caller's is not the shared one",
            where="option caller_arena",
            remedy="compile the models one by one with --caller-arena, and pass the same memory to every init()",
        )


def _check_names(compiled: Sequence[Compiled]) -> None:
    """Checks that files and symbols differ, also for case-insensitive file systems and macros."""
    owner: dict[str, Compiled] = {}
    for c in compiled:
        for file in (f"{c.name}.c", f"{c.name}_constants.c"):
            other = owner.setdefault(file.lower(), c)
            if other is not c:
                raise MoteError(
                    f"the C of '{other.name}' ({other.path}) and '{c.name}' would have the same names",
                    where=c.path,
                    remedy="rename one of the model files",
                )
