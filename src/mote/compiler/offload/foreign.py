"""Libraries of C that are neither Mote's nor the user's project: how a build finds them, and their names in ecosystems.

A package depends on such a library by its name. It has no copy of it, and no path of the machine that it was made on.
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
    """The oldest that will do."""
    cclass: str
    cgroup: str


@dataclass(frozen=True)
class ForeignLibrary:
    """A library whose sources lie in a folder of the user's."""

    name: str
    url: str
    variable: str
    """The variable that names its folder: of make, of CMake, and of the environment."""
    folder: str
    """Where it lies on this machine."""
    header: str
    """A header in that folder by which it is recognized."""
    includes: tuple[str, ...]
    """Folders of its headers in that folder."""
    version: str = ""
    """The only one that will do; empty: any."""
    version_file: str = ""
    """A file in its folder that states it, in a line that begins with `version:`."""
    cmake_target: str = ""
    """The target that its own CMakeLists.txt defines, if it does."""
    zephyr: tuple[tuple[str, str], ...] = ()
    """Options of Zephyr's Kconfig that compile its sources, each behind the folder of these; the whole library's comes
    first, behind an empty name."""
    pack: PackComponent | None = None
    component: str = ""
    """Its name in the registry of ESP-IDF's components."""


@dataclass(frozen=True)
class Dependency:
    """A library that a project calls functions of."""

    library: ForeignLibrary
    sources: tuple[str, ...]
    """The C files with these functions and all that they call, by their paths in the library's folder."""

    @property
    def options(self) -> tuple[str, ...]:
        """The options of Zephyr's Kconfig that compile these files; none where Zephyr does not have the library."""
        return tuple(
            option
            for folder, option in self.library.zephyr
            if not folder or any(source.startswith(f"{folder}/") for source in self.sources)
        )


def inside(library: ForeignLibrary, path: str) -> str | None:
    """A path in the folder of a library, None for another one."""
    if not Path(path).is_relative_to(library.folder):
        return None
    return Path(path).relative_to(library.folder).as_posix()
