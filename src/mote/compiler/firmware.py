"""A model in the harness: its C, the glue, and the tools that build and run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from mote import toolchain
from mote.boards.boards_file import BoardEntry
from mote.boards.execution import board_execution
from mote.boards.facts import INSTRUCTIONS, BoardFacts, facts_of
from mote.boards.placing import BoardModel, OpenBoard, opened
from mote.boards.protocol import ModelExtent
from mote.compiler.compiled import Compiled
from mote.emit.c.programs import glue
from mote.emit.c.project import Project
from mote.errors import MoteError
from mote.files import fill
from mote.offload.backends import named
from mote.offload.contract import Generator, Judgement, Offloaded
from mote.plan.plan import Plan
from mote.targets import Target
from mote.toolchain import Compiler, Emulator, Execution, Mode
from mote.toolchain.builder import board_of, has_board
from mote.toolchain.devices import SimulatedDevice, Simulation
from mote.toolchain.emulators import check_devices


@dataclass(frozen=True)
class Firmware:
    """The C of a model, and its glue to the harness."""

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
    """The layers for which there is nothing here that runs them."""
    secret: str = field(default="", repr=False)
    """C with a key, which no cache keeps."""
    stateful: bool = True
    """Whether an inference depends on those before it."""
    simulation: Simulation = field(default_factory=Simulation, repr=False)
    """The accelerators that are simulated where Mote itself runs the model."""
    learning: Sequence[str] = ()
    """The functions of models that learn a sample."""
    image: bytes | None = field(default=None, repr=False)
    """The image, where it is one: agents with a runtime load it."""
    extent: ModelExtent = field(default_factory=ModelExtent)
    """The counts and bytes that a board that runs it states."""


def firmware(compiled: Compiled) -> Firmware:
    """The firmware of a compiled model."""
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
    """The extent of a compiled model: steps show all that they compute, at most a row at a time, and a ring buffer
    whole."""
    graph = plan.graph
    shown, parts = 0, 0
    for op, steps in plan.works:
        first, *others = (plan.place[t] for t in plan.shown(op))
        computed = max(len(plan.traced(steps)), len(first.offsets))
        shown += computed * first.row_bytes + sum(len(place.offsets) * place.row_bytes for place in others)
        parts += computed + sum(len(place.offsets) for place in others) + len(steps)
    return ModelExtent(tuple(graph.tensors[t].nbytes for t in graph.outputs), len(plan.works), shown, parts)


def several_firmware(models: Sequence[Compiled], *projects: Project) -> Firmware:
    """The firmware of several models, to be built and not run: in one project, or a project for each."""
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
    """The most bytes of stack that a model takes: in a run, without the harness, and in the functions that learn a
    sample, which have frames of their own around one."""
    worst = toolchain.worst_stack(elf, "harness_run")
    return max(worst.size - worst.chain[0].size, *(toolchain.worst_stack(elf, name).size for name in learning), 0)


def not_run(plan: Plan) -> list[str]:
    """The layers that an external generator computes where only its own reference says what."""
    kernels = {plan.number(step): step.kernel for step in plan.steps}
    return [n for n, k in kernels.items() if isinstance(k, Offloaded) and k.artifact.judgement is Judgement.REFERENCE]


def simulation(made: Sequence[tuple[Plan, Project]]) -> Simulation:
    """The simulated accelerators of plans, with their drivers in the projects."""
    layers: dict[str, dict[str, list[bytes]]] = {}
    devices: dict[str, SimulatedDevice] = {}
    for plan, _ in made:
        for step in plan.steps:
            if isinstance(step.kernel, Offloaded) and step.kernel.artifact.simulated:
                blobs = [blob.data.tobytes() for blob in step.kernel.artifact.blobs]
                layers.setdefault(step.kernel.family, {})[plan.op(step).name] = blobs
    for g in named(tuple(layers)):
        shared = devices.get(g.device or g.name)
        known = {**(shared.layers if shared else {}), **layers[g.name]}
        devices[g.device or g.name] = SimulatedDevice(partial(_simulated, g), known)
    return Simulation(
        {file: text for _, project in made for file, text in project.simulated.items()},
        frozenset(path for _, project in made for path in project.replaced),
        devices,
    )


def _simulated(generator: Generator, memory: Sequence[bytearray]) -> int:
    return generator.simulate([np.frombuffer(area, np.uint8) for area in memory])


@dataclass(frozen=True)
class Bench:
    """A model in a build folder, with the tools that build and run it."""

    firmware: Firmware
    compiler: Compiler | None
    """None where a board runs a model for whose target there is no compiler here."""
    emulator: Emulator
    folder: Path
    sanitize: bool = False
    board: OpenBoard | None = None
    """The board that runs it in place of the emulator."""
    _leaving: ExitStack = field(default_factory=ExitStack, compare=False, repr=False)
    _built: dict[Mode, Path] = field(default_factory=dict, compare=False, repr=False)

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *raised: object) -> None:
        """Leaves the board to others."""
        self._leaving.close()

    @property
    def target(self) -> Target:
        return self.firmware.target

    @property
    def tools(self) -> tuple[str, str]:
        """The emulator or the board, and the compiler, with versions."""
        emulator, compiler = (
            "" if tool is None else f"{tool.kind} {tool.version}".strip() for tool in (self.emulator, self.compiler)
        )
        return emulator, compiler

    @property
    def facts(self) -> BoardFacts | None:
        """The board and its counter; None where an emulator runs it."""
        return None if self.board is None else facts_of(self.board)

    @property
    def counts(self) -> str:
        """The unit of what is counted."""
        if self.facts is not None:
            return self.facts.unit
        return INSTRUCTIONS if self.target.is_host else board_of(self.target).counts

    @property
    def links(self) -> bool:
        """Whether the harness can be built: a board may run a model for whose core nothing here compiles, or that no
        emulator has."""
        return self.compiler is not None and (self.target.is_host or has_board(self.target))

    def elf(self, mode: Mode) -> Path:
        """The linked file of the harness."""
        if mode not in self._built:
            self._built[mode] = self._build(mode)
        return self._built[mode]

    def _build(self, mode: Mode) -> Path:
        compiler = self.compiler or toolchain.find_compiler(self.target)
        project = self.folder / "project"
        fill(project, self.firmware.files)
        drivers, simulation = self.folder / "drivers", self.firmware.simulation
        fill(drivers, simulation.files)
        joint = self.folder / "glue.c"
        joint.write_text(self.firmware.glue(mode), encoding="utf-8")
        secret = self.folder / "secret.c"
        if self.firmware.secret:
            secret.write_text(self.firmware.secret, encoding="utf-8")
        workdir = self.folder / mode
        workdir.mkdir(exist_ok=True)
        return toolchain.build(
            project,
            [project / s for s in self.firmware.sources if s not in simulation.replaced],
            joint,
            self.target,
            compiler,
            mode=mode,
            optimize=self.firmware.optimize,
            workdir=workdir,
            sanitize=self.sanitize,
            extra_flags=self.firmware.flags(mode),
            secret=secret if self.firmware.secret else None,
            drivers=drivers if simulation.files else None,
        )

    def execute(
        self, mode: Mode, inputs: list[list[bytes]], done: Callable[[int], None] = lambda count: None
    ) -> Execution:
        """Runs inferences, one after the other from the initial states on. A board calls `done` after each."""
        if self.board is not None:
            return board_execution(self.board.session, mode, inputs, stateful=self.firmware.stateful, done=done)
        elf = self.elf(mode)
        return toolchain.execute(
            elf,
            self.target,
            self.emulator,
            inputs,
            workdir=self.folder / mode,
            mode=mode,
            devices=self.firmware.simulation.devices,
        )


def bench(
    model: Compiled | Firmware,
    folder: Path,
    *,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | BoardEntry | None = None,
    sanitize: bool = False,
) -> Bench:
    """Find the tools (`compiler`: gcc, zig; `emulator`: qemu, unicorn) for a model, or put it onto a board, which is
    left at the end of a `with`."""
    subject = firmware(model) if isinstance(model, Compiled) else model
    if subject.not_run:
        raise MoteError(
            f"layer {', '.join(subject.not_run)} is not run here: only its generator says what it computes",
            remedy="`mote verify` compares that; omit --backend to run all layers on the core",
        )
    target = subject.target
    if board is not None:
        return _on_board(subject, folder, compiler, emulator, board)
    tool = toolchain.find_emulator(target, emulator)
    check_devices(subject.simulation.devices, tool)
    on_board = replace(subject, target=toolchain.as_run(target, tool))
    return Bench(on_board, toolchain.find_compiler(target, compiler), tool, folder, sanitize)


def check_tools(target: Target, compiler: str | None, emulator: str | None, board: object = None) -> None:
    """Refuses tools that are not here, before a model is compiled for them."""
    if board is None:
        toolchain.find_emulator(target, emulator)
        toolchain.find_compiler(target, compiler)


def _on_board(
    subject: Firmware, folder: Path, compiler: str | None, emulator: str | None, board: str | BoardEntry
) -> Bench:
    if emulator is not None:
        raise MoteError(
            "a board runs the model itself", where=f"option emulator {emulator}", remedy="give --board or --emulator"
        )
    tool = _found_compiler(subject.target, compiler)
    leaving = ExitStack()
    there = leaving.enter_context(opened(board, board_model(subject), folder=folder / "board", compiler=tool))
    return Bench(subject, tool, Emulator("board", (), there.label), folder, board=there, _leaving=leaving)


def _found_compiler(target: Target, prefer: str | None) -> Compiler | None:
    """The compiler for a board's model; None where there is none and none is asked for: a board that has the model
    already needs none."""
    try:
        return toolchain.find_compiler(target, prefer)
    except MoteError:
        if prefer is not None:
            raise
        return None


def board_model(subject: Firmware) -> BoardModel:
    """A model for boards, which have the accelerators themselves: their drivers must be among its files."""
    simulation = subject.simulation
    if simulation.files and not simulation.replaced:
        raise MoteError(
            "its accelerator is simulated here, and no driver for a board is known",
            where=f"generator {', '.join(map(repr, simulation.devices))}",
            remedy="use an emulator: omit --board",
        )
    return BoardModel(
        subject.files,
        subject.sources,
        subject.target,
        subject.optimize,
        subject.works,
        subject.glue(Mode.DUMP),
        subject.flags(Mode.DUMP),
        subject.secret,
        subject.image,
        subject.extent,
    )


def missing_tools(
    target: Target, compiler: str | None = None, emulator: str | None = None, what: str = "instructions"
) -> MoteError | None:
    """The reason why nothing can be measured, if any."""
    if target.is_host:
        return MoteError(f"{what} are not counted on the host", remedy="name a core with --target")
    try:
        toolchain.find_compiler(target, compiler)
        toolchain.find_emulator(target, emulator)
    except MoteError as error:
        return error
    return None
