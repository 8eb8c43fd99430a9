"""A compiled model: graph, plan, C project, and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError
from mote.base.notebook import card, sizes, table
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


@dataclass(frozen=True)
class Compiled:
    """A compiled model: the results of all stages from the graph to the C project."""

    prepared: PreparedGraph
    """The graph that was read, and what passes made of it."""
    plan: Plan
    """The plan: kernels, order and memory, with the optimized graph."""
    program: Program
    """The plan as instructions."""
    project: Project
    """The C project: files, names, constants."""
    settings: Settings
    """The settings that the model was compiled with."""
    path: str
    """The model's file, or what its object is called."""
    model: Source | None
    """The model file or object, for the format's own runtime; None for a compiled graph."""
    renamed: str = ""
    """The reason why the C prefix differs from the model's name, if it does."""
    warnings: tuple[str, ...] = ()
    """Warnings about the model file."""
    cycles: int | None = None
    """Cycles of an inference on the emulated core, where they were measured against a time limit."""
    reserve: Reserve = FIRST
    """The room that the plan leaves for code, and more."""
    ram_code: int = 0
    """Bytes of RAM that code takes."""
    replanned: tuple[str, ...] = ()
    """The reasons why it was planned again."""

    def __repr__(self) -> str:
        plan, constants = self.plan, self.project.constants
        return (
            f"<Compiled {self.name!r} for {self.settings.target.name}: {len(plan.graph.ops)} operators,"
            f" arena {plan.arena:,} bytes, constants {constants:,} bytes>"
        )

    def _repr_html_(self) -> str:
        plan, costs = self.plan, self.costs
        facts = {
            "arena": sizes(plan.arena),
            "static": sizes(plan.static),
            "constants": sizes(self.project.constants),
            f"estimated {costs.unit}": self.cost,
            "MACs": self.macs,
        }
        rows = [
            (plan.number(s[0]), plan.graph.short_name(op), op.kind, kernel_label(self, i), op.macs(plan.graph))
            for i, (op, s) in enumerate(plan.works)
        ]
        layers = table(("#", "layer", "op", "kernel", "MACs"), rows, left=4)
        return card(f"{self.path} for {self.settings.target.name}", facts, layers, notes=self.warnings)

    def json(self) -> dict[str, Any]:
        """Names, sizes, the estimate and what each pass did, as JSON types."""
        plan, settings = self.plan, self.settings
        two = {"cores": 2, "one_core": self.one_core_cost} if settings.cores > 1 else {}
        return {
            "model": self.path,
            "target": settings.target.name,
            "name": self.name,
            "renamed": self.renamed or None,
            "preprocess": settings.preprocess or None,
            "postprocess": settings.postprocess or None,
            "warnings": list(self.warnings),
            "files": sorted(self.project.files),
            "steps": len(plan.steps),
            "macs": self.macs,
            "unbounded": self.unbounded,
            "estimate": {
                "unit": self.costs.unit,
                "cost": self.cost,
                "budget": settings.cycle_limit,
                "measured": self.cycles,
                **two,
            },
            "ram": {
                "arena": plan.arena,
                "live": plan.peak,
                "static": plan.static,
                "kept": plan.kept_bytes,
                "memories": self.memories,
                "traffic": {t.memory.name: {"accessed": t.accessed, "waits": t.waits} for t in traffic(plan)},
            },
            "flash": {
                "constants": self.project.constants,
                "tables": self.project.tables,
                "memories": self.project.flash,
            },
            "passes": [
                {"name": s.name, "removed": s.removed, "detail": s.detail, "exact": s.exact, "caveat": s.caveat or None}
                for s in self.savings
            ],
        }

    @property
    def costs(self) -> Costs:
        """The cost table of kernels on the target, for where constants and code are."""
        return self.reserve.costs(self.settings)

    @property
    def ram_constants(self) -> int:
        """Bytes of RAM that constants take."""
        return self.project.flash.get(CONSTANTS.name, 0)

    @property
    def ram_beside(self) -> int:
        """Bytes of code in the RAM that the plan shares with it."""
        return beside(self.settings.target, self.ram_code)

    @property
    def ram_limit(self) -> int | None:
        """The RAM limit of the plan, beside code and constants."""
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
        """Estimated cost of an inference, in the unit of the target's costs; without a label where the model learns."""
        return round(estimate(self.costs, self.plan)) - self.training_cost

    @cached_property
    def training_cost(self) -> int:
        """Estimated cost of a step of training, beside that of its inference; 0 where the model does not learn."""
        return round(training_cost(self.costs, self.plan))

    @cached_property
    def one_core_cost(self) -> int:
        """Estimated cost of an inference if one core computed all of the plan."""
        return round(alone(self.plan))

    def in_flash(self) -> Compiled:
        """The plan with all code in flash, without a self-test, for comparison with code in RAM."""
        options = replace(self.project.options, code_in_ram=False)
        project = packaged(generate(Job(self.plan, options)), self.settings.target)
        return replace(self, project=project, settings=replace(self.settings, place_code="flash"), ram_code=0)

    def with_longest_step(self, instructions: int) -> Compiled:
        """Adds what the longest step took to the header."""
        return self._measured(replace(self.project.options, longest_step=instructions))

    def with_built(self, built: Built) -> Compiled:
        """Adds measurements of the linked model to the header."""
        return self._measured(replace(self.project.options, built=built))

    def _measured(self, options: ProjectOptions) -> Compiled:
        """The model with another header."""
        made = self.project
        text = header.text(self.plan, options, made.constants, made.function_tables)
        return replace(self, project=replace(made, options=options, files={**made.files, f"{self.name}.h": text}))

    @property
    def package(self) -> Package:
        """The description of its C library for packagers."""
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


def kernel_label(compiled: Compiled, step: int) -> str:
    """The name of a step's kernel, and the instruction set that it uses on the target."""
    return label(compiled.plan.works[step][1][0].kernel, compiled.settings.target.features)
