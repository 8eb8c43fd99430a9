"""`mote_move_items.h`: runs of all lengths from and to all places, matrices turned, memory filled: byte for byte."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.kernels.c_harness import Program
from tests.helpers.support import emulated

CASES = r"""
#define SPACE 2400
typedef struct {
    int8_t in[SPACE], out[SPACE], want[SPACE];
} memory_t;
static MOTE_ALIGNED memory_t m;
static uint32_t tried, wrong;

static void begin(void) {
    memset(m.out, 99, SPACE);
    memset(m.want, 99, SPACE);
}

static void end(void) {
    tried++;
    wrong += memcmp(m.out, m.want, SPACE) != 0;
}

static void copy(int32_t run, int32_t items, int32_t from, int32_t to, int32_t in_more, int32_t out_more) {
    begin();
    mote_move_items(m.in + from, m.out + 8 + to, items, run + in_more, run + out_more, run);
    for (int32_t i = 0; i < items; i++) {
        for (int32_t k = 0; k < run; k++) {
            m.want[8 + to + i * (run + out_more) + k] = m.in[from + i * (run + in_more) + k];
        }
    }
    end();
}

static void turn(int32_t size, int32_t rows, int32_t columns, int32_t from, int32_t to, int32_t in_more, int32_t more) {
    const int32_t in_step = size * (columns + in_more), out_step = size * (rows + more);
    begin();
    mote_turn_items(m.in + from, m.out + 8 + to, rows, columns, in_step, out_step, size);
    for (int32_t i = 0; i < rows; i++) {
        for (int32_t k = 0; k < columns * size; k++) {
            m.want[8 + to + k / size * out_step + i * size + k % size] = m.in[from + i * in_step + k];
        }
    }
    end();
}

static void fill(int32_t to, int32_t bytes) {
    begin();
    mote_fill_bytes(m.out + 8 + to, -3, bytes);
    memset(m.want + 8 + to, -3, (size_t)bytes);
    end();
}

static void all(void) {
    static const int32_t runs[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,   11,  12,  13,
                                   16, 17, 20, 24, 31, 32, 36, 64, 127, 128, 129, 132};
    static const int32_t more[] = {0, 1, 4, 7};
    for (int32_t i = 0; i < SPACE; i++) {
        m.in[i] = (int8_t)(i * 37 % 251 - 125);
    }
    for (uint32_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        for (int32_t place = 0; place < 16; place++) {
            for (uint32_t s = 0; s < 4; s++) {
                copy(runs[r], 1 + (int32_t)(r + s) % 4, place % 4, place / 4, more[s], more[(s + r) % 4]);
            }
        }
    }
    for (int32_t rows = 1; rows < 14; rows += rows < 9 ? 1 : 3) {
        for (int32_t columns = 1; columns < 11; columns++) {
            for (int32_t place = 0; place < 4; place++) {
                turn(1, rows, columns, place, (rows + place) % 4, more[place], more[columns % 4]);
                turn(1, rows, columns, 0, place, 4 - columns % 4, more[columns % 4]);
                turn(2, rows, columns, 2 * place, 2 * (rows % 2), more[place], more[columns % 4]);
                turn(2, rows, columns, place, rows % 4, more[place], more[columns % 4]);
                turn(4, rows, columns, 4 * place, 0, more[place], more[columns % 4]);
            }
        }
    }
    for (int32_t bytes = 0; bytes < 50; bytes++) {
        for (int32_t place = 0; place < 4; place++) {
            fill(place, bytes);
        }
    }
}
"""
CORES = ("host", "cortex-m55", "cortex-m4", "cortex-m3", "cortex-m0plus", "rv32imc")


@pytest.mark.parametrize("core", CORES)
def test_bytes_are_where_they_belong(core: str) -> None:
    program = Program(core if core == "host" else emulated(core))
    program.includes["mote_move_items.h"] = None
    program.globals.append(CASES)
    program.say("all();")
    program.write("&tried", 4)
    program.write("&wrong", 4)
    tried, wrong = np.frombuffer(program.run(), np.uint32)
    assert tried > 2000
    assert wrong == 0
