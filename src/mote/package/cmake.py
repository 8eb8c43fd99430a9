"""CMake: a static library that a firmware adds as a subdirectory."""

from __future__ import annotations

from mote.emit.c.programs.example import EXAMPLE, SELFTEST
from mote.emit.c.project import Project
from mote.emit.licence import SPDX

MATH = """\
# A kernel of yours calls the math library, which is one of its own but for compilers that have it in their C library.
if(UNIX OR (CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$" AND NOT WIN32))
  target_link_libraries({name} PUBLIC m)
endif()
"""


def files(project: Project) -> dict[str, str]:
    """The CMakeLists.txt of a C project."""
    options, sources = project.options, " ".join((*project.sources, *map(_quoted, project.external)))
    folders = " ".join(["${CMAKE_CURRENT_SOURCE_DIR}", *map(_quoted, project.includes)])
    name, how = options.name, options.optimization
    flags = " ".join(f"$<$<C_COMPILER_ID:GNU>:{flag}>" for flag in options.only_gcc)
    only_gcc = f"\n  target_compile_options({name} PRIVATE {flags})" if flags else ""
    text = f"""\
# {SPDX}
# add_subdirectory() this folder and link your firmware with `{name}`.
# {options.measured}
cmake_minimum_required(VERSION 3.13)
project({name} C)

add_library({name} STATIC {sources})
target_include_directories({name} PUBLIC {folders})
set_target_properties({name} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang" AND NOT MSVC){only_gcc}
  # {how.level} where nobody says how to optimize: neither flags, nor the build type, nor options of the folder above.
  get_directory_property(GIVEN COMPILE_OPTIONS)
  string(TOUPPER "${{CMAKE_BUILD_TYPE}}" CONFIG)
  string(APPEND GIVEN " ${{CMAKE_C_FLAGS}} ${{CMAKE_C_FLAGS_${{CONFIG}}}}")
  if(NOT CMAKE_CONFIGURATION_TYPES AND NOT CONFIG STREQUAL "DEBUG" AND NOT GIVEN MATCHES "(^|[ ;])-O")
    target_compile_options({name} PRIVATE {how.level})
  endif()
endif()
{MATH.format(name=name) if project.math else ""}
if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR AND NOT CMAKE_CROSSCOMPILING)
  enable_testing()
  add_executable(example {EXAMPLE})
  target_link_libraries(example {name})
  # MOTE_SELFTEST lets the self-test see the output of every step, so that it has the model compiled for it.
  add_executable(selftest {SELFTEST} {sources})
  target_compile_definitions(selftest PRIVATE MOTE_SELFTEST)
  target_compile_options(selftest PRIVATE $<TARGET_PROPERTY:{name},COMPILE_OPTIONS>)
  set_target_properties(selftest PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
  target_link_libraries(selftest {name})
  add_test(NAME selftest COMMAND selftest)
endif()
"""
    return {"CMakeLists.txt": text}


def _quoted(path: str) -> str:
    """A path as CMake takes it."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$") + '"'
