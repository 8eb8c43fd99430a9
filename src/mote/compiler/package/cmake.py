"""CMake: a static library that firmware adds as a subdirectory."""

from __future__ import annotations

from collections.abc import Iterable

from mote.compiler.emit.c.programs.example import EXAMPLE, SELFTEST
from mote.compiler.emit.licence import SPDX
from mote.compiler.package.dependencies import in_cmake
from mote.compiler.package.description import Files, Package
from mote.compiler.package.make import in_one_folder
from mote.compiler.package.templates import filled
from mote.hardware.targets.flags import NATIVE, UNFUSED

MATH = """\
# A kernel of yours calls the math library, which is one of its own but for compilers that have it in their C library.
if(UNIX OR (CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$" AND NOT WIN32))
  target_link_libraries({name} PUBLIC m)
endif()
"""


NATIVELY = f"""\
  # Every instruction of this computer that its compiler knows, as Mote measures.
  option({{option}} "Use every instruction of this computer" ON)
  if({{option}} AND NOT CMAKE_CROSSCOMPILING)
    include(CheckCCompilerFlag)
    check_c_compiler_flag({NATIVE[0]} {{option}}_MARCH)
    check_c_compiler_flag({NATIVE[1]} {{option}}_MCPU)
    if({{option}}_MARCH)
      target_compile_options({{name}} PRIVATE {NATIVE[0]})
    elseif({{option}}_MCPU)
      target_compile_options({{name}} PRIVATE {NATIVE[1]})
    endif()
    target_compile_options({{name}} PRIVATE {UNFUSED})
  endif()
"""


def files(package: Package) -> Files:
    """The library in one folder with a CMakeLists.txt."""
    return {**in_one_folder(package), "CMakeLists.txt": _cmake(package)}


def _cmake(package: Package) -> str:
    name, level = package.name, package.optimization.level
    sources = listed(package.sources, package.external)
    folders = " ".join(["${CMAKE_CURRENT_SOURCE_DIR}", *map(quoted, package.includes)])
    told = " ".join((*package.needed, *for_gcc(package)))
    options = f"\n  target_compile_options({name} PRIVATE {told})" if told else ""
    must = f"\n  # {' '.join(package.needed)} is needed: sums in kernels may wrap." if package.needed else ""
    selftest = f"""\
  enable_testing()
  # MOTE_SELFTEST lets the self-test see the output of every step, so that it has the model compiled for it.
  add_executable(selftest {SELFTEST}
  {sources})
  target_compile_definitions(selftest PRIVATE MOTE_SELFTEST)
  target_compile_options(selftest PRIVATE $<TARGET_PROPERTY:{name},COMPILE_OPTIONS>)
  set_target_properties(selftest PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
  target_link_libraries(selftest {name})
  add_test(NAME selftest COMMAND selftest)
"""
    native = NATIVELY.format(name=name, option=f"{name.upper()}_NATIVE") if package.target.is_native else ""
    return filled(
        "CMakeLists.txt",
        {
            "SPDX": SPDX,
            "NAME": name,
            "MEASURED": package.measured,
            "SOURCES": sources,
            "FOLDERS": folders,
            "LIBRARIES": in_cmake(package, name, scope="PUBLIC"),
            "MUST": must,
            "OPTIONS": options,
            "NATIVE": native,
            "LEVEL": level,
            "MATH": MATH.format(name=name) if package.math else "",
            "EXAMPLE": " ".join((EXAMPLE, *package.example_sources)),
            "SELFTEST": selftest if package.selftest else "",
        },
    )


def listed(sources: Iterable[str], outside: Iterable[str] = ()) -> str:
    """The C files of a CMake target, one per line, including paths outside of the package."""
    return "\n  ".join((*sources, *map(quoted, outside)))


def for_gcc(package: Package) -> list[str]:
    """The flags for gcc only, as generator expressions of CMake."""
    return [f"$<$<C_COMPILER_ID:GNU>:{flag}>" for flag in package.only_gcc]


def quoted(path: str) -> str:
    """A path as a quoted string of CMake."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$") + '"'
