"""What makes the folder build on its own: Makefile, CMakeLists.txt and an example main.c."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mote.codegen.ports import Port, caller_arena, init_call, inputs, outputs
from mote.codegen.source import banner
from mote.plan.plan import Plan

if TYPE_CHECKING:
    from mote.codegen.project import Options

WARNINGS = "-Wall -Wextra -Wconversion -pedantic"


def texts(plan: Plan, options: Options) -> dict[str, str]:
    return {
        "Makefile": _makefile(options),
        "CMakeLists.txt": _cmake(options),
        "main.c": _main(plan, options),
    }


def _makefile(options: Options) -> str:
    name = options.name
    return f"""\
# Builds the example and the self-test with the host's compiler; for a microcontroller, add {name}.c to your
# own build (no other source file, no flags and no library are needed; float models want -lm).
CC ?= cc
CFLAGS ?= -std=c99 -O2 {WARNINGS}
LDLIBS ?= -lm

all: example selftest

example: main.c {name}.c {name}.h
\t$(CC) $(CFLAGS) -o $@ main.c {name}.c $(LDLIBS)

selftest: selftest.c {name}.c {name}.h
\t$(CC) $(CFLAGS) -o $@ selftest.c {name}.c $(LDLIBS)

test: selftest
\t./selftest

clean:
\trm -f example selftest

.PHONY: all test clean
"""


def _cmake(options: Options) -> str:
    name = options.name
    return f"""\
# add_subdirectory() this folder and link your firmware with `{name}`.
cmake_minimum_required(VERSION 3.13)
project({name} C)

add_library({name} STATIC {name}.c)
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
set_target_properties({name} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)

if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR AND NOT CMAKE_CROSSCOMPILING)
  enable_testing()
  add_executable(example main.c)
  target_link_libraries(example {name} m)
  add_executable(selftest selftest.c)
  target_link_libraries(selftest {name} m)
  add_test(NAME selftest COMMAND selftest)
endif()
"""


def _main(plan: Plan, options: Options) -> str:
    name = options.name
    fill = "\n".join(
        f"    memset({port.function}(), 0, {port.macro}_BYTES); /* put your data here */"
        for port in inputs(plan, options)
    )
    show = "\n".join(_print(port) for port in outputs(plan, options))
    arena = f"{caller_arena(options)}\n\n" if options.caller_arena else ""
    return f"""\
{banner(options, "main.c: an example to start from.")}\
#include <stdio.h>
#include <string.h>

#include "{name}.h"

{arena}int main(void) {{
    if ({init_call(options)} != MOTE_OK) {{
        return 1;
    }}
{fill}
    if ({name}_run() != MOTE_OK) {{
        return 1;
    }}
{show}
    return 0;
}}
"""


def _print(port: Port) -> str:
    form, cast = ("%g", "(double)") if port.tensor.dtype == "float32" else ("%ld", "(long)")
    return (
        f"    for (size_t i = 0; i < {port.macro}_SIZE; i++) {{\n"
        f'        printf("{form}\\n", {cast}{port.function}()[i]);\n    }}'
    )
