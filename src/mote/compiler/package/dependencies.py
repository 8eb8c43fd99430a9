"""Libraries that a package depends on, as build systems refer to them: by the ecosystem's name for the library, or by a
variable with its folder."""

from __future__ import annotations

from collections.abc import Iterable

from mote.compiler.offload.foreign import Dependency, ForeignLibrary
from mote.compiler.package.description import Package


def missing(package: Package, library: ForeignLibrary) -> str:
    """The error message of a build that does not find a library."""
    version = f" {library.version}" if library.version else ""
    return (
        f"{package.name} calls functions of {library.name}{version} ({library.url}): set {library.variable} to its"
        f" folder, which has {library.header}"
    )


def in_make(dependencies: Iterable[Dependency], package: Package) -> str:
    """Makefile variables with the source files of libraries, and an error if a library is missing."""
    return "".join(_variables_of_make(dependency, package) for dependency in dependencies)


def _variables_of_make(dependency: Dependency, package: Package) -> str:
    library = dependency.library
    stated = f"$(shell grep '^version:' $({library.variable})/{library.version_file} 2>/dev/null)"
    another = f"else ifeq ($(findstring {library.version},{stated}),)\n$(error {missing(package, library)})\n"
    files = " \\\n    ".join(f"$({library.variable})/{source}" for source in dependency.sources)
    return f"""\
# The folder of {library.name}, of which the model calls functions.
{library.variable} ?=
ifneq ($(MAKECMDGOALS),clean)
ifeq ($(wildcard $({library.variable})/{library.header}),)
$(error {missing(package, library)})
{another if library.version else ""}endif
endif
{make_variable(library)} = {files}

"""


def make_variable(library: ForeignLibrary) -> str:
    """The Makefile variable with the source files of a library."""
    return f"{library.variable.removesuffix('_PATH')}_SOURCES"


def folders(dependency: Dependency, variable: str) -> list[str]:
    """The include folders of a library. `variable`: how the build system refers to a variable, with {} for its name."""
    return [variable.format(dependency.library.variable) + f"/{folder}" for folder in dependency.library.includes]


def in_cmake(package: Package, target: str, *, foreign_targets: bool = True, scope: str = "PRIVATE") -> str:
    """CMake code that links libraries to `target`: their own CMake targets, if the project defines these, else the
    source files that the package needs."""
    return "".join(
        _target_of_cmake(d, package, target, scope)
        if foreign_targets and d.library.cmake_target
        else _files_of_cmake(d, package, target, scope)
        for d in package.dependencies
    )


def _target_of_cmake(dependency: Dependency, package: Package, target: str, scope: str) -> str:
    theirs = dependency.library.cmake_target
    own = "".join(f"  {line}\n" for line in _files_of_cmake(dependency, package, target, scope).splitlines())
    return f"if(TARGET {theirs})\n  target_link_libraries({target} PUBLIC {theirs})\nelse()\n{own}endif()\n"


def _files_of_cmake(dependency: Dependency, package: Package, target: str, scope: str) -> str:
    files = "\n  ".join(f'"${{{dependency.library.variable}}}/{source}"' for source in dependency.sources)
    include = " ".join(f'"{folder}"' for folder in folders(dependency, "${{{}}}"))
    sources = f"target_sources({target} PRIVATE\n  {files})\n" if files else ""
    return f"{_folder_in_cmake(dependency, package)}{sources}target_include_directories({target} {scope} {include})\n"


def _folder_in_cmake(dependency: Dependency, package: Package) -> str:
    """CMake code that sets the variable with a library's folder, or fails."""
    library, error = dependency.library, f'  message(FATAL_ERROR "{missing(package, dependency.library)}")\nendif()\n'
    stated = f"^version:.*{library.version.replace('.', '[.]')}"
    another = f"""\
file(STRINGS "${{{library.variable}}}/{library.version_file}" STATED REGEX "{stated}")
if(NOT STATED)
{error}"""
    return f"""\
if(NOT DEFINED {library.variable})
  set({library.variable} "$ENV{{{library.variable}}}")
endif()
if(NOT EXISTS "${{{library.variable}}}/{library.header}")
{error}{another if library.version else ""}"""
