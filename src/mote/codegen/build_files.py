"""What makes the folder build on its own: Makefile, CMakeLists.txt and an example main.c."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mote.codegen.ports import Port, caller_arenas, init_call, inputs, outputs
from mote.codegen.source import banner
from mote.plan.plan import Plan

if TYPE_CHECKING:
    from mote.codegen.project import Options

WARNINGS = "-Wall -Wextra -Wconversion -pedantic"


def texts(plan: Plan, options: Options) -> dict[str, str]:
    names = [options.name, *(["mote_arena"] if options.shared_arena else [])]
    return {
        "Makefile": _makefile(names),
        "CMakeLists.txt": _cmake(options.name, names),
        "main.c": _main(plan, options),
    }


def shared_texts(models: Sequence[tuple[Plan, Options]], options: Options) -> dict[str, str]:
    """For several models in one folder; `options` are those of the folder."""
    names = [*(own.name for _, own in models), "mote_arena"]
    return {
        "Makefile": _makefile(names),
        "CMakeLists.txt": _cmake(options.name, names),
        "main.c": _shared_main(models, options),
    }


def _makefile(names: Sequence[str]) -> str:
    sources, headers = (" ".join(f"{n}.{ext}" for n in names) for ext in "ch")
    return f"""\
# Builds the example and the self-test with the host's compiler; for a microcontroller, add {sources} to your
# own build (no other source file, no flags and no library are needed; float models want -lm).
CC ?= cc
CFLAGS ?= -std=c99 -O2 {WARNINGS}
LDLIBS ?= -lm

all: example selftest

example: main.c {sources} {headers}
\t$(CC) $(CFLAGS) -o $@ main.c {sources} $(LDLIBS)

selftest: selftest.c {sources} {headers}
\t$(CC) $(CFLAGS) -o $@ selftest.c {sources} $(LDLIBS)

test: selftest
\t./selftest

clean:
\trm -f example selftest

.PHONY: all test clean
"""


def _cmake(name: str, names: Sequence[str]) -> str:
    sources = " ".join(f"{n}.c" for n in names)
    return f"""\
# add_subdirectory() this folder and link your firmware with `{name}`.
cmake_minimum_required(VERSION 3.13)
project({name} C)

add_library({name} STATIC {sources})
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
    arena = "".join(f"{line}\n" for line in caller_arenas(plan, options))
    main = f"int main(void) {{\n{_inference(plan, options)}}}\n"
    return _example(options, [options.name], f"{arena}\n{main}" if arena else main)


def _shared_main(models: Sequence[tuple[Plan, Options]], options: Options) -> str:
    """One model after the other."""
    functions = [f"static int run_{own.name}(void) {{\n{_inference(plan, own)}}}\n" for plan, own in models]
    names = [own.name for _, own in models]
    calls = " || ".join(f"run_{name}() != 0" for name in names)
    return _example(options, names, "\n".join([*functions, f"int main(void) {{ return {calls}; }}\n"]))


def _example(options: Options, names: Sequence[str], body: str) -> str:
    includes = "\n".join(f'#include "{name}.h"' for name in names)
    return f"""\
{banner(options, "main.c: an example to start from.")}\
#include <stdio.h>
#include <string.h>

{includes}

{body}"""


def _inference(plan: Plan, options: Options) -> str:
    """The body of a function that runs a model once."""
    show = "\n".join(_print(port) for port in outputs(plan, options))
    return f"""\
    if ({init_call(plan, options)} != MOTE_OK) {{
        return 1;
    }}
{_feed(plan, options)}
{show}
    return 0;
"""


def _feed(plan: Plan, options: Options) -> str:
    """Fill the inputs and run, or push row after row."""
    name, ports = options.name, inputs(plan, options)
    if plan.pushed:
        port = ports[0]
        return (
            f"    static {port.ctype} row[{port.macro}_ROW_SIZE];\n"
            f"    while ({name}_push(row, 1) == MOTE_WAITING) {{\n"
            "        /* put the next row of your data here */\n    }"
        )
    fill = "\n".join(
        f"    memset({port.function}(), 0, {port.macro}_BYTES); /* put your data here */" for port in ports
    )
    if plan.graph.warm_up:
        fill = fill.replace("put your data", "put the next of your stream")
        body = "\n".join(f"    {line}" for line in fill.split("\n"))
        return (
            f"    mote_status status;\n    do {{\n{body}\n        status = {name}_run();\n"
            "    } while (status == MOTE_WAITING);\n    if (status != MOTE_OK) {\n        return 1;\n    }"
        )
    return f"{fill}\n    if ({name}_run() != MOTE_OK) {{\n        return 1;\n    }}"


def _print(port: Port) -> str:
    form, cast = ("%g", "(double)") if port.tensor.dtype == "float32" else ("%ld", "(long)")
    return (
        f"    for (size_t i = 0; i < {port.macro}_SIZE; i++) {{\n"
        f'        printf("{form}\\n", {cast}{port.function}()[i]);\n    }}'
    )
