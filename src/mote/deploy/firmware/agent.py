"""Builds firmware with the agent and a model, for a board or QEMU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mote.base.files import fill
from mote.compiler.package.firmware.sources import FirmwareSources
from mote.deploy.agent.firmware import AgentOptions, agent_sources
from mote.deploy.agent.sources import TRACE, model_id
from mote.deploy.firmware.build import Build
from mote.hardware.targets import Target
from mote.hardware.toolchain.builder import HARNESS
from mote.hardware.toolchain.compilers import Compiler

ADAPTER = "agent_model.c"
_GLUE = "harness_glue.c"
_VARIANT = "mote_variant.h"
"""Name of a generated header that no project file has."""


@dataclass(frozen=True)
class AgentModel:
    """A model to link with the agent: files of its C project, those to compile, and harness glue
    (`mote.compiler.emit.c.programs.glue`) that the agent calls."""

    files: Mapping[str, str]
    sources: Sequence[str]
    glue: str
    flags: Sequence[str] = ()
    """Compiler options for the model's files."""
    secret: str = field(default="", repr=False)
    """C source with a key, never cached."""
    variant: str = ""
    """Compiler flags as a word, to distinguish builds of the same files."""

    @property
    def id(self) -> bytes:
        """Id that an agent with this model reports."""
        return model_id({**self.files, _VARIANT: self.variant} if self.variant else self.files)


def adapter_files() -> dict[str, str]:
    """Files that connect the agent with a model's glue."""
    paths = (Path(__file__).parent / ADAPTER, HARNESS / "harness.h")
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


@dataclass(frozen=True)
class LinkedAgent:
    """Linked firmware with the agent: ELF file, its own files besides the model's, and the memories it is linked
    for."""

    elf: Path
    sources: FirmwareSources


def linked_agent(
    model: AgentModel,
    target: Target,
    compiler: Compiler,
    folder: Path,
    *,
    optimize: str,
    options: AgentOptions | None = None,
    emulated: bool = False,
    arenas: Mapping[str, int] | None = None,
    uf2: bool = False,
) -> LinkedAgent:
    """Links a model with the agent as bare-metal firmware for a part or (`emulated`) its board in QEMU, in `folder`.
    `arenas` are bytes that the model needs in each RAM; with `uf2`, flash starts after the part's UF2 boot loader."""
    options = options or AgentOptions()
    glue = {**adapter_files(), _GLUE: model.glue}
    firmware = agent_sources(target, glue, emulated=emulated, arenas=arenas, uf2=uf2)
    project = folder / "project"
    fill(project, {**firmware.files, **model.files})
    trace = ("-include", str((project / TRACE).resolve()))
    build = Build(project, model.sources, target, compiler, optimize, (*trace, *model.flags))
    flags = ("-Os", *options.macros, f"-DMOTE_MODEL_ID={_listed(model.id)}")
    return LinkedAgent(build.elf(firmware, flags, build.secret(model.secret)), firmware)


def linked_runtime_agent(
    files: Mapping[str, str],
    settings: str,
    target: Target,
    compiler: Compiler,
    folder: Path,
    *,
    optimize: str,
    options: AgentOptions,
    emulated: bool = False,
    uf2: bool = False,
) -> LinkedAgent:
    """Links the agent with a runtime for loaded images: `files` are those of a runtime with the update module,
    `settings` the text of `runtime_settings`, `options.image` the bytes for an image. With `uf2`, flash starts after
    the part's UF2 boot loader."""
    glue = {"mote_agent_settings.c": settings}
    firmware = agent_sources(target, glue, emulated=emulated, runtime=True, uf2=uf2)
    project = folder / "project"
    fill(project, {**firmware.files, **files})
    sources = [name for name in files if name.endswith(".c") and "/" not in name and name not in firmware.sources]
    flags = ("-Os", *options.macros, f"-DMOTE_AGENT_RUNTIME_ID={_listed(model_id(files))}")
    build = Build(project, sources, target, compiler, optimize, ("-fwrapv", "-DMOTE_RUNTIME_TRACE=mote_agent_step"))
    return LinkedAgent(build.elf(firmware, flags), firmware)


def _listed(identity: bytes) -> str:
    return ",".join(map(str, identity))
