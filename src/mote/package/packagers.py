"""The packagers by name, and the default ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mote.emit.c.project import Project
from mote.package import cmake, make

PACKAGERS: Mapping[str, Callable[[Project], dict[str, str]]] = {"make": make.files, "cmake": cmake.files}


def packaged(project: Project) -> Project:
    """Adds build files to a C project."""
    files = {name: text for packager in PACKAGERS.values() for name, text in packager(project).items()}
    return replace(project, files=project.files | files)
