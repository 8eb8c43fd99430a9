"""Libraries that a package depends on, in the words of builds: the name that an ecosystem has for one, or a variable
with its folder."""

from __future__ import annotations

from collections.abc import Iterable

from mote.compiler.offload.foreign import Dependency, ForeignLibrary
from mote.compiler.package.description import Package


def missing(package: Package, library: ForeignLibrary) -> str:
    """What a build says that does not find a library."""
    version = f" {library.version}" if library.version else ""
    return (
        f"{package.name} calls functions of {library.name}{version} ({library.url}): set {library.variable} to its"
        f" folder, which has {library.header}"
    )


def in_make(dependencies: Iterable[Dependency], package: Package) -> str:
    """Variables with the libraries' files, and an error where there is no library."""
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
    """The variable of a Makefile with the files of a library."""
    return f"{library.variable.removesuffix('_PATH')}_SOURCES"


def folders(dependency: Dependency, variable: str) -> list[str]:
    """The folders of a library's headers; `variable` is how a build refers to one."""
    return [variable.format(dependency.library.variable) + f"/{folder}" for folder in dependency.library.includes]


def in_cmake(package: Package, target: str, *, foreign_targets: bool = True, scope: str = "PRIVATE") -> str:
    """The libraries in CMake: their own targets, where the project above has those, else the files that the package
    needs, as a part of its `target`."""
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
    return f"{_found_by_cmake(dependency, package)}{sources}target_include_directories({target} {scope} {include})\n"


def _found_by_cmake(dependency: Dependency, package: Package) -> str:
    """The variable of a library's folder, or an error."""
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
