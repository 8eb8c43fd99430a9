"""Helpers that packagers of several ecosystems share: folders of a library, names, keywords, refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from mote.base.errors import MoteError
from mote.compiler.offload.foreign import ForeignLibrary
from mote.compiler.package.adapters.sources import CODE
from mote.compiler.package.description import Files, Package

KEYWORDS = ("tinyml", "machine-learning", "neural-network", "inference")
SOURCES = "src"
ASIDE = "extras"
"""Folder for C files that are not compiled with the library: adapters."""


def self_contained(
    package: Package, ecosystem: str, has: Callable[[ForeignLibrary], object] = lambda library: None
) -> None:
    """Refuses a package that needs files outside of its folder, except those of libraries for which `has` gives the
    ecosystem's own name."""
    lacking = [dependency.library.name for dependency in package.dependencies if not has(dependency.library)]
    outside = [f"needs {path}" for path in (*package.external, *package.includes)]
    outside += [f"calls functions of {name}, which it has no name for" for name in lacking]
    if outside:
        raise MoteError(
            f"a package for {ecosystem} holds all of its files, and {package.name} {outside[0]}",
            where="option package",
            remedy="package it for cmake or make, which take files of other folders, or omit the backend",
        )


def in_memory_of_the_caller(package: Package, language: str) -> None:
    """Refuses models whose arena is passed to init, as a wrapper in another language holds the arena in its
    instance."""
    if any(port.options.caller_arena for interface in package.interfaces for port in interface.outputs):
        raise MoteError(
            f"the arena of a model is part of its memory in {language}, which the caller has anyway",
            where="option caller_arena",
            remedy="omit --caller-arena",
        )


def in_src(package: Package) -> Files:
    """The files with sources and headers in `src`, other C files in `extras`, and the rest at the root."""
    return {_place(package, path): text for path, text in package.files.items()}


def with_sources(package: Package) -> Package:
    """The library with its adapters to sample sources compiled in, as the ecosystem has the drivers that they need."""
    added = sorted(path for path in package.files if path in CODE and path not in package.sources)
    return replace(package, sources=(*package.sources, *added))


def _place(package: Package, path: str) -> str:
    if path in package.sources or ("/" not in path and path.endswith((".h", ".hpp"))):
        return f"{SOURCES}/{path}"
    return f"{ASIDE}/{path}" if path.endswith(".c") else path


def registered_name(package: Package) -> str:
    """The name of the library in a registry, where names must begin with a letter."""
    return package.name.strip("_") or "model"


def functions(package: Package) -> list[str]:
    """Names of the functions in the library's headers."""
    return _named(package, r"^(?:[a-z]\w* )+\*?([a-z]\w*)\(")


def macros(package: Package) -> list[str]:
    """Names of the macros with values in the library's headers."""
    return _named(package, r"^#define ([A-Z]\w*) ")


def _named(package: Package, pattern: str) -> list[str]:
    texts = (package.files[header] for header in package.headers)
    return list(dict.fromkeys(name for text in texts for name in re.findall(pattern, text, re.MULTILINE)))
