"""The packagers by name, and the ones that every project gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mote.emit.c.project import Project
from mote.package import cmake, make

PACKAGERS: Mapping[str, Callable[[Project], dict[str, str]]] = {"make": make.files, "cmake": cmake.files}


def packaged(project: Project) -> Project:
    """A C project with its build files."""
    files = {name: text for packager in PACKAGERS.values() for name, text in packager(project).items()}
    return replace(project, files=project.files | files)
