"""An image with the runtime and its kernels, as one C project for the measuring harness on any core."""

from __future__ import annotations

from collections.abc import Sequence

from mote.compiler.emit.image import format
from mote.compiler.emit.image.c_array import c_array
from mote.compiler.emit.image.entries import Limits, entry_files
from mote.compiler.emit.image.kernels import KernelRecord, image_alignment
from mote.compiler.emit.image.reader import ImageContents
from mote.compiler.emit.image.sources import runtime_files

TRACED = "harness_traced"
"""Name of the glue function that the runtime calls after each op."""


def files(
    data: bytes, image: ImageContents, name: str, kernels: Sequence[KernelRecord], limits: Limits
) -> dict[str, str]:
    """The files of the runtime, the kernels and the image as an array, and a `NAME.c` with the API of generated C."""
    alignment = image_alignment(kernels)
    shared = {**runtime_files(), **entry_files(kernels, limits), **c_array(data, name, alignment)}
    return {**shared, f"{name}.h": _header(name), f"{name}.c": _source(image, name, alignment)}


def arena_bytes(image: ImageContents) -> int:
    return sum(-(-size // 8) * 8 for size in image.header["arena"])


def _header(name: str) -> str:
    return f"""\
/* {name}.h: an image as if it were generated C. */
#ifndef {name.upper()}_H
#define {name.upper()}_H

#include "mote_runtime.h"

mote_status {name}_init(void);
mote_status {name}_check(void);
mote_status {name}_run(void);
mote_status {name}_push(const void *rows, size_t count);
void *{name}_input(size_t i);
const void *{name}_output(size_t i);

#endif
"""


def _source(image: ImageContents, name: str, alignment: int) -> str:
    header = image.header
    sizes = [-(-size // 8) for size in header["arena"]]
    wide = f"__attribute__((aligned({alignment}))) " if alignment > format.ALIGNMENT else ""
    arenas = "".join(f"{wide}static uint64_t arena_{i}[{size}];\n" for i, size in enumerate(sizes) if size)
    pointers = ", ".join(f"arena_{i}" if size else "NULL" for i, size in enumerate(sizes))
    nbytes = ", ".join(f"sizeof arena_{i}" if size else "0" for i, size in enumerate(sizes))
    counts = 1 + header["rings"] + header["counters"] + header["kernels_count"]
    state = -(-(header["states"] + 2 * counts) // 8)
    return f"""\
/* {name}.c: an image as if it were generated C. */
#include "{name}.h"

#include "{name}_image.h"
#include "mote_kernels.h"

{arenas}static uint64_t state[{state}];
static mote_interpreter_t model;

mote_status {name}_init(void) {{
    const mote_memory_t memory = {{{{{pointers}}}, {{{nbytes}}}, state, sizeof state}};
    return mote_init(&model, &mote_kernels, {name}_image, sizeof {name}_image, &memory, NULL);
}}

mote_status {name}_check(void) {{ return mote_image_crc({name}_image, sizeof {name}_image); }}

mote_status {name}_run(void) {{ return mote_invoke(&model); }}

mote_status {name}_push(const void *rows, size_t count) {{ return mote_push(&model, rows, count); }}

void *{name}_input(size_t i) {{ return mote_input(&model, i); }}

const void *{name}_output(size_t i) {{ return mote_output(&model, i); }}
"""


def glue(image: ImageContents, name: str, works: int, mark: str) -> str:
    """The glue to the harness. `works`: number of traced ops; `mark`: C code that marks the end of an op, with the
    variables `op`, `data` and `bytes`."""
    pushed = any(port.memory == format.NO_MEMORY for port in image.inputs)
    frame = f"static uint64_t frame[{-(-image.inputs[0].nbytes // 8)}];\n" if pushed else ""
    rows = image.inputs[0].nbytes // image.inputs[0].row_bytes if pushed else 0
    run = f"{name}_push(frame, {rows})" if pushed else f"{name}_run()"
    waits = "status == MOTE_WAITING ? 0 : " if image.header["warm_up"] else ""
    return f"""\
#include "harness.h"
#include "{name}.h"

const uint32_t harness_input_count = {len(image.inputs)};
const uint32_t harness_output_count = {len(image.outputs)};
const uint32_t harness_step_count = {works};
{frame}
void *harness_input(uint32_t i) {{ {"(void)i; return frame;" if pushed else f"return {name}_input(i);"} }}

size_t harness_input_bytes(uint32_t i) {{ {_sizes([port.nbytes for port in image.inputs])} }}

const void *harness_output(uint32_t i) {{ return {name}_output(i); }}

size_t harness_output_bytes(uint32_t i) {{ {_sizes([port.nbytes for port in image.outputs])} }}

int harness_init(void) {{ return (int){name}_init(); }}

int harness_check(void) {{ return (int){name}_check(); }}

int harness_run(void) {{
    const mote_status status = {run};
    return {waits}(int)status;
}}

void {TRACED}(uint32_t op, const void *data, size_t bytes);
void {TRACED}(uint32_t op, const void *data, size_t bytes) {{
    (void)data, (void)bytes;
    if (op < {works}u) {{
        {mark}
    }}
}}
"""


def _sizes(sizes: Sequence[int]) -> str:
    """The body of a C function that returns the i-th size."""
    listed = ", ".join(map(str, sizes))
    return f"static const uint32_t sizes[] = {{{listed}}}; return sizes[i];"


def labels(works: int) -> str:
    """C code with a labelled nop for each op, so that traces of addresses show the end of an op."""
    cases = " ".join(f'case {i}: __asm__ volatile("mote_step_{i}_%=: nop" : :); break;' for i in range(works))
    return f"switch (op) {{ {cases} default: break; }}"
