"""`mote.agent`: the agent of a board as a project of a build system or an ecosystem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from mote.compiler import line
from mote.compiler.compiled import Compiled
from mote.compiler.given import CommonOptions
from mote.compiler.settings import Settings, chosen_settings
from mote.deploy.agent.sources import agent_files, model_id
from mote.emit.c.programs.agent import GLUE, agent_glue
from mote.errors import MoteError, explaining
from mote.notebook import card
from mote.package.agent.description import AgentPackage, agent_package, check_options
from mote.package.agent.packagers import agent_project, check_agent_package
from mote.package.description import Files
from mote.package.description import metadata as read_metadata
from mote.package.firmware.agent import AgentOptions
from mote.package.packagers import write_files
from mote.progress import Say, silent

PRODUCTION = ("", "run", "identify")
"""Kinds of firmware: for development, for production without loading code, images or restarts, and without runs."""


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
    metadata: Sequence[str] = (),
    say: Say = silent,
    **options: Unpack[CommonOptions],
) -> AgentProject:
    """The agent of a board with a compiled model, as a project for an ecosystem.

    `package` is zephyr, esp-idf, arduino, platformio, cmake or cmsis-pack. `production` leaves out what changes the
    device: `run` takes neither code nor restarts, `identify` runs nothing either. `frame` are the bytes of a message,
    `scratch` those of the RAM for code under tuning. `metadata` of packages is KEY=VALUE. Options are those
    of `compile`."""
    check_agent_package(package)
    chosen = chosen_settings(settings, options)
    _check_settings(chosen)
    kept = _options(production, frame=frame, scratch=scratch)
    compiled = line.compile(model, chosen, say=say)
    described, identity = compiled_agent(compiled, kept, metadata)
    files, edited = agent_project(package, described)
    return AgentProject(package, chosen.target.name, compiled.name, identity.hex(), described.options, files, edited)


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


def _check_settings(settings: Settings) -> None:
    """Refuses settings of the generated C that need more than the agent has."""
    if settings.encrypt:
        raise MoteError(
            "constants are encrypted, and the agent has no key", where="option encrypt", remedy="omit --encrypt"
        )
