"""A compiled model: graph, plan, C project, and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError
from mote.base.notebook import table
from mote.base.results import Result
from mote.compiler.emit.c.model import header
from mote.compiler.emit.c.options import CONSTANTS, Built, ProjectOptions
from mote.compiler.emit.c.project import Job, Project, generate
from mote.compiler.fitting.reserve import FIRST, Reserve, beside
from mote.compiler.kernels.catalogue import label
from mote.compiler.kernels.cost import Costs
from mote.compiler.lower.program import Program
from mote.compiler.package.description import Package, model_package
from mote.compiler.package.packagers import chosen_packagers, packaged, write_packages
from mote.compiler.passes.saving import Saving
from mote.compiler.plan.memory.traffic import traffic
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.selection.cores import alone
from mote.compiler.plan.selection.estimate import estimate, training_cost
from mote.compiler.prepared_graph import PreparedGraph
from mote.compiler.settings import Settings
from mote.frontends import Source
from mote.ir.graph import Graph
from mote.ir.ops.control.control_flow import unbounded


@dataclass(frozen=True, repr=False)
class Compiled(Result):
    """A compiled model: the results of all stages from the graph to the C project."""

    LINE = (
        "{name!r} for {settings.target.name}: {plan.graph.ops!n} operators, arena {plan.arena:,} bytes,"
        " constants {project.constants:,} bytes"
    )
    TITLE = "{path} for {settings.target.name}"
    FACTS = (
        "arena=plan.arena:size, static=plan.static:size, constants=project.constants:size, estimated {costs.unit}=cost,"
        " MACs=macs"
    )
    NOTES = "warnings"
    JSON = (
        "model=path, target=settings.target.name, name, renamed?, preprocess=settings.preprocess?,"
        " postprocess=settings.postprocess?, warnings, files=project.files:sorted, steps=plan.steps!n, macs, unbounded,"
        " estimate.unit=costs.unit, estimate.cost=cost, estimate.budget=settings.cycle_limit, estimate.measured=cycles,"
        " ram.arena=plan.arena, ram.live=plan.peak, ram.static=plan.static, ram.kept=plan.kept_bytes,"
        " ram.memories=memories, ram.traffic=_traffic, flash.constants=project.constants, flash.tables=project.tables,"
        " flash.memories=project.flash, passes=savings"
    )

    prepared: PreparedGraph
    """The graph as it was read, and the results of the passes."""
    plan: Plan
    """The plan: kernels, order and memory, with the optimized graph."""
    program: Program
    """The plan lowered to a program of instructions."""
    project: Project
    """The C project: files, names, constants."""
    settings: Settings
    """The settings that the model was compiled with."""
    path: str
    """The model's file, or a name for a model that is an object."""
    model: Source | None
    """The model file or object, for the format's own runtime; None for a compiled graph."""
    renamed: str = ""
    """The reason why the C prefix differs from the model's name, if it does."""
    warnings: tuple[str, ...] = ()
    """Warnings about the model file."""
    cycles: int | None = None
    """Measured cycles of an inference on the emulated core; None unless a latency budget was checked."""
    reserve: Reserve = FIRST
    """Memory reserved outside of the plan, for code and constants, and other facts known from building earlier
    plans."""
    ram_code: int = 0
    """Bytes of code that is executed from RAM."""
    replanned: tuple[str, ...] = ()
    """The reasons why the model was planned again after the first plan."""

    @property
    def costs(self) -> Costs:
        """The cost table of kernels on the target, for the memories that constants and code are in."""
        return self.reserve.costs(self.settings)

    @property
    def ram_constants(self) -> int:
        """Bytes of constants that are copied to RAM."""
        return self.project.flash.get(CONSTANTS.name, 0)

    @property
    def ram_beside(self) -> int:
        """Bytes of code in the RAM that also holds the arena; 0 if code has a RAM of its own."""
        return beside(self.settings.target, self.ram_code)

    @property
    def ram_limit(self) -> int | None:
        """The RAM limit of the plan: what code and constants in RAM leave of the limit."""
        limit = self.settings.ram_limit
        return limit if limit is None else max(limit - self.ram_beside - self.ram_constants, 0)

    @property
    def source(self) -> Graph:
        """The graph of the model as it was read."""
        return self.prepared.source

    @property
    def savings(self) -> tuple[Saving, ...]:
        """The passes that changed the graph, and what each removed."""
        return self.prepared.savings

    @property
    def memories(self) -> dict[str, int]:
        """Bytes of the arena in each RAM, where the target has several."""
        return {m.name: nbytes for m, nbytes in zip(self.plan.memories, self.plan.arenas, strict=False)}

    @property
    def name(self) -> str:
        """The prefix of the C symbols and files."""
        return self.project.options.name

    @property
    def file(self) -> Source:
        """The model file or object; an error for a compiled graph."""
        if self.model is None:
            raise MoteError("was compiled from a graph, so that no other runtime can run it", where=self.path)
        return self.model

    @property
    def data(self) -> bytes:
        """The bytes of the model file."""
        return self.file.data

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulate operations of an inference."""
        return sum(op.macs(self.plan.graph) for op, _ in self.plan.works)

    @property
    def unbounded(self) -> list[str]:
        """Loops without a known trip count, so that neither MACs nor cost include them."""
        return list(dict.fromkeys(op.name for op in unbounded(self.plan.graph)))

    @cached_property
    def cost(self) -> int:
        """Estimated cost of an inference without training, in the unit of the target's cost table."""
        return round(estimate(self.costs, self.plan)) - self.training_cost

    @cached_property
    def training_cost(self) -> int:
        """Estimated cost of a training step, in addition to its inference; 0 if the model does not learn."""
        return round(training_cost(self.costs, self.plan))

    @cached_property
    def one_core_cost(self) -> int:
        """Estimated cost of an inference if one core computed all of the plan."""
        return round(alone(self.plan))

    def in_flash(self) -> Compiled:
        """This plan compiled with all code in flash and without a self-test, to compare with code in RAM."""
        options = replace(self.project.options, code_in_ram=False)
        project = packaged(generate(Job(self.plan, options)), self.settings.target)
        return replace(self, project=project, settings=replace(self.settings, place_code="flash"), ram_code=0)

    def with_longest_step(self, instructions: int) -> Compiled:
        """A copy whose header states the instructions of the longest step."""
        return self._measured(replace(self.project.options, longest_step=instructions))

    def with_built(self, built: Built) -> Compiled:
        """A copy whose header states measurements of the linked model."""
        return self._measured(replace(self.project.options, built=built))

    def _measured(self, options: ProjectOptions) -> Compiled:
        """A copy with the header that other options give."""
        project = self.project
        text = header.text(self.plan, options, project.constants, project.function_tables)
        files = {**project.files, f"{self.name}.h": text}
        return replace(self, project=replace(project, options=options, files=files))

    @property
    def package(self) -> Package:
        """The description of the model's C library for packagers."""
        return model_package(self.project, self.settings.target)

    def write(self, output: str | Path, package: Sequence[str] = (), *, force: bool = False) -> list[str]:
        """Writes the C project, or packages of it for the ecosystems `package`, to a folder or an archive (.zip).
        Replaces atomically what an earlier run wrote and keeps other files. Refuses to overwrite user files, unless
        `force` is set; returns those that were overwritten."""
        for name, packager in chosen_packagers(package).items():
            for setting, value in packager.settings.items():
                if getattr(self.settings, setting) != value:
                    reason = f"a package for {name} needs {setting}={value}"
                    raise MoteError(reason, where=self.path, remedy="compile the model with it")
        return write_packages(str(output), dict.fromkeys(package, self.package), self.package, force=force)

    def _parts(self) -> list[str]:
        plan = self.plan
        rows = [
            (plan.number(s[0]), plan.graph.short_name(op), op.kind, kernel_label(self, i), op.macs(plan.graph))
            for i, (op, s) in enumerate(plan.works)
        ]
        return [table(("#", "layer", "op", "kernel", "MACs"), rows, left=4)]

    def json(self) -> dict[str, Any]:
        """Names, sizes, the estimate and what each pass did, as JSON types."""
        about = super().json()
        if self.settings.cores > 1:
            about["estimate"] |= {"cores": 2, "one_core": self.one_core_cost}
        return about

    @property
    def _traffic(self) -> dict[str, dict[str, float]]:
        return {t.memory.name: {"accessed": t.accessed, "waits": t.waits} for t in traffic(self.plan)}


def kernel_label(compiled: Compiled, step: int) -> str:
    """The name of a step's kernel, and the instruction set that it uses on the target."""
    return label(compiled.plan.works[step][1][0].kernel, compiled.settings.target.features)
