"""A model written by hand, in the shape of a generated project: four steps, two inputs, two outputs.

Step 0 does nothing, step 1 is a loop of known length in assembly, step 2 uses expf and memcpy, step 3
divides 64 bits and is traced in two pieces.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

LOOP = 1000
# The function of step 1: two to set up, LOOP times two instructions, a return.
LOOP_INSTRUCTIONS = 2 + 2 * LOOP + 1

HEADER = """
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>
extern int8_t fake_bytes[16];
extern float fake_floats[4];
extern float fake_exp[4];
extern int32_t fake_quotients[16];
int fake_run(void);
#endif
"""

MODEL = """
#include "fake.h"
#include <math.h>
#include <string.h>
#ifndef MOTE_TRACE
#define MOTE_TRACE(step, data, bytes) ((void)0)
#endif

int8_t fake_bytes[16];
float fake_floats[4];
float fake_exp[4];
int32_t fake_quotients[16];
static int8_t copied[16];
static uint32_t runs = 100;
static const int64_t table[16] = {1000000000007, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};

void fake_loop(void);
#if defined(__arm__)
__asm__(".syntax unified\\n .text\\n .balign 4\\n .global fake_loop\\n .thumb_func\\n"
        ".type fake_loop, %function\\n"
        "fake_loop: movs r0, #250\\n lsls r0, r0, #2\\n1: subs r0, r0, #1\\n bne 1b\\n bx lr\\n"
        ".size fake_loop, . - fake_loop\\n");
#elif defined(__riscv)
__asm__(".text\\n .balign 4\\n .global fake_loop\\n .type fake_loop, @function\\n"
        "fake_loop: li a0, 250\\n slli a0, a0, 2\\n1: addi a0, a0, -1\\n bnez a0, 1b\\n ret\\n"
        ".size fake_loop, . - fake_loop\\n");
#else
void fake_loop(void) {}
#endif

static __attribute__((noinline)) void exponentials(void)
{
    volatile uint8_t deep[256];
    deep[0] = 1;
    for (int i = 0; i < 4; i++) fake_exp[i] = expf(fake_floats[i]);
    memcpy(copied, fake_bytes, deep[0] ? sizeof copied : 0u);
}

static __attribute__((noinline)) void quotients(int first)
{
    for (int i = first; i < first + 8; i++) {
        int64_t divisor = copied[i] ? copied[i] : 1;
        fake_quotients[i] = (int32_t)((table[i] * 65537) / divisor);
    }
}

int fake_run(void)
{
    MOTE_TRACE(0, &runs, sizeof runs);
    fake_loop();
    MOTE_TRACE(1, &runs, sizeof runs);
    exponentials();
    MOTE_TRACE(2, fake_exp, sizeof fake_exp);
    quotients(0);
    MOTE_TRACE(3, fake_quotients, 32);
    quotients(8);
    MOTE_TRACE(3, fake_quotients + 8, 32);
    runs++;
    return 0;
}
"""

GLUE = """
#include "harness.h"
#include "fake.h"
const uint32_t harness_input_count = 2, harness_output_count = 2, harness_step_count = 4;
void *harness_input(uint32_t i) { return i ? (void *)fake_floats : (void *)fake_bytes; }
size_t harness_input_bytes(uint32_t i) { (void)i; return 16; }
const void *harness_output(uint32_t i) { return i ? (const void *)fake_quotients : (const void *)fake_exp; }
size_t harness_output_bytes(uint32_t i) { return i ? 64 : 16; }
int harness_init(void) { return 0; }
int harness_check(void) { return 0; }
int harness_run(void) { return fake_run(); }
"""

TABLE = [1000000000007, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53]
INPUTS = [
    [bytes(range(1, 17)), struct.pack("<4f", 0.0, 1.0, -2.5, 4.0)],
    [bytes([0, 255, 128, 127] * 4), struct.pack("<4f", -1.0, 0.5, 10.0, -20.0)],
    [bytes(range(1, 17)), struct.pack("<4f", 0.0, 1.0, -2.5, 4.0)],
]


def write(folder: Path, model: str = MODEL, glue: str = GLUE) -> tuple[Path, list[Path], Path]:
    """The project's folder, its sources and the glue, as `build` takes them."""
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    for name, text in (("fake.h", HEADER), ("fake.c", model), ("glue.c", glue)):
        (project / name).write_text(text)
    return project, [project / "fake.c"], project / "glue.c"


def check_outputs(outputs: list[list[bytes]]) -> None:
    """Every inference gave what Python computes."""
    for (bytes_in, floats_in), (exponentials, quotients) in zip(INPUTS, outputs, strict=True):
        floats = struct.unpack("<4f", floats_in)
        for got, x in zip(struct.unpack("<4f", exponentials), floats, strict=True):
            assert math.isclose(got, math.exp(x), rel_tol=1e-6)
        assert struct.unpack("<16i", quotients) == tuple(_quotients(bytes_in))


def _quotients(data: bytes) -> list[int]:
    values = []
    for numerator, divisor in zip(TABLE, struct.unpack("<16b", data), strict=True):
        d = divisor or 1
        q = abs(numerator * 65537) // abs(d) * (1 if d > 0 else -1)
        values.append((q + (1 << 31)) % (1 << 32) - (1 << 31))
    return values
