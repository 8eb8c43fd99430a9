"""`mote.agent`: the agent of a board as a project of a build system or an ecosystem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from mote.base.errors import MoteError, explaining
from mote.base.files import read_file, temporary_folder
from mote.base.notebook import card
from mote.base.progress import Say, silent
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.programs.agent import GLUE, agent_glue
from mote.compiler.emit.image import format
from mote.compiler.emit.image.c_array import state_bytes
from mote.compiler.firmware import firmware
from mote.compiler.given import PackOptions
from mote.compiler.package.description import LICENCE_FILE, Files, licence
from mote.compiler.package.description import metadata as read_metadata
from mote.compiler.package.packagers import write_files
from mote.compiler.packer import pack
from mote.compiler.settings import Settings, chosen_settings
from mote.deploy.agent.firmware import AgentOptions, runtime_settings
from mote.deploy.agent.packages.description import AgentPackage, agent_package, check_options
from mote.deploy.agent.packages.packagers import FIRMWARE, agent_project, check_agent_package
from mote.deploy.agent.sources import RUNTIME, agent_files, model_id
from mote.deploy.firmware.agent import AgentModel, LinkedAgent, linked_agent, linked_runtime_agent
from mote.deploy.firmware.artifacts import Artifacts, arenas_of, check_artifacts, firmware_files
from mote.deploy.keys import read_public
from mote.deploy.runtime import SETS, Runtime
from mote.deploy.runtime import runtime as make_runtime
from mote.deploy.update.sources import update_files
from mote.hardware.toolchain import Mode
from mote.hardware.toolchain.compilers import find_compiler

PRODUCTION = ("", "run", "identify")
"""Kinds of firmware: for development, for production without loading code, images or restarts, and without runs."""
KINDS = ("elf", "bin", "hex", "uf2")
"""Kinds of files of firmware."""
FIRMWARE_NAME = "agent"
"""The name of those files."""
STATES = 1024
"""Bytes for the states and counters of images where nobody says how many."""
Kernels = str | Sequence[str | Path | bytes]
"""A set of kernels, or models whose kernels are meant."""
_MEMORY = "mote_agent_settings.c"
_EXAMINED = ("mote_examine.c", "mote_update.h", "mote_update_parts.h", "mote_verify.h")
"""Files of the update module that check images."""
_SIGNED = ("mote_ed25519.c", "mote_ed25519.h", "mote_sha512.c", "mote_sha512.h")
"""Files of the update module that check signatures."""


@dataclass(frozen=True)
class ImageRoom:
    """Bytes of RAM for an image with its signature, for its arenas and for its states."""

    image: int
    arenas: tuple[int, ...]
    states: int


@dataclass(frozen=True)
class AgentProject:
    """The agent of a board with a compiled model, or with the runtime for images, as files of a project."""

    package: str
    """The ecosystem."""
    target: str
    """The target's name."""
    model: str
    """The compiled model's name; empty for the runtime."""
    id: str
    """The identity of the model or the runtime that the agent reports, in hexadecimal digits."""
    options: AgentOptions
    """Sizes of buffers, and what the agent lets the host do."""
    files: Files = field(repr=False)
    """The text of each file."""
    edited: frozenset[str] = field(repr=False)
    """Files for users to edit, which are kept once they were."""
    room: ImageRoom | None = None
    """The memory of images; None where a model is compiled in."""
    built: Artifacts = field(default_factory=Artifacts, repr=False)
    """The firmware, where it was built."""

    def __repr__(self) -> str:
        return f"<AgentProject of {self.model or 'images'} for {self.target}: {self.package}, {len(self.files)} files>"

    def _repr_html_(self) -> str:
        return card(f"Agent for {self.target}", {k: v for k, v in self.json().items() if k != "files"})

    def json(self) -> dict[str, Any]:
        """Names, settings and files as JSON types."""
        options, room = self.options, self.room
        return {
            "package": self.package,
            "target": self.target,
            "model": self.model or None,
            "id": self.id,
            "runs": options.runs,
            "loads": options.loads,
            "frame": options.frame,
            "scratch": options.scratch,
            "images": {"ram": room.image, "arenas": list(room.arenas), "states": room.states} if room else None,
            "files": sorted(self.files),
        }

    def write(self, output: str | Path, *, force: bool = False) -> list[str]:
        """Writes the project to a folder or an archive; returns the user's files that were overwritten."""
        return write_files(str(output), self.files, self.edited, force=force)


@explaining()
def agent(
    model: Any = None,
    settings: Settings | None = None,
    *,
    runtime: Kernels | None = None,
    package: str = "cmake",
    production: str = "",
    frame: int = AgentOptions.frame,
    scratch: int = 0,
    image_ram: int = 0,
    arena: int = 0,
    states: int = 0,
    keys: Sequence[str | Path] = (),
    binaries: Sequence[str] = (),
    metadata: Sequence[str] = (),
    say: Say = silent,
    **options: Unpack[PackOptions],
) -> AgentProject:
    """The agent of a board with a compiled model, or with the runtime for images, as a project for an ecosystem.

    `model` is compiled with the options of `compile`. Without one, `runtime` are the kernels of a runtime, as those of
    `mote.runtime`: the host loads images into `image_ram` bytes of RAM, whose tensors have `arena` bytes and whose
    states have `states`; where the kernels are those of models, all that is at least what these need. With `keys`,
    PEM files of public keys, images must be signed by one of them.

    `package` is zephyr, esp-idf, arduino, platformio, cmake, cmsis-pack or firmware: complete firmware of the part,
    with files of the kinds `binaries` (elf, bin, hex, uf2). `production` leaves out what changes the device: `run`
    takes neither code nor restarts, `identify` runs nothing either. `frame` are the bytes of a message, `scratch` those
    of the RAM for code under tuning. `metadata` of packages is KEY=VALUE."""
    chosen = chosen_settings(settings, options)
    _check(chosen, package, binaries, model, runtime)
    kept = _options(production, frame=frame, scratch=scratch)
    check_agent_package(package, chosen.target, kept)
    if runtime is None:
        if image_ram or arena or states or keys:
            raise MoteError(
                "memory and keys are for images", where="option image_ram", remedy="use --runtime in place of a model"
            )
        return _with_model(compile(model, chosen, say=say), package, kept, binaries, metadata)
    asked = ImageRoom(image_ram, (arena,), states)
    _check_room(runtime, asked, kept)
    made = make_runtime(runtime, chosen, say=say)
    room = _room(runtime, made, asked, say)
    public = [read_public(read_file(path), str(path)) for path in keys]
    return _with_runtime(made, room, public, package, kept, binaries, metadata)


def _with_model(
    compiled: Compiled, package: str, options: AgentOptions, binaries: Sequence[str], about: Sequence[str]
) -> AgentProject:
    described, identity = compiled_agent(compiled, options, about)
    facts = (package, compiled.settings.target.name, compiled.name, identity.hex(), described.options)
    if package != FIRMWARE:
        return AgentProject(*facts, *agent_project(package, described))
    settings, made = compiled.settings, firmware(compiled)
    model = AgentModel(made.files, made.sources, made.glue(Mode.MEASURE), made.flags(Mode.MEASURE))
    kinds = binaries or KINDS[:1]

    def link(folder: Path) -> LinkedAgent:
        return linked_agent(
            model,
            settings.target,
            find_compiler(settings.target),
            folder,
            optimize=made.optimize,
            options=described.options,
            emulated=not settings.target.memories,
            arenas=arenas_of([compiled.plan]),
            uf2="uf2" in kinds,
        )

    built = _firmware(settings, link, kinds)
    files = {LICENCE_FILE: licence(), **described.library.files, **built.files}
    return AgentProject(*facts, files, frozenset(), built=built)


def compiled_agent(compiled: Compiled, options: AgentOptions, about: Sequence[str] = ()) -> tuple[AgentPackage, bytes]:
    """The agent of a compiled model for packagers, and the model's identity; `about` is metadata."""
    project = compiled.project
    identity = model_id(project.files)
    glue = agent_glue(compiled.plan, project.options, identity)
    library = compiled.package.described(read_metadata(about))
    counted = replace(options, steps=max(len(compiled.plan.works), 1))
    return agent_package(library, agent_files(), {GLUE: glue}, counted), identity


def _with_runtime(
    made: Runtime,
    room: ImageRoom,
    keys: Sequence[bytes],
    package: str,
    options: AgentOptions,
    binaries: Sequence[str],
    about: Sequence[str],
) -> AgentProject:
    settings = made.settings
    library = made.package.described(read_metadata(about))
    updates, wanted = update_files(), (*_EXAMINED, *(_SIGNED if keys else ()))
    checks = {name: updates[name] for name in wanted}
    memory = runtime_settings(room.arenas, room.states, keys=keys)
    options = check_options(replace(options, image=room.image))
    own = {**library.files, **checks}
    identity = model_id(own)
    facts = (package, settings.target.name, "", identity.hex(), options)
    if package != FIRMWARE:
        sources = agent_files(runtime=True)
        listed = ", ".join(map(str, identity))
        sources[RUNTIME[0]] = f"#define MOTE_AGENT_RUNTIME_ID {listed}\n{sources[RUNTIME[0]]}"
        described = agent_package(library, sources, {**checks, _MEMORY: memory}, options)
        return AgentProject(*facts, *agent_project(package, described), room)
    kinds = binaries or KINDS[:1]

    def link(folder: Path) -> LinkedAgent:
        return linked_runtime_agent(
            own,
            memory,
            settings.target,
            find_compiler(settings.target),
            folder,
            optimize=settings.built_for,
            options=options,
            emulated=not settings.target.memories,
            uf2="uf2" in kinds,
        )

    built = _firmware(settings, link, kinds)
    return AgentProject(*facts, {LICENCE_FILE: licence(), **own, **built.files}, frozenset(), room, built)


def _firmware(settings: Settings, link: Callable[[Path], LinkedAgent], kinds: Sequence[str]) -> Artifacts:
    """Bare-metal firmware with the agent: of the part, or of a core's board in QEMU."""
    with temporary_folder() as folder:
        linked = link(folder)
        files, took = firmware_files(linked.elf, linked.sources, settings, kinds, FIRMWARE_NAME)
    sources = linked.sources
    return Artifacts(files, find_compiler(settings.target), took, sources.console, sources.layout.board)


def _models(kernels: Kernels) -> list[str | Path | bytes]:
    """The models whose kernels are meant; none for a set."""
    if isinstance(kernels, str):
        return [] if kernels in SETS else [kernels]
    return list(kernels)


def _check_room(kernels: Kernels, asked: ImageRoom, options: AgentOptions) -> None:
    """Refuses a runtime without memory for images."""
    check_options(replace(options, image=asked.image or 1))
    if not _models(kernels) and not (asked.image and any(asked.arenas)):
        raise MoteError(
            "how much memory images need is not known",
            where="option runtime",
            remedy="state --image-ram and --arena (`mote pack` prints both), or name models whose kernels it has",
        )


def _room(kernels: Kernels, made: Runtime, asked: ImageRoom, say: Say) -> ImageRoom:
    """The memory of images: as asked for, and as much as the models need whose kernels the runtime has."""
    images = [pack(model, made.settings, runtime=made.manifest, say=say) for model in _models(kernels)]
    arenas = [image.header["arena"] for image in images]
    return ImageRoom(
        max([asked.image, *(len(image.data) + format.SIGNATURE.nbytes for image in images)]),
        tuple(max(sizes) for sizes in zip(*arenas, (*asked.arenas, 0, 0, 0), strict=True)),
        max([asked.states or (0 if images else STATES), *(state_bytes(image.header) for image in images)]),
    )


def _options(production: str, **sizes: int) -> AgentOptions:
    if production not in PRODUCTION:
        raise MoteError(
            f"'{production}' is no kind of production firmware", where="option production", remedy="use run or identify"
        )
    return check_options(AgentOptions(runs=production != "identify", loads=not production, **sizes))


def _check(settings: Settings, package: str, binaries: Sequence[str], model: Any, runtime: Any) -> None:
    """Refuses what an agent cannot run, and binaries of projects that others build."""
    if (model is None) == (runtime is None):
        raise MoteError(
            "runs a model that is compiled in, or images",
            where="the agent",
            remedy="name a model, or the kernels of a runtime: --runtime minimal",
        )
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
