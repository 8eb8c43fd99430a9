"""A model's C with the glue to the measuring harness, and the linked program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from mote.base.files import fill
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.programs import glue
from mote.compiler.emit.c.project import Project
from mote.compiler.offload.backends import named
from mote.compiler.offload.contract import Generator, Judgement, Offloaded
from mote.compiler.plan.plan import Plan
from mote.hardware import toolchain
from mote.hardware.targets import Target
from mote.hardware.toolchain import Compiler, Mode
from mote.hardware.toolchain.devices import SimulatedDevice, Simulation

MOST_TRACED = 64 << 20
"""Assumed limit of the traced bytes of an inference, for models that do not state one, as loops depend on data."""
MOST_PARTS = 1 << 20
"""Assumed limit of calls of the trace hook in an inference, for models that do not state one."""


@dataclass(frozen=True)
class ModelExtent:
    """Sizes of a model's outputs and traces. A board that reports other ones runs another model."""

    outputs: tuple[int, ...] | None = None
    """Bytes of each output."""
    steps: int | None = None
    """Number of steps that traces distinguish."""
    traced_bytes: int = MOST_TRACED
    """Maximum bytes of all tensors that an inference traces."""
    traced_parts: int = MOST_PARTS
    """Maximum calls of the trace hook in an inference."""


@dataclass(frozen=True)
class Firmware:
    """A model's C, and its glue to the measuring harness."""

    files: Mapping[str, str]
    sources: Sequence[str]
    target: Target
    optimize: str
    works: int
    """Number of layers that traces distinguish."""
    glue: Callable[[Mode], str]
    flags: Callable[[Mode], Sequence[str]] = lambda mode: ()
    """Additional compiler flags by mode."""
    not_run: Sequence[str] = ()
    """Layers that cannot be executed here: only a reference in Python computes them."""
    secret: str = field(default="", repr=False)
    """C with an encryption key; it is never cached."""
    stateful: bool = True
    """Whether an inference depends on earlier ones."""
    simulation: Simulation = field(default_factory=Simulation, repr=False)
    """Accelerators that Mote simulates when it runs the model itself."""
    learning: Sequence[str] = ()
    """C functions that learn a sample."""
    image: bytes | None = field(default=None, repr=False)
    """The model as an image, for agents with a runtime; None if the model is compiled."""
    extent: ModelExtent = field(default_factory=ModelExtent)
    """The sizes that a board with this firmware must report."""


def firmware(compiled: Compiled) -> Firmware:
    """The firmware of a compiled model, to run it in the measuring harness."""
    project, settings = compiled.project, compiled.settings
    return Firmware(
        project.files,
        (*project.sources, *project.external),
        settings.target,
        settings.built_for,
        len(compiled.plan.works),
        lambda mode: glue.text(compiled.plan, project.options),
        lambda mode: [f"-I{path}" for path in project.includes],
        not_run(compiled.plan),
        glue.decryption([project.options]),
        bool(compiled.plan.graph.states),
        simulation([(compiled.plan, project)]),
        learning=glue.learning_functions([(compiled.plan, project.options)]),
        extent=extent_of(compiled.plan),
    )


def extent_of(plan: Plan) -> ModelExtent:
    """The extent of a compiled model: each step traces the rows that it computes, at most one row per call, and ring
    buffers as a whole."""
    graph = plan.graph
    shown, parts = 0, 0
    for op, steps in plan.works:
        first, *others = (plan.place[t] for t in plan.shown(op))
        computed = max(len(plan.traced(steps)), len(first.offsets))
        shown += computed * first.row_bytes + sum(len(place.offsets) * place.row_bytes for place in others)
        parts += computed + sum(len(place.offsets) for place in others) + len(steps)
    return ModelExtent(tuple(graph.tensors[t].nbytes for t in graph.outputs), len(plan.works), shown, parts)


def several_firmware(models: Sequence[Compiled], *projects: Project) -> Firmware:
    """The firmware of several models, only to be built: of one project, or of a project for each model."""
    settings = models[0].settings
    external = dict.fromkeys(path for project in projects for path in project.external)
    includes = dict.fromkeys(path for project in projects for path in project.includes)
    return Firmware(
        {file: text for project in projects for file, text in project.files.items()},
        (*dict.fromkeys(source for project in projects for source in project.sources), *external),
        settings.target,
        settings.built_for,
        0,
        lambda mode: glue.several_text([(m.plan, m.project.options) for m in models]),
        lambda mode: [f"-I{path}" for path in includes],
        secret=glue.decryption([m.project.options for m in models]),
        simulation=simulation([(model.plan, project) for model in models for project in projects]),
        learning=glue.learning_functions([(m.plan, m.project.options) for m in models]),
    )


def stack_of(elf: Path, learning: Sequence[str]) -> int:
    """Worst-case bytes of stack of a model: the larger of an inference, without the harness, and of the functions that
    learn a sample, which run an inference from a frame of their own."""
    worst = toolchain.worst_stack(elf, "harness_run")
    return max(worst.size - worst.chain[0].size, *(toolchain.worst_stack(elf, name).size for name in learning), 0)


def not_run(plan: Plan) -> list[str]:
    """Names of the layers of external generators that cannot be executed here, as only the generator's reference in
    Python computes them."""
    kernels = {plan.number(step): step.kernel for step in plan.steps}
    return [n for n, k in kernels.items() if isinstance(k, Offloaded) and k.artifact.judgement is Judgement.REFERENCE]


def simulation(models: Sequence[tuple[Plan, Project]]) -> Simulation:
    """The simulated accelerators of models, with the drivers of their projects."""
    layers: dict[str, dict[str, list[bytes]]] = {}
    devices: dict[str, SimulatedDevice] = {}
    for plan, _ in models:
        for step in plan.steps:
            if isinstance(step.kernel, Offloaded) and step.kernel.artifact.simulated:
                blobs = [blob.data.tobytes() for blob in step.kernel.artifact.blobs]
                layers.setdefault(step.kernel.family, {})[plan.op(step).name] = blobs
    for g in named(tuple(layers)):
        shared = devices.get(g.device or g.name)
        known = {**(shared.layers if shared else {}), **layers[g.name]}
        devices[g.device or g.name] = SimulatedDevice(partial(_simulated, g), known)
    return Simulation(
        {file: text for _, project in models for file, text in project.simulated.items()},
        frozenset(path for _, project in models for path in project.replaced),
        devices,
    )


def _simulated(generator: Generator, memory: Sequence[bytearray]) -> int:
    return generator.simulate([np.frombuffer(area, np.uint8) for area in memory])


def linked(
    subject: Firmware, compiler: Compiler, folder: Path, mode: Mode = Mode.MEASURE, *, sanitize: bool = False
) -> Path:
    """The linked ELF file of the harness with a model, built in `folder`."""
    project = folder / "project"
    fill(project, subject.files)
    drivers, simulated = folder / "drivers", subject.simulation
    fill(drivers, simulated.files)
    joint = folder / "glue.c"
    joint.write_text(subject.glue(mode), encoding="utf-8")
    secret = folder / "secret.c"
    if subject.secret:
        secret.write_text(subject.secret, encoding="utf-8")
    workdir = folder / mode
    workdir.mkdir(exist_ok=True)
    return toolchain.build(
        project,
        [project / s for s in subject.sources if s not in simulated.replaced],
        joint,
        subject.target,
        compiler,
        mode=mode,
        optimize=subject.optimize,
        workdir=workdir,
        sanitize=sanitize,
        extra_flags=subject.flags(mode),
        secret=secret if subject.secret else None,
        drivers=drivers if simulated.files else None,
    )
