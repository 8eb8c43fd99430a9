"""Builds binaries of a compiled model: a static library, or complete firmware for a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mote.base.errors import MoteError
from mote.base.files import fill, temporary_folder
from mote.compiler.emit.c.programs.example import EXAMPLE
from mote.compiler.emit.c.project import Project
from mote.compiler.package.firmware.layout import layout
from mote.compiler.package.firmware.sources import FirmwareSources, firmware_sources
from mote.compiler.plan.plan import Plan
from mote.compiler.settings import Settings
from mote.deploy.firmware.build import MAP, Build
from mote.deploy.firmware.flash import RECORD, firmware_part
from mote.deploy.firmware.formats import Loaded, binary, intel_hex, loaded, uf2
from mote.deploy.firmware.usage import Usage, usage
from mote.hardware.toolchain.compilers import Compiler, find_compiler

KINDS = ("lib", "elf", "bin", "hex", "uf2")
"""Kinds of files for `--output`."""


@dataclass(frozen=True)
class Artifacts:
    """Binaries by file name, with the sources they were built from."""

    files: Mapping[str, str | bytes] = field(default_factory=dict)
    compiler: Compiler | None = None
    usage: Usage | None = None
    """Memory use of the firmware, if linked."""
    console: str = ""
    board: str = ""
    """Emulated board that the firmware was linked for, for a core without memories."""


def artifacts(
    project: Project,
    plans: Sequence[Plan],
    settings: Settings,
    kinds: Sequence[str],
    program: Mapping[str, str] | None = None,
) -> Artifacts:
    """Builds the requested kinds of binaries with the installed compiler. `program` are texts of the firmware's program
    by file name, by default the example; its C files are compiled."""
    if not kinds:
        return Artifacts()
    check_artifacts(settings, kinds)
    target, name = settings.target, project.options.name
    linked = [kind for kind in kinds if kind != "lib"]
    own = program or {}
    compiled = [file for file in own if file.endswith(".c")] or [EXAMPLE]
    sources = firmware_sources(target, arenas_of(plans), uf2="uf2" in kinds, program=compiled) if linked else None
    compiler = find_compiler(target)
    files: dict[str, str | bytes] = {}
    with temporary_folder() as folder:
        build = Build(
            folder / "project",
            (*project.sources, *project.external),
            target,
            compiler,
            settings.built_for,
            tuple(f"-I{path}" for path in project.includes),
        )
        fill(build.project, {**project.files, **own, **(sources.files if sources else {})})
        if "lib" in kinds:
            files[f"lib{name}.a"] = build.library(name)
        if sources is None:
            return Artifacts(files, compiler)
        made, took = firmware_files(build.elf(sources), sources, settings, linked, name)
    return Artifacts({**files, **made}, compiler, took, sources.console, sources.layout.board)


def firmware_files(
    elf: Path, sources: FirmwareSources, settings: Settings, kinds: Sequence[str], name: str
) -> tuple[dict[str, str | bytes], Usage]:
    """Linked firmware as files of the requested kinds, with linker map, sources and part record, and its memory use.
    Raises an error if it uses memory that is not ready after a reset."""
    target, image = settings.target, loaded(elf)
    files = {**sources.files, RECORD: firmware_part(target, sources.layout.vectors.origin).record()}
    own = {f"{name}.{kind}": elf.read_bytes() if kind == "elf" else _image(kind, image, settings) for kind in kinds}
    took = usage(elf, image, sources.layout, target)
    _check_ready(took, settings)
    return {**files, **own, f"{name}{MAP}": elf.with_suffix(MAP).read_bytes()}, took


def check_artifacts(settings: Settings, kinds: Sequence[str]) -> None:
    """Raises an error for binaries that cannot be built for any model, before one is compiled."""
    if set(kinds) - {"lib"}:
        _check_linked(settings, kinds)
    if kinds:
        find_compiler(settings.target)


def _check_linked(settings: Settings, kinds: Sequence[str]) -> None:
    """Raises an error for firmware that cannot be linked for the target."""
    target = settings.target
    if settings.encrypt:
        raise MoteError(
            "constants are encrypted, and only your firmware has the function NAME_decrypt and the key",
            where="option encrypt",
            remedy="use --output lib",
        )
    layout(target, {}, uf2="uf2" in kinds)
    if "uf2" in kinds and target.boot.uf2_family is None:
        raise MoteError(
            "no UF2 boot loader is known for it",
            where=f"target {target.name}",
            remedy="use --output hex or bin, or state uf2_family in [firmware] of a .toml file of your own",
        )


def arenas_of(plans: Sequence[Plan]) -> dict[str, int]:
    """Maximum arena bytes in each RAM, if the target has several."""
    sizes: dict[str, int] = {}
    for plan in plans:
        for memory, nbytes in zip(plan.memories, plan.arenas, strict=False):
            sizes[memory.name] = nbytes + sizes.get(memory.name, 0)
    return sizes


def _image(kind: str, image: Loaded, settings: Settings) -> bytes:
    if kind == "uf2":
        family = settings.target.boot.uf2_family
        assert family is not None
        return uf2(image, family)
    return {"bin": binary, "hex": intel_hex}[kind](image)


def _check_ready(took: Usage, settings: Settings) -> None:
    """Raises an error for firmware that uses a memory which the board must set up first."""
    for name, why in settings.target.boot.unready:
        if name in took.memories:
            raise MoteError(
                f"{took.memories[name][0]:,} bytes lie in {name}, which does not work after a reset: {why}",
                where=f"target {settings.target.name}",
                remedy="keep them out of it with --flash or --ram, or use --output lib in a firmware that sets it up",
            )
