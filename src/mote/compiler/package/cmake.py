"""CMake: a static library that a firmware adds as a subdirectory."""

from __future__ import annotations

from mote.compiler.emit.c.programs.example import EXAMPLE, SELFTEST
from mote.compiler.emit.licence import SPDX
from mote.compiler.package.dependencies import in_cmake
from mote.compiler.package.description import Files, Package
from mote.compiler.package.make import in_one_folder
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
    sources = "\n  ".join((*package.sources, *map(quoted, package.external)))
    folders = " ".join(["${CMAKE_CURRENT_SOURCE_DIR}", *map(quoted, package.includes)])
    told = " ".join((*package.needed, *(f"$<$<C_COMPILER_ID:GNU>:{flag}>" for flag in package.only_gcc)))
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
    return f"""\
# {SPDX}
# add_subdirectory() this folder and link your firmware with `{name}`.
# {package.measured}
cmake_minimum_required(VERSION 3.13)
project({name} C)

add_library({name} STATIC
  {sources})
target_include_directories({name} PUBLIC {folders})
set_target_properties({name} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
{in_cmake(package, name, scope="PUBLIC")}if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang" AND NOT MSVC){must}{options}
{native}\
  # {level} where nobody says how to optimize: neither flags, nor the build type, nor options of the folder above.
  get_directory_property(GIVEN COMPILE_OPTIONS)
  string(TOUPPER "${{CMAKE_BUILD_TYPE}}" CONFIG)
  string(APPEND GIVEN " ${{CMAKE_C_FLAGS}} ${{CMAKE_C_FLAGS_${{CONFIG}}}}")
  if(NOT CMAKE_CONFIGURATION_TYPES AND NOT CONFIG STREQUAL "DEBUG" AND NOT GIVEN MATCHES "(^|[ ;])-O")
    target_compile_options({name} PRIVATE {level})
  endif()
endif()
{MATH.format(name=name) if package.math else ""}
if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR AND NOT CMAKE_CROSSCOMPILING)
  add_executable(example {" ".join((EXAMPLE, *package.example_sources))})
  target_link_libraries(example {name})
{selftest if package.selftest else ""}endif()
"""


def quoted(path: str) -> str:
    """A path as CMake takes it."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$") + '"'
