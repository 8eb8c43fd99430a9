"""The description of a C library for packagers: a compiled model, several of them, or the runtime."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.compiler.emit.c.model.interface import Interface
from mote.compiler.emit.c.programs.example import EXAMPLE, SELFTEST, Example
from mote.compiler.emit.c.project import Project
from mote.compiler.offload.foreign import Dependency, inside
from mote.hardware.targets import Target
from mote.hardware.targets.flags import Optimization

LICENCE_FILE = "LICENSE"
_FORMS = {
    "version": (r"\d{1,4}\.\d{1,4}\.\d{1,4}", "three numbers", "version=1.2.3"),
    "email": (r"[^\s@]+@[^\s@.]+(\.[^\s@.]+)+", "an address", "email=name@example.org"),
    "url": (r"https?://[^\s/]+\.[^\s/]+(/\S*)?", "an address of the web", "url=https://example.org/model"),
}
"""By key of metadata: the required form as a regular expression and in words, and an example."""

BUILD_FILES = ("Makefile", "CMakeLists.txt")
"""The build files of a project of plain C."""
Files = dict[str, str | bytes]
"""The contents of a package's files, by path."""


@cache
def licence() -> str:
    """The text of the licence of generated code."""
    return (Path(__file__).parent / "LICENSE.txt").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Metadata:
    """Metadata of a package for the registry of an ecosystem."""

    version: str = "1.0.0"
    author: str = "unknown"
    email: str = ""
    url: str = ""
    license: str = "Apache-2.0"
    """SPDX identifier of the licence."""
    summary: str = ""


@dataclass(frozen=True)
class Package:
    """A C library to package."""

    name: str
    """The name of the library; a C identifier."""
    summary: str
    """A line of text about the library."""
    target: Target
    files: Mapping[str, str]
    """Sources, headers and data of the library by name, all in one folder."""
    sources: tuple[str, ...]
    """The C files that are compiled."""
    headers: tuple[str, ...]
    """The headers that users include."""
    example: Example
    example_files: Mapping[str, str]
    """Headers in the folder of the example program."""
    example_sources: tuple[str, ...] = field(default=(), kw_only=True)
    """C files of the package that are compiled with the example but not with the library."""
    selftest: str
    """The text of the self-test program; empty if there is none."""
    optimization: Optimization
    measured: str
    """A sentence about the compiler flags of measurements."""
    only_gcc: tuple[str, ...] = ()
    """Compiler flags that only gcc has."""
    needed: tuple[str, ...] = ()
    """Compiler flags that the code requires to be correct."""
    math: bool = False
    """Whether the library needs the math library of C."""
    external: tuple[str, ...] = ()
    """Paths of C files outside of the package that are compiled with it, except those of `dependencies`."""
    includes: tuple[str, ...] = ()
    """Include folders outside of the package, except those of `dependencies`."""
    dependencies: tuple[Dependency, ...] = ()
    """The libraries whose functions it calls."""
    metadata: Metadata = field(default_factory=Metadata)
    interfaces: tuple[Interface, ...] = ()
    """The API of each compiled model; none for the runtime."""
    constants: int = 0
    """Bytes of constants of compiled models."""
    image: bytes = b""
    """The image that the example of the runtime runs; empty for compiled models."""

    @property
    def flags(self) -> tuple[str, ...]:
        """The compiler flags of the library for gcc, without those that select the core."""
        return (self.optimization.level, *self.only_gcc, *self.needed)

    def with_files(self, files: Mapping[str, str]) -> Package:
        """Adds files, such as adapters, that are not compiled with the library."""
        return replace(self, files={**self.files, **files})

    def with_example(self, example: Example, sources: Sequence[str]) -> Package:
        """The package with another example; `sources`: files of the package that are compiled with the example."""
        return replace(self, example=example, example_sources=tuple(sources))

    def described(self, metadata: Metadata) -> Package:
        """The package with a user's metadata."""
        return replace(self, metadata=metadata, summary=metadata.summary or self.summary)


def model_package(project: Project, target: Target) -> Package:
    """The package of a C project."""
    options = project.options
    programs = tuple(f"{Path(program).parent}/" for program in (EXAMPLE, SELFTEST))
    own = {p: text for p, text in project.files.items() if not p.startswith(programs) and p not in BUILD_FILES}
    return Package(
        name=options.name,
        summary=printable(f"{options.source} compiled to C for {options.target} by Mote"),
        target=target,
        files=own,
        sources=project.sources,
        headers=tuple(file for file in project.example.includes if file in own),
        example=project.example,
        example_files={
            Path(path).name: text
            for path, text in project.files.items()
            if path.startswith(programs[0]) and path != EXAMPLE
        },
        selftest=project.files.get(SELFTEST, ""),
        optimization=options.optimization,
        measured=options.measured,
        only_gcc=options.only_gcc,
        math=project.math,
        external=_of_no_library(project, project.external),
        constants=project.constants,
        includes=_of_no_library(project, project.includes),
        dependencies=project.dependencies,
        interfaces=project.interfaces,
    )


def _of_no_library(project: Project, paths: Iterable[str]) -> tuple[str, ...]:
    """The paths that belong to none of the libraries that the project depends on."""
    libraries = [dependency.library for dependency in project.dependencies]
    return tuple(path for path in paths if all(inside(library, path) is None for library in libraries))


def metadata(given: Iterable[str]) -> Metadata:
    """Parses metadata from KEY=VALUE texts."""
    keys = sorted(field.name for field in fields(Metadata))
    values = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or key not in keys:
            remedy = f"{did_you_mean(key, keys)}use KEY=VALUE with one of: {', '.join(keys)}"
            raise MoteError(f"'{printable(text)}' is not understood", where="option metadata", remedy=remedy)
        if not value or not value.isprintable() or any(c in value for c in "\"'\\<>&"):
            raise MoteError(
                f"the {key} '{printable(value)}' is empty or has characters that package files cannot hold",
                where="option metadata",
                remedy="leave out quotes, backslashes and < > &",
            )
        values[key] = value
    for key, (form, words, example) in _FORMS.items():
        if key in values and not re.fullmatch(form, values[key]):
            reason = f"the {key} '{printable(values[key])}' is not {words}"
            raise MoteError(reason, where="option metadata", remedy=f"use {example}")
    return Metadata(**values)
