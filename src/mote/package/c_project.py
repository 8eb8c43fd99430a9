"""What makes the folder build on its own: Makefile, CMakeLists.txt and an example.

The example and the self-test have a `main` each. They lie in folders of their own, so that all C files beside the model
can be compiled together."""

from __future__ import annotations

from collections.abc import Sequence

from mote.emit.c.c import (
    BLANK,
    Accessor,
    Comment,
    Compound,
    Definition,
    Function,
    Include,
    Noted,
    Statement,
    Text,
    loop,
    printed,
    when,
)
from mote.emit.c.options import ProjectOptions, banner
from mote.emit.c.ports import Port, caller_arenas, init_call, inputs, outputs
from mote.graph.types import DType
from mote.plan.plan import Plan

EXAMPLE = "example/main.c"
SELFTEST = "selftest/selftest.c"
WARNINGS = "-Wall -Wextra -Wconversion -pedantic"
MATH = """\
# A kernel of yours calls the math library, which is one of its own but for compilers that have it in their C library.
if(UNIX OR (CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$" AND NOT WIN32))
  target_link_libraries({name} PUBLIC m)
endif()
"""


def texts(plan: Plan, options: ProjectOptions, math: bool) -> dict[str, str]:
    """`math`: whether a kernel of the user's calls the C library's math functions."""
    names = [options.name, *(["mote_arena"] if options.shared_arena else [])]
    return {
        "Makefile": _makefile(names, options, math),
        "CMakeLists.txt": _cmake(names, options, math),
        EXAMPLE: _main(plan, options),
    }


def shared_texts(models: Sequence[tuple[Plan, ProjectOptions]], options: ProjectOptions, math: bool) -> dict[str, str]:
    """For several models in one folder; `options` are those of the folder."""
    names = [*(own.name for _, own in models), "mote_arena"]
    return {
        "Makefile": _makefile(names, options, math),
        "CMakeLists.txt": _cmake(names, options, math),
        EXAMPLE: _shared_main(models, options),
    }


def _makefile(names: Sequence[str], options: ProjectOptions, math: bool) -> str:
    sources, headers = (" ".join(f"{n}.{ext}" for n in names) for ext in "ch")
    how, library = options.optimization, "-lm" if math else ""
    needed = "the library m" if math else "no library"
    told = " ".join(options.only_gcc)
    only_gcc = f"$(if $(findstring Free Software,$(shell $(CC) --version)),{told}) " if told else ""
    return f"""\
# Builds the example and the self-test with the host's compiler; for a microcontroller, add {sources} to your
# own build: no other source file and {needed} is needed.
# {options.measured}
CC ?= cc
CFLAGS ?= -std=c99 {how.level} {only_gcc}{WARNINGS}
LDLIBS ?= {library}

all: example/example selftest/selftest

example/example: {EXAMPLE} {sources} {headers}
\t$(CC) $(CFLAGS) -I. -o $@ {EXAMPLE} {sources} $(LDLIBS)

# MOTE_SELFTEST lets the self-test see the output of every step.
selftest/selftest: {SELFTEST} {sources} {headers}
\t$(CC) $(CFLAGS) -I. -DMOTE_SELFTEST -o $@ {SELFTEST} {sources} $(LDLIBS)

test: selftest/selftest
\t./selftest/selftest

clean:
\trm -f example/example selftest/selftest

.PHONY: all test clean
"""


def _cmake(names: Sequence[str], options: ProjectOptions, math: bool) -> str:
    name, how = options.name, options.optimization
    sources = " ".join(f"{n}.c" for n in names)
    flags = " ".join(f"$<$<C_COMPILER_ID:GNU>:{flag}>" for flag in options.only_gcc)
    only_gcc = f"\n  target_compile_options({name} PRIVATE {flags})" if flags else ""
    return f"""\
# add_subdirectory() this folder and link your firmware with `{name}`.
# {options.measured}
cmake_minimum_required(VERSION 3.13)
project({name} C)

add_library({name} STATIC {sources})
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
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
{MATH.format(name=name) if math else ""}
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


def _main(plan: Plan, options: ProjectOptions) -> str:
    arena = [Text(line) for line in caller_arenas(plan, options)]
    main = Function("int main(void)", _inference(plan, options))
    return _example(options, [options.name], [*arena, *([BLANK] if arena else []), main])


def _shared_main(models: Sequence[tuple[Plan, ProjectOptions]], options: ProjectOptions) -> str:
    """One model after the other."""
    functions = [Function(f"static int run_{own.name}(void)", _inference(plan, own)) for plan, own in models]
    names = [own.name for _, own in models]
    calls = " || ".join(f"run_{name}() != 0" for name in names)
    return _example(options, names, [*functions, Accessor("int main(void)", f"return {calls}")])


def _example(options: ProjectOptions, names: Sequence[str], body: Sequence[Definition]) -> str:
    system = Text("#include <stdio.h>\n#include <string.h>\n")
    headers = [Include(f"{name}.h") for name in names]
    return printed([banner(options, f"{EXAMPLE}: an example to start from."), system, *headers, BLANK, *body])


def _inference(plan: Plan, options: ProjectOptions) -> list[Statement]:
    """The body of a function that runs a model once."""
    show = [_print(port) for port in outputs(plan, options)]
    return [_failed(init_call(plan, options)), *_feed(plan, options), *show, "return 0"]


def _failed(status: str) -> Statement:
    return when(f"{status} != MOTE_OK", "return 1")


def _feed(plan: Plan, options: ProjectOptions) -> list[Statement]:
    """Fill the inputs and run, or push row after row."""
    name, ports = options.name, inputs(plan, options)
    if plan.pushed:
        row = f"static {ports[0].ctype} row[{ports[0].macro}_ROW_SIZE]"
        push = Compound(f"while ({name}_push(row, 1) == MOTE_WAITING)", [Comment("put the next row of your data here")])
        return [row, push]
    what = "put the next of your stream here" if plan.graph.warm_up else "put your data here"
    fill = [Noted(f"memset({port.function}(), 0, {port.macro}_BYTES)", what) for port in ports]
    if not plan.graph.warm_up:
        return [*fill, _failed(f"{name}_run()")]
    again = Compound("do", [*fill, f"status = {name}_run()"], " while (status == MOTE_WAITING);")
    return ["mote_status status", again, _failed("status")]


def _print(port: Port) -> Statement:
    form, cast = ("%g", "(double)") if port.tensor.dtype == DType.FLOAT32 else ("%ld", "(long)")
    return loop("size_t", "i", f"{port.macro}_SIZE", f'printf("{form}\\n", {cast}{port.function}()[i])')
