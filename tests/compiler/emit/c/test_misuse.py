"""Calls in the wrong order, and states that come back damaged: a status says so, and nothing else happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mote.compiler.line import compile
from tests.compiler.emit.c.test_project import DIGITS
from tests.compiler.emit.c.test_steps import REQUIRE, program
from tests.helpers.network import Net

MODES: dict[str, dict[str, Any]] = {
    "layers": {},
    "rows": {"least_ram": True},
    "pushed": {"input": "rows"},
    "red zones": {"least_ram": True, "red_zones": True},
    "checked": {"check_flash": True, "single_file": True},
}

BEFORE_INIT = (
    REQUIRE
    + """
#include "digits.h"
#ifdef PUSHED
static const int8_t frame[DIGITS_INPUT_SIZE];
static int ready(void) { return digits_push_row(frame) != MOTE_NOT_READY || digits_push(frame, 1) != MOTE_NOT_READY
    || digits_push(NULL, 0) != MOTE_NOT_READY || digits_push(frame, DIGITS_INPUT_ROWS) != MOTE_NOT_READY; }
static mote_status runs(void) { return digits_push(frame, DIGITS_INPUT_ROWS); }
#else
static int ready(void) { return digits_run() != MOTE_NOT_READY || digits_input() != NULL; }
static mote_status runs(void) { return digits_input() == NULL ? MOTE_NOT_READY : digits_run(); }
#endif
static void nothing_is_ready(void) {
    REQUIRE(digits_step() == MOTE_NOT_READY);
    REQUIRE(digits_output() == NULL);
    REQUIRE(!ready());
    REQUIRE(digits_check() == MOTE_OK);
}
int main(void) {
    nothing_is_ready();
#ifdef GIVEN
    static uint64_t arena[(DIGITS_ARENA_BYTES + 7) / 8 + 1];
    const size_t bytes = DIGITS_ARENA_BYTES;
    for (int i = 0; i < 2; i++) { /* the second time after one that succeeded */
        REQUIRE(digits_init(NULL, bytes) == MOTE_BAD_ARENA);
        nothing_is_ready();
        REQUIRE(digits_init(arena, bytes - 1) == MOTE_BAD_ARENA);
        nothing_is_ready();
        REQUIRE(digits_init((uint8_t *)arena + 4, bytes) == MOTE_BAD_ARENA);
        nothing_is_ready();
        REQUIRE(digits_init(arena, bytes) == MOTE_OK);
        REQUIRE(runs() == MOTE_OK);
        REQUIRE(digits_output() != NULL);
    }
#else
    REQUIRE(digits_init() == MOTE_OK);
    REQUIRE(runs() == MOTE_OK);
    REQUIRE(digits_output() != NULL);
#endif
    return 0;
}
"""
)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("given", [False, True], ids=["own arena", "caller's arena"])
@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_ready_before_init(mode: str, given: bool, tmp_path: Path) -> None:
    """Nor after an init that failed, also where an earlier one did not."""
    pushed = "#define PUSHED\n" if mode == "pushed" else ""
    text = pushed + ("#define GIVEN\n" if given else "") + BEFORE_INIT
    program(text, compile(DIGITS, caller_arena=given, **MODES[mode]), tmp_path)


STATES = (
    REQUIRE
    + """
#include "mote_state.h"
#include "stream.h"
static uint8_t saved[STREAM_STATE_BYTES + 1], bad[STREAM_STATE_BYTES], now[STREAM_STATE_BYTES];
static int8_t wanted[STREAM_OUTPUT_SIZE];
static mote_status next(int seed) {
    for (int i = 0; i < STREAM_INPUT_SIZE; i++) stream_input()[i] = (int8_t)(i * 31 + seed * 57);
    return stream_run();
}
static int refused(const uint8_t *state, size_t bytes) {
    return stream_restore(state, bytes) == MOTE_BAD_STATE && stream_save(now, sizeof now) == MOTE_OK
        && memcmp(now, saved, sizeof now) == 0;
}
int main(void) {
    REQUIRE(stream_save(saved, sizeof saved) == MOTE_NOT_READY);
    REQUIRE(stream_restore(saved, sizeof saved) == MOTE_NOT_READY);
    REQUIRE(stream_reset() == MOTE_NOT_READY && stream_run() == MOTE_NOT_READY && stream_input() == NULL);
    REQUIRE(stream_init() == MOTE_OK);
    for (int i = 0; i < STREAM_WARM_UP; i++) REQUIRE(next(i) == MOTE_WAITING);
    for (int i = 0; i < 3; i++) REQUIRE(next(i) == MOTE_OK);
    REQUIRE(stream_save(saved, STREAM_STATE_BYTES - 1) == MOTE_BAD_STATE);
    REQUIRE(stream_save(NULL, sizeof saved) == MOTE_BAD_STATE);
    REQUIRE(stream_save(saved, sizeof saved) == MOTE_OK);
    for (size_t bit = 0; bit < 8 * sizeof bad; bit++) { /* every single bit */
        memcpy(bad, saved, sizeof bad);
        bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
        REQUIRE(refused(bad, sizeof bad));
    }
    for (size_t bytes = 0; bytes < sizeof bad; bytes++) REQUIRE(refused(saved, bytes));
    memset(bad, 0, sizeof bad);
    REQUIRE(refused(bad, sizeof bad));
    memset(bad, 0xff, sizeof bad);
    REQUIRE(refused(bad, sizeof bad));
    REQUIRE(refused(NULL, sizeof bad));

    for (size_t at = 16; at < sizeof bad; at++) { /* forged: bytes that cannot be, under a CRC that is right */
        uint32_t head[4];
        memcpy(bad, saved, sizeof bad);
        bad[at] = 0xff;
        memcpy(head, bad, sizeof head);
        head[3] = mote_state_crc(head, bad + 16, sizeof bad - 16);
        memcpy(bad, head, sizeof head);
        if (stream_restore(bad, sizeof bad) == MOTE_OK) {
            REQUIRE(next(9) == MOTE_OK || next(9) == MOTE_WAITING); /* sanitizers watch */
        }
        REQUIRE(stream_restore(saved, sizeof saved) == MOTE_OK);
    }
    REQUIRE(next(5) == MOTE_OK);
    memcpy(wanted, stream_output(), sizeof wanted);
    REQUIRE(next(6) == MOTE_OK && memcmp(wanted, stream_output(), sizeof wanted) != 0);
    REQUIRE(stream_step() == MOTE_BUSY); /* in the middle of an inference */
    REQUIRE(stream_restore(saved, sizeof saved) == MOTE_BUSY && stream_save(saved, sizeof saved) == MOTE_BUSY);
    REQUIRE(stream_run() == MOTE_OK);
    REQUIRE(stream_restore(saved, STREAM_STATE_BYTES) == MOTE_OK);
    REQUIRE(next(5) == MOTE_OK && memcmp(wanted, stream_output(), sizeof wanted) == 0);

    memcpy(bad, saved, sizeof bad); /* of another model */
    uint32_t head[4];
    memcpy(head, bad, sizeof head);
    head[2] ^= 1;
    head[3] = mote_state_crc(head, bad + 16, sizeof bad - 16);
    memcpy(bad, head, sizeof head);
    REQUIRE(stream_restore(bad, sizeof bad) == MOTE_BAD_STATE);
    REQUIRE(stream_reset() == MOTE_OK && next(0) == MOTE_WAITING);
    return 0;
}
"""
)


def stream(seed: int = 3) -> bytes:
    """Two convolutions over time, whose windows are ring buffers."""
    net = Net(seed)
    x = net.conv(net.input(1, 12, 1, 3), 4, (3, 1), padding="VALID")
    return net.finish(net.conv(x, 2, (3, 1), padding="VALID"))


def test_a_wrong_state_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    compiled = compile(stream(), name="stream", stream=1)
    assert compiled.plan.rings and compiled.plan.graph.warm_up > 1
    program(STATES, compiled, tmp_path, "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def test_states_tell_models_and_ways_apart() -> None:
    """The same model in the same way has the same states, whatever the target; another one has not."""

    def told(model: bytes, **options: Any) -> str:
        text = compile(model, name="stream", stream=1, **options).project.files["stream.c"]
        return text.split("mote_state_fits(state, ")[1].split(",")[0]

    assert told(stream()) == told(stream(), caller_arena=True)
    assert len({told(stream()), told(stream(4)), told(stream(), hop=2)}) == 3
