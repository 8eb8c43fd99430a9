"""A compiled model: the graph, the plan and the C project, with what they cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from mote.compiler.settings import Settings
from mote.emit.c import header
from mote.emit.c.project import Job, Project, generate
from mote.errors import MoteError
from mote.files import write_folder
from mote.frontends import Source
from mote.graph import Graph
from mote.kernels.catalogue import label
from mote.ops.control.control_flow import unbounded
from mote.package.packagers import packaged
from mote.passes import Saving
from mote.plan.estimate import estimate
from mote.plan.plan import Plan


@dataclass(frozen=True)
class Compiled:
    """A compiled model: the source graph, the optimized one inside `plan`, and the C project."""

    source: Graph
    plan: Plan
    savings: tuple[Saving, ...]
    project: Project
    settings: Settings
    path: str
    model: Source | None
    """The model file or object, which the format's own runtime can run; None where a graph was compiled."""
    renamed: str = ""
    """Why the C has another name than the model file, where it has."""
    warnings: tuple[str, ...] = ()
    """What is odd about the model file, and how it was understood."""

    def __repr__(self) -> str:
        plan, constants = self.plan, self.project.constants
        return (
            f"<Compiled {self.name!r} for {self.settings.target.name}: {len(plan.graph.ops)} operators,"
            f" arena {plan.arena:,} bytes, constants {constants:,} bytes>"
        )

    @property
    def name(self) -> str:
        return self.project.options.name

    @property
    def file(self) -> Source:
        """The model file or object, which a graph that was compiled by itself does not have."""
        if self.model is None:
            raise MoteError("was compiled from a graph, so that no other runtime can run it", where=self.path)
        return self.model

    @property
    def data(self) -> bytes:
        """The bytes of the model file."""
        return self.file.data

    @cached_property
    def macs(self) -> int:
        return sum(op.macs(self.plan.graph) for op, _ in self.plan.works)

    @property
    def unbounded(self) -> list[str]:
        """The loops of which nobody knows how often they run, so that neither MACs nor cost say what they take."""
        return list(dict.fromkeys(op.name for op in unbounded(self.plan.graph)))

    @cached_property
    def cost(self) -> int:
        """About what an inference takes, in the unit of the target's costs."""
        return round(estimate(self.settings.costs, self.plan))

    def in_flash(self) -> Compiled:
        """The plan with all code in flash, without a self-test: what code in RAM is compared with."""
        project = packaged(generate(Job(self.plan, replace(self.project.options, code_in_ram=False))))
        return replace(self, project=project, settings=replace(self.settings, place_code="flash", ram_code=0))

    def with_step_bound(self, instructions: int) -> Compiled:
        """The same model, whose header states how long a step takes at most."""
        options = replace(self.project.options, step_bound=instructions)
        files = {**self.project.files, f"{self.name}.h": header.text(self.plan, options)}
        return replace(self, project=replace(self.project, options=options, files=files))

    def write(self, folder: str | Path, *, force: bool = False) -> list[str]:
        """Write the C project, in place of one that Mote wrote there, and beside whatever else is in the folder; as a
        whole, or not at all. A file of the user's in the way is refused; by `force` it is overwritten, and returned."""
        return write_folder(str(folder), self.project.files, force=force)


def kernel_label(compiled: Compiled, step: int) -> str:
    """The name of a step's kernel, and the instruction set that it uses on the target."""
    return label(compiled.plan.works[step][1][0].kernel, compiled.settings.target.features)
