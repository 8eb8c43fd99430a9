"""Input that comes row by row: however it is handed over, the outputs are those of the model that has it whole."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.compiler.line import compile
from tests.compiler.emit.c.test_project import DIGITS, FLAGS, KEYWORDS, compiler_or_skip, run
from tests.helpers.network import Net

FIRMWARE = """
#include <stdio.h>
#include <string.h>
#include "rows.h"
#include "whole.h"
#define REQUIRE(fact) do { if (!(fact)) { printf("line %d: %s", __LINE__, #fact); return 1; } } while (0)
enum { COUNT = ROWS_INPUT_ROWS, ROW = ROWS_INPUT_ROW_SIZE };
static int8_t frames[2][ROWS_INPUT_SIZE];

/* Whether the outputs are those of a frame, as the model computes them that has it whole. */
static int right(int which) {
    memcpy(whole_input(), frames[which], WHOLE_INPUT_BYTES);
    return whole_run() == MOTE_OK && memcmp(whole_output(), rows_output(), ROWS_OUTPUT_BYTES) == 0;
}
static const int8_t *row(int which, int y) { return frames[which] + y * ROW; }
static mote_status after(int y) { return y + 1 == COUNT ? MOTE_OK : MOTE_WAITING; }
static mote_status worked(mote_status status) {
    while (status == MOTE_BUSY) status = rows_step();
    return status;
}

static int at_once(void) {
    REQUIRE(rows_push(frames[0], COUNT) == MOTE_OK);
    REQUIRE(right(0));
    return 0;
}
static int one_by_one(void) {
    for (int y = 0; y < COUNT; y++) REQUIRE(rows_push(row(0, y), 1) == after(y));
    REQUIRE(right(0));
    return 0;
}
static int three_by_three(void) {
    for (int y = 0; y < COUNT; y += 3) {
        const int n = COUNT - y < 3 ? COUNT - y : 3;
        REQUIRE(rows_push(row(0, y), (size_t)n) == after(y + n - 1));
    }
    REQUIRE(right(0));
    return 0;
}
static int in_pieces(void) {
    for (int y = 0; y < COUNT; y++) REQUIRE(worked(rows_push_row(row(0, y))) == after(y));
    REQUIRE(right(0));
    return 0;
}
static int refused_while_busy(void) {
    int refused = 0;
    for (int y = 0; y < COUNT; y++) {
        mote_status status = rows_push_row(row(0, y));
        for (; status == MOTE_BUSY; status = rows_step(), refused++) REQUIRE(rows_push_row(row(1, y)) == MOTE_BUSY);
        REQUIRE(status == after(y));
    }
    REQUIRE(refused > 0);
    REQUIRE(right(0));
    return 0;
}
static int nothing_to_do_while_waiting(void) {
    for (int y = 0; y < COUNT; y++) {
        REQUIRE(rows_step() == MOTE_WAITING);
        REQUIRE(rows_push(NULL, 0) == MOTE_WAITING);
        REQUIRE(rows_push(row(0, y), 1) == after(y));
    }
    REQUIRE(right(0));
    return 0;
}
static int frame_after_frame(void) {
    for (int i = 0; i < 4; i++) {
        REQUIRE(rows_push(frames[i % 2], COUNT) == MOTE_OK);
        REQUIRE(right(i % 2));
        REQUIRE(!right(1 - i % 2));
    }
    return 0;
}
static int two_frames_at_once(void) {
    REQUIRE(rows_push(frames[0], 2 * COUNT) == MOTE_OK);
    REQUIRE(right(1));
    return 0;
}
static int half_a_frame_more(void) {
    REQUIRE(rows_push(frames[0], COUNT + COUNT / 2) == MOTE_WAITING);
    REQUIRE(rows_push(row(1, COUNT / 2), (size_t)(COUNT - COUNT / 2)) == MOTE_OK);
    REQUIRE(right(1));
    return 0;
}
static int push_finishes_pieces(void) {
    for (int y = 0; y + 1 < COUNT; y++) REQUIRE(rows_push(row(0, y), 1) == MOTE_WAITING);
    if (rows_push_row(row(0, COUNT - 1)) == MOTE_BUSY) REQUIRE(rows_push(NULL, 0) == MOTE_OK);
    REQUIRE(right(0));
    for (int y = 0; y < COUNT; y++) {
        if (y % 2 || y + 1 == COUNT) REQUIRE(rows_push(row(1, y), 1) == after(y));
        else rows_push_row(row(1, y));
    }
    REQUIRE(right(1));
    return 0;
}
static int the_next_frame_while_busy(void) {
    for (int y = 0; y + 1 < COUNT; y++) REQUIRE(rows_push(row(0, y), 1) == MOTE_WAITING);
    rows_push_row(row(0, COUNT - 1));
    REQUIRE(rows_push(frames[1], COUNT) == MOTE_OK);
    REQUIRE(right(1));
    return 0;
}
static int init_abandons_a_frame(void) {
    REQUIRE(rows_push(frames[1], COUNT / 2) == MOTE_WAITING);
    rows_push_row(row(1, COUNT / 2));
    REQUIRE(rows_init() == MOTE_OK);
    return at_once();
}

int main(int count, char **arguments) {
    static const struct { const char *name; int (*check)(void); } checks[] = {CHECKS};
    for (int i = 0; i < ROWS_INPUT_SIZE; i++) {
        frames[0][i] = (int8_t)(i * 37 + i / 11 * 5);
        frames[1][i] = (int8_t)(i * 59 + i / 7 * 3);
    }
    REQUIRE(count == 2 && whole_init() == MOTE_OK && rows_init() == MOTE_OK);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (strcmp(checks[i].name, arguments[1]) == 0) return checks[i].check();
    }
    return 2;
}
"""
CHECKS = re.findall(r"static int (\w+)\(void\) {", FIRMWARE)


def last_rows_unused() -> bytes:
    """Of 14 rows the first layer needs 3 of every 4, and none of the last three."""
    net = Net()
    return net.finish(net.conv(net.conv(net.input(1, 14, 9, 2), 6, stride=4, padding="VALID"), 5, kernel=1))


def last_rows_of_the_second_layer_unused() -> bytes:
    net = Net()
    x = net.conv(net.conv(net.input(1, 14, 9, 2), 4), 5, stride=3, padding="VALID")
    return net.finish(net.pool(x))


MODELS = {
    "digits": DIGITS,
    "keywords": KEYWORDS,
    "last rows unused": last_rows_unused,
    "last rows of the second layer unused": last_rows_of_the_second_layer_unused,
}


@pytest.fixture(scope="module")
def firmware(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with a model twice: pushed, and with its input whole."""
    cc = compiler_or_skip("gcc")
    model = MODELS[request.param]
    data = model() if callable(model) else model.read_bytes()
    folder = tmp_path_factory.mktemp("pushed")
    compile(data, name="whole").write(folder / "a")
    compile(data, name="rows", input="rows").write(folder / "b")
    listed = ", ".join(f'{{"{name}", {name}}}' for name in CHECKS)
    (folder / "firmware.c").write_text(FIRMWARE.replace("CHECKS", listed))
    run([cc, *FLAGS, "-O0", "-Ia", "-Ib", "firmware.c", "a/whole.c", "b/rows.c", "-o", "firmware", "-lm"], folder)
    return folder


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("firmware", MODELS, indirect=True)
def test_rows_are_taken(firmware: Path, check: str) -> None:
    done = subprocess.run(["./firmware", check], cwd=firmware, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


@cache
def wide() -> bytes:
    """A network of the visual kind: 32x32 pixels in color, strided at once."""
    net = Net()
    x = net.conv(net.input(1, 32, 32, 3), 8, stride=2)
    return net.finish(net.pool(net.conv(net.conv(x, 8, kernel=1), 12, stride=2), 8))


def test_the_input_is_never_whole() -> None:
    pushed, resident = compile(wide(), input="rows").plan, compile(wide(), least_ram=True).plan
    assert pushed.arena < 32 * 32 * 3 / 2 < 32 * 32 * 3 <= resident.arena


def test_header_is_a_manual() -> None:
    header = compile(DIGITS, input="rows").project.files["digits.h"]
    for wanted in (
        "#define DIGITS_INPUT_ROWS 8\n",
        "#define DIGITS_INPUT_ROW_SIZE 8 ",
        "#define DIGITS_INPUT_ROW_BYTES 8\n",
        "mote_status digits_push(const int8_t *rows, size_t count);",
        "digits_push(next_row(), 1)",
    ):
        assert wanted in header
    assert "digits_input(" not in header and "digits_run(" not in header


def test_more_than_one_input_is_refused() -> None:
    net = Net()
    both = net.add(net.input(1, 4, 4, 2), net.input(1, 4, 4, 2))
    with pytest.raises(MoteError, match="has 2 inputs; only a single one can come row by row"):
        compile(net.finish(both), input="rows")


@pytest.mark.parametrize("shape", [(1, 1, 9, 2), (1, 9)])
def test_an_input_of_one_row_is_refused(shape: tuple[int, ...]) -> None:
    net = Net()
    x = net.input(*shape)
    with pytest.raises(MoteError, match=f"the input {'x'.join(map(str, shape))} has one row only") as error:
        compile(net.finish(net.add(x, x)), input="rows")
    assert "--input rows" in error.value.remedy
