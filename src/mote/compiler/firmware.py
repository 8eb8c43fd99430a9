"""A model in the harness: its C, the glue, and the tools that build and run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mote import toolchain
from mote.compiler.compiled import Compiled
from mote.emit.c.programs import glue
from mote.emit.c.project import Project
from mote.errors import MoteError
from mote.files import fill
from mote.offload.contract import Judgement, Offloaded
from mote.plan.plan import Plan
from mote.targets import Target
from mote.toolchain import Compiler, Emulator, Execution, Mode


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
    )


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
    )


def not_run(plan: Plan) -> list[str]:
    """The layers that an external generator computes where only its own reference says what."""
    kernels = {plan.number(step): step.kernel for step in plan.steps}
    return [n for n, k in kernels.items() if isinstance(k, Offloaded) and k.artifact.judgement is Judgement.REFERENCE]


@dataclass(frozen=True)
class Bench:
    """A model in a build folder, with the tools that build and run it."""

    firmware: Firmware
    compiler: Compiler
    emulator: Emulator
    folder: Path
    sanitize: bool = False

    @property
    def target(self) -> Target:
        return self.firmware.target

    @property
    def tools(self) -> tuple[str, str]:
        """The emulator and the compiler, with versions."""
        emulator, compiler = (f"{tool.kind} {tool.version}".strip() for tool in (self.emulator, self.compiler))
        return emulator, compiler

    def elf(self, mode: Mode) -> Path:
        project = self.folder / "project"
        fill(project, self.firmware.files)
        joint = self.folder / "glue.c"
        joint.write_text(self.firmware.glue(mode), encoding="utf-8")
        secret = self.folder / "secret.c"
        if self.firmware.secret:
            secret.write_text(self.firmware.secret, encoding="utf-8")
        workdir = self.folder / mode
        workdir.mkdir(exist_ok=True)
        return toolchain.build(
            project,
            [project / s for s in self.firmware.sources],
            joint,
            self.target,
            self.compiler,
            mode=mode,
            optimize=self.firmware.optimize,
            workdir=workdir,
            sanitize=self.sanitize,
            extra_flags=self.firmware.flags(mode),
            secret=secret if self.firmware.secret else None,
        )

    def execute(self, mode: Mode, inputs: list[list[bytes]]) -> Execution:
        elf = self.elf(mode)
        return toolchain.execute(elf, self.target, self.emulator, inputs, workdir=self.folder / mode, mode=mode)


def bench(
    model: Compiled | Firmware,
    folder: Path,
    *,
    compiler: str | None = None,
    emulator: str | None = None,
    sanitize: bool = False,
) -> Bench:
    """Find the tools (`compiler`: gcc, zig; `emulator`: qemu, unicorn) for a model."""
    subject = firmware(model) if isinstance(model, Compiled) else model
    if subject.not_run:
        raise MoteError(
            f"layer {', '.join(subject.not_run)} is not run here: only its generator says what it computes",
            remedy="`mote verify` compares that; omit --offload to run all layers on the core",
        )
    target = subject.target
    tool = toolchain.find_emulator(target, emulator)
    on_board = replace(subject, target=toolchain.as_run(target, tool))
    return Bench(on_board, toolchain.find_compiler(target, compiler), tool, folder, sanitize)


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
