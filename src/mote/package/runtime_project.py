"""Build files of a runtime: Makefile, CMakeLists.txt and an example."""

from __future__ import annotations

from collections.abc import Sequence

from mote.emit.licence import SPDX
from mote.targets import Target
from mote.targets.flags import Optimization
from mote.text import printable
from mote.version import __version__

WARNINGS = "-Wall -Wextra -Wconversion -pedantic"
WRAPPING = "-fwrapv"
"""Compiler flag for wrapping integer overflow, which kernels rely on."""

_EXAMPLE = """\
/* main.c: an example for a computer: runs an image from a file, with inputs of zeros, and prints the outputs' bytes.
 * Firmware has the image in flash, at an address that is a multiple of 8, and memory that does not come from a heap:
 * mote_runtime.h begins with such an example. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mote_kernels.h"
#include "mote_runtime.h"

static int failed(mote_status status, const mote_problem_t *problem) {
    fprintf(stderr, "%s: %s %s\\n", mote_status_text(status), problem->what, problem->name);
    return 1;
}

int main(int argc, char **argv) {
    FILE *const file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: example MODEL.mote\\n");
        return 2;
    }
    static union {
        uint64_t aligned;
        unsigned char bytes[16 << 20];
    } image;
    const size_t bytes = fread(image.bytes, 1, sizeof image, file);
    fclose(file);
    mote_problem_t problem = {"", "", 0};
    mote_needs_t needs;
    mote_status status = mote_needs(&image, bytes, &needs);
    if (status != MOTE_OK) {
        return failed(status, &problem);
    }
    mote_memory_t memory = {{NULL, NULL, NULL, NULL}, {0, 0, 0, 0}, malloc(needs.state), needs.state};
    for (int i = 0; i < 4; i++) {
        memory.arena[i] = needs.arena[i] > 0 ? malloc(needs.arena[i]) : NULL;
        memory.arena_bytes[i] = needs.arena[i];
    }
    static mote_interpreter_t model;
    status = mote_init(&model, &mote_kernels, &image, bytes, &memory, &problem);
    if (status != MOTE_OK) {
        return failed(status, &problem);
    }
    mote_tensor_t tensor;
    for (size_t i = 0; i < mote_input_count(&model); i++) {
        if (mote_input_info(&model, i, &tensor) == MOTE_OK && mote_input(&model, i) != NULL) {
            memset(mote_input(&model, i), 0, tensor.bytes); /* put your data here */
        }
    }
    status = mote_invoke(&model);
    if (status != MOTE_OK && status != MOTE_WAITING) {
        return failed(status, &problem);
    }
    for (size_t i = 0; i < mote_output_count(&model); i++) {
        const unsigned char *const output = mote_output(&model, i);
        mote_output_info(&model, i, &tensor);
        printf("%s:", tensor.name);
        for (size_t k = 0; k < tensor.bytes; k++) {
            printf(" %02x", output[k]);
        }
        printf("\\n");
    }
    return 0;
}
"""


def build_files(sources: Sequence[str], target: Target, how: Optimization) -> dict[str, str]:
    """The build files for the runtime's C."""
    flags = " ".join([*target.gcc_flags, how.level, *how.gcc, WRAPPING])
    said = printable(f"What Mote measures on {target.name} is built by gcc with {flags}.")
    told = [flag for flag in (*target.gcc_flags, *how.gcc) if flag.startswith("-f")]
    return {
        "Makefile": _makefile(sources, how, said, told),
        "CMakeLists.txt": _cmake(sources, how, said, told),
        "main.c": f"/* {SPDX} */\n/* Written by `mote runtime` of Mote {__version__}. */\n{_EXAMPLE}",
    }


def _makefile(sources: Sequence[str], how: Optimization, said: str, told: Sequence[str]) -> str:
    only_gcc = f"$(if $(findstring Free Software,$(shell $(CC) --version)),{' '.join(told)}) " if told else ""
    listed = " \\\n    ".join(sources)
    return f"""\
# {SPDX}
# Builds libmote.a, for the core that your flags choose, and an example for this computer:
#     make CC=arm-none-eabi-gcc CFLAGS="-mcpu=cortex-m4 -mthumb -Os {WRAPPING}" libmote.a
# {said}
# {WRAPPING} is needed: sums in kernels may wrap.
CC ?= cc
AR ?= ar
CFLAGS ?= -std=c99 {how.level} {WRAPPING} {only_gcc}{WARNINGS}

SOURCES = {listed}

all: libmote.a example

libmote.a: $(SOURCES:.c=.o)
\t$(AR) rcs $@ $^

%.o: %.c
\t$(CC) $(CFLAGS) -c -o $@ $<

example: main.c libmote.a
\t$(CC) $(CFLAGS) -o $@ main.c libmote.a

clean:
\trm -f *.o libmote.a example

.PHONY: all clean
"""


def _cmake(sources: Sequence[str], how: Optimization, said: str, told: Sequence[str]) -> str:
    only_gcc = "".join(f"\n    $<$<C_COMPILER_ID:GNU>:{flag}>" for flag in told)
    listed = "\n  ".join(sources)
    return f"""\
# {SPDX}
# add_subdirectory() this folder and link your firmware with `mote_runtime`.
# {said}
cmake_minimum_required(VERSION 3.13)
project(mote_runtime C)

add_library(mote_runtime STATIC
  {listed})
target_include_directories(mote_runtime PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
set_target_properties(mote_runtime PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
# {WRAPPING} is needed: sums in kernels may wrap.
target_compile_options(mote_runtime PRIVATE {WRAPPING}
  $<$<NOT:$<CONFIG:Debug>>:{how.level}>{only_gcc})
if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR AND NOT CMAKE_CROSSCOMPILING)
  add_executable(example main.c)
  target_link_libraries(example mote_runtime)
endif()
"""
