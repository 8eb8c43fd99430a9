"""`mote.agent`: the agent of a board as a project of a build system or an ecosystem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from mote.compiler import line
from mote.compiler.artifacts import Artifacts, arenas_of, check_artifacts, firmware_files
from mote.compiler.compiled import Compiled
from mote.compiler.firmware import firmware
from mote.compiler.given import CommonOptions
from mote.compiler.settings import Settings, chosen_settings
from mote.deploy.agent.sources import agent_files, model_id
from mote.emit.c.programs.agent import GLUE, agent_glue
from mote.errors import MoteError, explaining
from mote.files import temporary_folder
from mote.notebook import card
from mote.package.agent.description import AgentPackage, agent_package, check_options
from mote.package.agent.packagers import FIRMWARE, agent_project, check_agent_package
from mote.package.description import LICENCE_FILE, Files, licence
from mote.package.description import metadata as read_metadata
from mote.package.firmware.agent import AgentOptions
from mote.package.packagers import write_files
from mote.progress import Say, silent
from mote.toolchain import Mode
from mote.toolchain.compilers import find_compiler
from mote.toolchain.firmware.agent import AgentModel, linked_agent

PRODUCTION = ("", "run", "identify")
"""Kinds of firmware: for development, for production without loading code, images or restarts, and without runs."""


KINDS = ("elf", "bin", "hex", "uf2")
"""Kinds of files of firmware."""
FIRMWARE_NAME = "agent"
"""The name of those files."""


@dataclass(frozen=True)
class AgentProject:
    """The agent of a board with a compiled model, or with the runtime for images, as files of a project."""

    package: str
    """The ecosystem."""
    target: str
    model: str
    """The compiled model's name; empty for the runtime."""
    model_id: str
    """The identity that the agent reports, in hexadecimal digits; empty for the runtime."""
    options: AgentOptions
    files: Files = field(repr=False)
    edited: frozenset[str] = field(repr=False)
    """Files for users to edit, which are kept once they were."""
    built: Artifacts = field(default_factory=Artifacts, repr=False)
    """The firmware, where it was built."""

    def __repr__(self) -> str:
        return f"<AgentProject of {self.model or 'images'} for {self.target}: {self.package}, {len(self.files)} files>"

    def _repr_html_(self) -> str:
        return card(f"Agent for {self.target}", {k: v for k, v in self.json().items() if k != "files"})

    def json(self) -> dict[str, Any]:
        """Names, settings and files as JSON types."""
        options = self.options
        return {
            "package": self.package,
            "target": self.target,
            "model": self.model or None,
            "model_id": self.model_id or None,
            "runs": options.runs,
            "loads": options.loads,
            "frame": options.frame,
            "image_ram": options.image,
            "scratch": options.scratch,
            "files": sorted(self.files),
        }

    def write(self, output: str | Path, *, force: bool = False) -> list[str]:
        """Writes the project to a folder or an archive; returns the user's files that were overwritten."""
        return write_files(str(output), self.files, self.edited, force=force)


@explaining()
def agent(
    model: Any,
    settings: Settings | None = None,
    *,
    package: str = "cmake",
    production: str = "",
    frame: int = AgentOptions.frame,
    scratch: int = 0,
    binaries: Sequence[str] = (),
    metadata: Sequence[str] = (),
    say: Say = silent,
    **options: Unpack[CommonOptions],
) -> AgentProject:
    """The agent of a board with a compiled model, as a project for an ecosystem.

    `package` is zephyr, esp-idf, arduino, platformio, cmake, cmsis-pack or firmware: complete firmware of the part,
    with files of the kinds `binaries` (elf, bin, hex, uf2). `production` leaves out what changes the device: `run`
    takes neither code nor restarts, `identify` runs nothing either. `frame` are the bytes of a message,
    `scratch` those of the RAM for code under tuning. `metadata` of packages is KEY=VALUE. Options are those
    of `compile`."""
    check_agent_package(package)
    chosen = chosen_settings(settings, options)
    _check_settings(chosen, package, binaries)
    kept = _options(production, frame=frame, scratch=scratch)
    compiled = line.compile(model, chosen, say=say)
    described, identity = compiled_agent(compiled, kept, metadata)
    facts = (package, compiled.settings.target.name, compiled.name, identity.hex(), described.options)
    if package == FIRMWARE:
        built = _firmware(compiled, described.options, binaries or KINDS[:1])
        return AgentProject(
            *facts, {LICENCE_FILE: licence(), **described.library.files, **built.files}, frozenset(), built
        )
    return AgentProject(*facts, *agent_project(package, described))


def _firmware(compiled: Compiled, options: AgentOptions, kinds: Sequence[str]) -> Artifacts:
    """Bare-metal firmware with the agent: of the part, or of a core's board in QEMU."""
    settings, made = compiled.settings, firmware(compiled)
    glue, flags = made.glue(Mode.MEASURE), made.flags(Mode.MEASURE)
    with temporary_folder() as folder:
        linked = linked_agent(
            AgentModel(made.files, made.sources, glue, flags),
            settings.target,
            compiler := find_compiler(settings.target),
            folder,
            optimize=made.optimize,
            options=options,
            emulated=not settings.target.memories,
            arenas=arenas_of([compiled.plan]),
            uf2="uf2" in kinds,
        )
        files, took = firmware_files(linked.elf, linked.sources, settings, kinds, FIRMWARE_NAME)
    return Artifacts(files, compiler, took, linked.sources.console, linked.sources.layout.board)


def compiled_agent(compiled: Compiled, options: AgentOptions, about: Sequence[str] = ()) -> tuple[AgentPackage, bytes]:
    """The agent of a compiled model for packagers, and the model's identity; `about` is metadata."""
    project = compiled.project
    identity = model_id(project.files)
    glue = agent_glue(compiled.plan, project.options, identity)
    library = compiled.package.described(read_metadata(about))
    counted = replace(options, steps=max(len(compiled.plan.works), 1))
    return agent_package(library, agent_files(), {GLUE: glue}, counted), identity


def _options(production: str, **sizes: int) -> AgentOptions:
    if production not in PRODUCTION:
        raise MoteError(
            f"'{production}' is no kind of production firmware", where="option production", remedy="use run or identify"
        )
    return check_options(AgentOptions(runs=production != "identify", loads=not production, **sizes))


def _check_settings(settings: Settings, package: str, binaries: Sequence[str]) -> None:
    """Refuses settings that need more than the agent has, and binaries of what others build."""
    if package == FIRMWARE:
        check_artifacts(settings, [*KINDS[:1], *binaries])
    elif binaries:
        raise MoteError(
            f"a project for {package} is built by its ecosystem",
            where="option output",
            remedy="use --package firmware, or omit the kinds of binaries",
        )
    if settings.encrypt:
        raise MoteError(
            "constants are encrypted, and the agent has no key", where="option encrypt", remedy="omit --encrypt"
        )
