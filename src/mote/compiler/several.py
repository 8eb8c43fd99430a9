"""Several models in one project: apart, or in one arena in which they take turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from mote.compiler.budgets import check_flashes, over_budget
from mote.compiler.code_size import CodeSize, code_size, several_code_size
from mote.compiler.compiled import Compiled
from mote.compiler.line import emitted, given_model, golden, reading
from mote.compiler.settings import Settings, chosen_settings
from mote.emit.c.model.arenas import shared
from mote.emit.c.options import ProjectOptions
from mote.emit.c.project import Job, Project, generate_several
from mote.errors import MoteError
from mote.package.description import Package, model_package
from mote.package.packagers import packaged, write_packages

FOLDER = "mote_models"
"""The name of the library and of its C file; no model can have it."""


class Running(StrEnum):
    """When the models of a project run."""

    APART = "apart"
    """At any time, interleaved with each other: each has an arena of its own."""
    TURNS = "turns"
    """Never at the same time: one arena for all."""


@dataclass(frozen=True)
class CompiledModels:
    """Compiled models, each of which can be run and verified alone with an arena of its own, and their common C."""

    models: tuple[Compiled, ...]
    project: Project
    settings: Settings
    running: Running

    def __repr__(self) -> str:
        names = ", ".join(m.name for m in self.models)
        return f"<CompiledModels {names} for {self.settings.target.name}, {self.running}: arena {self.arena:,} bytes>"

    @property
    def arena(self) -> int:
        """Bytes of all arenas and memories: the maximum over models that share one, else the sum."""
        return self.project.arena

    @property
    def static(self) -> int:
        """Bytes of counters and states, which each model has for itself."""
        return sum(m.plan.static for m in self.models)

    @property
    def memories(self) -> dict[str, int]:
        """Bytes of the arenas in each memory, where the target has several."""
        groups = [[m.plan for m in self.models]] if self.running != Running.APART else [[m.plan] for m in self.models]
        sizes: dict[str, int] = {}
        for memory, nbytes in (item for plans in groups for item in shared(plans).items()):
            if memory is not None:
                sizes[memory.name] = sizes.get(memory.name, 0) + nbytes
        return sizes

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


def compile_several(
    models: Sequence[Any], settings: Settings | None = None, *, running: str = Running.APART, **options: Any
) -> CompiledModels:
    """Compiles models into one project, in which they share kernels. Options as for `compile`; `running` says when the
    models run (`Running`), and so which memory they share."""
    settings = chosen_settings(settings, options)
    if running not in tuple(Running):
        raise MoteError(f"'{running}' is not one of {', '.join(Running)}", where="option running")
    _check_settings(settings)
    if not isinstance(models, list | tuple):
        raise MoteError("one model was given, not a list of them", remedy="put it into a list, or use mote.compile")
    if not models:
        raise MoteError("no model was given")
    compiled = []
    for model in models:
        with reading(given_model(model, settings)) as subject:
            compiled.append(emitted(subject, settings))
    one_arena = running != Running.APART
    jobs = [Job(c.plan, replace(c.project.options, shared_arena=one_arena), golden(c.plan.graph)) for c in compiled]
    folder = ProjectOptions(
        FOLDER,
        source=", ".join(job.options.source for job in jobs),
        target=settings.target.name,
        optimize=settings.optimize,
        cpu=settings.target.cpu,
        core_flags=settings.target.gcc_flags,
        fused="fma" in settings.target.features,
        single_file=settings.single_file,
    )
    project = packaged(generate_several(jobs, folder), settings.target)
    several = CompiledModels(tuple(compiled), project, settings, Running(running))
    check_several(several, code=0)
    if settings.flash is not None:
        check_several_code(several)
    return several


def compile_shared(models: Sequence[Any], settings: Settings | None = None, **options: Any) -> CompiledModels:
    """Compiles models that take turns into one project with one arena of the largest model's size."""
    return compile_several(models, settings, running=Running.TURNS, **options)


@dataclass(frozen=True)
class JointCode:
    """Code sizes of several models."""

    alone: tuple[CodeSize, ...]
    """Of each in a firmware without the others."""
    together: CodeSize
    """Of the project."""
    apart: CodeSize
    """Of all in one firmware, each compiled for itself, with its own copy of the kernels."""


def check_several_code(several: CompiledModels) -> JointCode:
    """Code sizes of the models, of which that of the project is checked against the flash with the constants."""
    models = several.models
    together = several_code_size(models, several.project)
    check_several(several, together.nbytes, together.what)
    apart = several_code_size(models, *(m.project for m in models))
    return JointCode(tuple(map(code_size, models)), together, apart)


def check_several(several: CompiledModels, code: int, what: str = "code") -> None:
    """Refuses models that do not fit together, with the numbers; `what` is the label of the code."""
    s, project = several.settings, several.project
    arena = "arenas" if several.running == Running.APART else "shared arena"
    check_flashes(project, s, code, several.path)
    over_budget("RAM", {arena: project.arena, "counters": several.static}, s.ram_limit, s, several.path)
    over_budget("flash", {"constants": project.constants, what: code}, s.flash_limit, s, several.path)


def _check_settings(settings: Settings) -> None:
    if settings.labels:
        raise MoteError(
            "several models do not have the same classes",
            where="option labels",
            remedy="omit it, or compile the models one by one",
        )
    if settings.name:
        raise MoteError(
            "several models cannot have one name",
            where="option name",
            remedy="omit it: each model is called as its file",
        )
    if settings.place_code != "flash":
        raise MoteError(
            "code in RAM is not counted for several models of one project",
            where="option place_code",
            remedy="compile the models one by one",
        )
    if settings.step:
        raise MoteError(
            "how long a step takes is not measured for several models of one project",
            where="option step",
            remedy="compile the models one by one with --step to see it; the step functions are there without it",
        )
    if settings.instances:
        raise MoteError(
            "arenas of several models of one project are variables, and a model with instances has none",
            where="option instances",
            remedy="compile the models one by one with --instances; where they take turns, with --caller-arena too, and"
            " pass the same memory to every init()",
        )
    if settings.caller_arena:
        raise MoteError(
            "an arena of the caller's is not one of the project",
            where="option caller_arena",
            remedy="compile the models one by one with --caller-arena, and pass the same memory to every init()",
        )
