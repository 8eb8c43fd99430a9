"""Several models in one project: with separate arenas, with one arena that they use in turns, or all run on each
input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Unpack

from mote.base.errors import MoteError
from mote.base.notebook import table
from mote.base.option import RestrictedUse, check_use
from mote.base.results import Result
from mote.compiler.checks.budgets import check_flashes, over_budget
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.model.arenas import shared
from mote.compiler.emit.c.model.together import frame_bytes
from mote.compiler.emit.c.model.variables import result_bytes
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.project import Job, Project, generate_several
from mote.compiler.fitting.code_size import CodeSize, code_size, several_code_size
from mote.compiler.fitting.reserve import USUAL_CODE, Reserve
from mote.compiler.given import CompileOptions
from mote.compiler.line import emitted, golden
from mote.compiler.package.description import Package, model_package
from mote.compiler.package.packagers import packaged, write_packages
from mote.compiler.settings import TABLE, Settings, chosen_settings
from mote.compiler.subject import given_model, reading
from mote.ir.graph import Tensor
from mote.ir.graph.io_order import model_shape

FOLDER = "mote_models"
"""Name of the library of several models and of its C file; no model can have it."""


class Running(StrEnum):
    """When the models of a project run."""

    APART = "apart"
    """At any time, interleaved with each other: each has an arena of its own."""
    TURNS = "turns"
    """Never at the same time: one arena for all."""
    TOGETHER = "together"
    """All on each input, one after another: one arena, one input, one call for all."""


@dataclass(frozen=True, repr=False)
class CompiledModels(Result):
    """Compiled models, each of which can be run and verified alone with an arena of its own, and their common C."""

    LINE = "{models.name:list} for {settings.target.name}, {running}: arena {arena:,} bytes"
    TITLE = "{models!n} models for {settings.target.name}, {running}"
    FACTS = "arena:size, static:size, constants=project.constants:size"
    JSON = (
        "models, target=settings.target.name, running:s, files=project.files:sorted, ram.arena=arena,"
        " ram.static=static, ram.edges=edges, ram.memories=memories, flash.constants=project.constants,"
        " flash.memories=project.flash"
    )

    models: tuple[Compiled, ...]
    """The models, each compiled for itself."""
    project: Project
    """The common C project."""
    settings: Settings
    """The settings of all models."""
    running: Running
    """When the models run, which decides what memory they share."""

    @property
    def arena(self) -> int:
        """Bytes of all arenas and memories: the maximum over models that share one, else the sum."""
        return self.project.arena

    @property
    def static(self) -> int:
        """Bytes of counters and persistent state, which models never share."""
        return sum(m.plan.static for m in self.models)

    @property
    def edges(self) -> int:
        """Bytes of the input and the outputs outside of the arena, where all models run on one input."""
        return _edges(self.models) if self.running == Running.TOGETHER else 0

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
        """The paths of all models, with commas between."""
        return ", ".join(m.path for m in self.models)

    @property
    def package(self) -> Package:
        """The description of the common C library for packagers."""
        return model_package(self.project, self.settings.target)

    def write(self, output: str | Path, package: Sequence[str] = (), *, force: bool = False) -> list[str]:
        """Writes the C project or packages of it, as `Compiled.write` does."""
        return write_packages(str(output), dict.fromkeys(package, self.package), self.package, force=force)

    def _parts(self) -> list[str]:
        rows = [(m.name, m.path, m.plan.arena, m.project.constants, m.cost, m.macs) for m in self.models]
        head = ("name", "model", "arena", "constants", f"estimated {self.settings.costs.unit}", "MACs")
        return [table(head, rows, left=2)]


def compile_several(
    models: Sequence[Any],
    settings: Settings | None = None,
    *,
    running: str = Running.APART,
    **options: Unpack[CompileOptions],
) -> CompiledModels:
    """Compiles models into one project, in which they share kernels. Options as for `compile`; `running` says when the
    models run (`Running`), which decides what memory they share."""
    settings = chosen_settings(settings, options)
    if running not in tuple(Running):
        raise MoteError(f"'{running}' is not one of {', '.join(Running)}", where="option running")
    check_use(TABLE, settings, RestrictedUse.SEVERAL)
    if not isinstance(models, list | tuple):
        raise MoteError("one model was given, not a list of them", remedy="put it into a list, or use mote.compile")
    if not models:
        raise MoteError("no model was given")
    compiled = _compiled(models, settings, Running(running))
    if running == Running.TOGETHER:
        _check_inputs(compiled)
    one_arena, together = running != Running.APART, running == Running.TOGETHER
    options_of = [
        replace(
            c.project.options,
            shared_arena=one_arena,
            keep_outputs=together or c.project.options.keep_outputs,
            keep_status=together,
        )
        for c in compiled
    ]
    jobs = [Job(c.plan, own, golden(c.plan.graph)) for c, own in zip(compiled, options_of, strict=True)]
    folder = ProjectOptions(
        FOLDER,
        source=", ".join(job.options.source for job in jobs),
        target=settings.target.name,
        optimize=settings.built_for,
        cpu=settings.target.cpu,
        core_flags=settings.target.core_flags,
        native=settings.target.is_native,
        fused="fma" in settings.target.features,
        single_file=settings.single_file,
        keep_outputs=together,
    )
    project = packaged(generate_several(jobs, folder), settings.target)
    several = CompiledModels(tuple(compiled), project, settings, Running(running))
    check_several(several, code=0)
    if settings.flash is not None:
        check_several_code(several)
    return several


def _compiled(models: Sequence[Any], settings: Settings, running: Running) -> list[Compiled]:
    """Compiles the models one by one. Within a RAM budget, each model may use what earlier ones leave, minus the least
    that later ones and memory outside of a shared arena need."""
    if settings.ram is None or len(models) == 1:
        return [_emitted(model, settings) for model in models]
    least = [_emitted(model, replace(settings, ram=None, least_ram=True)) for model in models]
    edges = _edges(least) if running == Running.TOGETHER else 0
    needs = [c.plan.static + (c.plan.arena if running == Running.APART else 0) for c in least]
    compiled: list[Compiled] = []
    for i, model in enumerate(models):
        left = settings.ram - sum(needs) + needs[i] - edges
        compiled.append(_emitted(model, replace(settings, ram=max(left, 0))))
        if running == Running.APART:
            needs[i] = compiled[-1].plan.arena + compiled[-1].plan.static
    return compiled


def _emitted(model: Any, settings: Settings) -> Compiled:
    with reading(given_model(model, settings)) as subject:
        return emitted(subject, settings, reserve=Reserve(flash_code=USUAL_CODE))


def _edges(models: Sequence[Compiled]) -> int:
    """Bytes of the common input and of all outputs, which are outside of the arena."""
    return frame_bytes(models[0].plan) + sum(result_bytes(m.plan) for m in models)


def compile_shared(
    models: Sequence[Any], settings: Settings | None = None, **options: Unpack[CompileOptions]
) -> CompiledModels:
    """Compiles models that take turns into one project with one arena of the largest model's size."""
    return compile_several(models, settings, running=Running.TURNS, **options)


@dataclass(frozen=True)
class JointCode:
    """Code sizes of several models, in separate firmware and in one."""

    alone: tuple[CodeSize, ...]
    """Code size of each model in a firmware of its own."""
    together: CodeSize
    """Code size of the project of all models, which share kernels."""
    apart: CodeSize
    """Code size of one firmware with all models, if each is compiled separately with its own copy of the kernels."""


def check_several_code(several: CompiledModels) -> JointCode:
    """Measures the code sizes of the models, and refuses a project whose code and constants exceed the flash."""
    models = several.models
    together = several_code_size(models, several.project)
    check_several(several, together.nbytes, together.what, together.constants)
    apart = several_code_size(models, *(m.project for m in models))
    return JointCode(tuple(map(code_size, models)), together, apart)


def check_several(several: CompiledModels, code: int, what: str = "code", constants: int = 0) -> None:
    """Refuses models that together exceed a budget or memory, with the numbers. `code` and `constants` (with the
    parameters of kernel calls) are 0 while unknown; `what`: label of the code in errors."""
    s, project = several.settings, several.project
    constants = max(constants, project.constants)
    arena = "arenas" if several.running == Running.APART else "shared arena"
    check_flashes(project, s, code + constants - project.constants, several.path)
    over_budget(
        "RAM",
        {arena: project.arena, "counters": several.static, "input and outputs": several.edges},
        s.ram_limit,
        s,
        several.path,
    )
    over_budget("flash", {"constants": constants, what: code}, s.flash_limit, s, several.path)


def _check_inputs(compiled: Sequence[Compiled]) -> None:
    """Refuses models whose inputs differ in shape, type or quantization, so that they cannot share one."""
    first = compiled[0]
    for c in compiled:
        if c.plan.pushed:
            raise MoteError(
                "models that run together take the input whole", where="option input", remedy="omit --input rows"
            )
        ours, theirs = ([m.plan.graph.tensors[t] for t in m.plan.graph.inputs] for m in (first, c))
        if len(ours) != len(theirs) or not all(map(_same_values, ours, theirs)):
            raise MoteError(
                f"'{c.name}' takes {_shown_inputs(theirs)}, but '{first.name}' ({first.path})"
                f" {_shown_inputs(ours)}: they cannot have the same input",
                where=c.path,
                remedy="quantize the models with the same calibration data for their inputs, or use --shared-arena,"
                " where each model has an input of its own",
            )


def _same_values(a: Tensor, b: Tensor) -> bool:
    """Whether equal bytes in two tensors mean equal values."""
    scales = a.quant.same_as(b.quant) if a.quant is not None else b.quant is None
    return a.shape == b.shape and a.dtype == b.dtype and (scales or a.dtype.real) and model_shape(a) == model_shape(b)


def _shown_inputs(tensors: Sequence[Tensor]) -> str:
    shown = [f"{t.dtype} {list(t.shape)}" + (f" as {t.quant}" if t.quant is not None else "") for t in tensors]
    return " and ".join(shown) or "no input"
