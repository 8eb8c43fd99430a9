"""C libraries that belong neither to Mote nor to the user's project: how builds find them, and their names in
ecosystems.

A package refers to such a library by its name, and contains neither a copy of it nor a path of the machine where it was
generated.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PackComponent:
    """A component of a CMSIS pack."""

    vendor: str
    pack: str
    version: str
    """The oldest version that is supported."""
    cclass: str
    cgroup: str


@dataclass(frozen=True)
class ForeignLibrary:
    """A library whose sources are in a folder of the user's."""

    name: str
    url: str
    variable: str
    """Name of the variable with its folder, in make, in CMake, and in the environment."""
    folder: str
    """The folder of the library on this machine."""
    header: str
    """Path, in the library's folder, of a header by which the library is recognized."""
    includes: tuple[str, ...]
    """Include folders, relative to the library's folder."""
    version: str = ""
    """The only supported version of the library; empty: any."""
    version_file: str = ""
    """Path, in the library's folder, of a file that states the version in a line that begins with `version:`."""
    cmake_target: str = ""
    """The target that the library's own CMakeLists.txt defines, if any."""
    zephyr: tuple[tuple[str, str], ...] = ()
    """Pairs of source folder and the Zephyr Kconfig option that compiles it; the first pair, with an empty folder, is
    for the whole library."""
    pack: PackComponent | None = None
    component: str = ""
    """Name of the library in the registry of ESP-IDF components."""


@dataclass(frozen=True)
class Dependency:
    """A library whose functions a project calls."""

    library: ForeignLibrary
    sources: tuple[str, ...]
    """The C files of the called functions and all their callees, as paths in the library's folder."""

    @property
    def options(self) -> tuple[str, ...]:
        """Zephyr's Kconfig options that compile the library's files that the project needs; none if Zephyr does not
        have the library."""
        return tuple(
            option
            for folder, option in self.library.zephyr
            if not folder or any(source.startswith(f"{folder}/") for source in self.sources)
        )


def inside(library: ForeignLibrary, path: str) -> str | None:
    """A path relative to the folder of a library; None if it is outside."""
    if not Path(path).is_relative_to(library.folder):
        return None
    return Path(path).relative_to(library.folder).as_posix()
