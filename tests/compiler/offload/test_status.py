"""Calls that return a status: `step` leaves while an accelerator works and comes back to it, `run` waits, and a failure
is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.compiler.compiled import Compiled
from mote.compiler.offload.backends import GENERATORS
from mote.compiler.offload.contract import STATE, WAIT, Artifact, Blob, Generator, Invocation, Pointer
from mote.frontends.tflite.writer import Writer
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from tests.compiler.emit.c.test_steps import REQUIRE, program

ROWS, COLUMNS = 6, 50
HEADER = """\
#include <stdint.h>
int slow(void *state, int wait, const int8_t *table, const int8_t *in, int8_t *out, int32_t count);
void slow_cancel(void *state);
"""
SOURCE = """\
#include "slow.h"
int slow_fails, slow_waits, slow_polls, slow_cancels;

int slow(void *state, int wait, const int8_t *table, const int8_t *in, int8_t *out, int32_t count) {
    uint64_t *begun = (uint64_t *)state;
    slow_waits += wait != 0;
    if (begun[1] == 0) {
        begun[0] = (uint64_t)(uintptr_t)out;
        begun[1] = 3;
    }
    if (!wait && --begun[1] > 0) {
        slow_polls++;
        return 1;
    }
    begun[1] = 0;
    if (begun[0] != (uint64_t)(uintptr_t)out || slow_fails) {
        return -7;
    }
    for (int32_t i = 0; i < count; i++) {
        out[i] = table[in[i] + 128];
    }
    return 0;
}

void slow_cancel(void *state) {
    ((uint64_t *)state)[1] = 0;
    slow_cancels++;
}
"""
FIRMWARE = (
    REQUIRE
    + """
#include "slow.c"
#include "model.h"
#ifdef INSTANCES
static model_t it;
#define AT &it
#define FIRST AT,
#else
#define AT
#define FIRST
#endif
static int8_t given[MODEL_INPUT_SIZE], wanted[MODEL_OUTPUT_SIZE];
#ifdef PUSHED
static void fill(void) { for (int r = 0; r < MODEL_INPUT_ROWS; r++) {
    const int8_t *row = given + r * MODEL_INPUT_ROW_SIZE;
    if (r == MODEL_INPUT_ROWS - 1) { REQUIRE(model_push_row(FIRST row) == MOTE_BUSY); break; }
    REQUIRE(model_push(FIRST row, 1) == MOTE_WAITING); } }
static mote_status all(void) { return model_push(FIRST given, MODEL_INPUT_ROWS); }
#else
static void fill(void) { memcpy(model_input(AT), given, sizeof given); }
static mote_status all(void) { fill(); return model_run(AT); }
#endif
static int right(void) { return memcmp(wanted, model_output(AT), sizeof wanted) == 0; }
static int to_the_end(void) {
    int count = 1;
    mote_status status;
    for (; (status = model_step(AT)) == MOTE_BUSY; count++) { }
    REQUIRE(status == MOTE_OK);
    return count;
}
int main(void) {
    REQUIRE(model_init(AT) == MOTE_OK && slow_cancels == 0);
    for (int i = 0; i < MODEL_INPUT_SIZE; i++) given[i] = (int8_t)(i * 7);
    REQUIRE(all() == MOTE_OK && slow_waits == 2 && slow_polls == 0);
    memcpy(wanted, model_output(AT), sizeof wanted);

    fill();
    const int steps = to_the_end();
    REQUIRE(slow_waits == 2 && slow_polls == 4 && right());
    fill(); REQUIRE(to_the_end() == steps && right() && slow_polls == 8);

    fill();
    while (slow_polls == 8) REQUIRE(model_step(AT) == MOTE_BUSY);
    REQUIRE(model_init(AT) == MOTE_OK && slow_cancels == 1);
    fill(); REQUIRE(to_the_end() == steps && right());
    REQUIRE(model_init(AT) == MOTE_OK && slow_cancels == 1);

    slow_fails = 1;
    fill();
    mote_status status;
    while ((status = model_step(AT)) == MOTE_BUSY) { }
    REQUIRE(status == MOTE_FAILED && all() == MOTE_FAILED);
    slow_fails = 0;
    fill(); REQUIRE(to_the_end() == steps && right());
    REQUIRE(model_init(AT) == MOTE_OK && slow_cancels == 1);
    REQUIRE(all() == MOTE_OK && right());
    return 0;
}
"""
)
TWO_CORES = (
    REQUIRE
    + """
#include <pthread.h>
#include "slow.c"
#include "model.h"
static void *other(void *nothing) { (void)model_run_core(1); return nothing; }
static mote_status all(void) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, other, NULL) == 0);
    for (int i = 0; i < MODEL_INPUT_SIZE; i++) model_input()[i] = (int8_t)(i * 7);
    const mote_status status = model_run_core(0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    return status;
}
int main(void) {
    int8_t wanted[MODEL_OUTPUT_SIZE];
    REQUIRE(model_init() == MOTE_OK);
    REQUIRE(all() == MOTE_OK && slow_waits == 2);
    memcpy(wanted, model_output(), sizeof wanted);
    for (int i = 0; i < MODEL_INPUT_SIZE; i++) model_input()[i] = (int8_t)(i * 7);
    REQUIRE(model_run() == MOTE_OK && memcmp(wanted, model_output(), sizeof wanted) == 0);
    slow_fails = 1;
    REQUIRE(all() == MOTE_FAILED && slow_waits == 5);
    slow_fails = 0;
    REQUIRE(all() == MOTE_OK && memcmp(wanted, model_output(), sizeof wanted) == 0);
    return 0;
}
"""
)


def model() -> bytes:
    """An accelerator's layers between those of the core."""
    w = Writer("model")
    x = w.input("x", (1, ROWS, COLUMNS, 1), "int8", 0.05, 3)
    for i in range(2):
        y = w.tensor(f"table{i}", (1, ROWS, COLUMNS, 1), "int8", 1 / 256, -128)
        w.op("LOGISTIC", [x], [y])
        x = w.tensor(f"sum{i}", (1, ROWS, COLUMNS, 1), "int8", 0.02, 5)
        w.op("ADD", [y, w.const(f"c{i}", np.arange(COLUMNS).astype(np.int8)[None, :, None], 0.1, 0)], [x])
    w.output(x)
    return w.finish()


class Slow(Generator):
    """Looks functions up, and takes its time."""

    name = "slow"

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return [op for op in graph.ops if op.table(graph) is not None]

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact:
        table, x = region.table(graph), region.inputs[0]
        assert table is not None
        arguments = (Pointer(STATE), WAIT, Pointer("table"), Pointer(x), Pointer(region.outputs[0]))
        artifact = Artifact(
            calls=(Invocation("slow", (*arguments, graph.tensors[x].size), returns_status=True),),
            cost=10.0,
            header="slow.h",
            blobs=(Blob("table", table),),
            files={"slow.h": HEADER, "slow.c": SOURCE},
            state=16,
            cancel="slow_cancel",
        )
        return replace(artifact, **self.changes)


@pytest.fixture(autouse=True)
def generators() -> Iterator[None]:
    before = dict(GENERATORS)
    yield
    GENERATORS.clear()
    GENERATORS.update(before)


def compiled(generator: Generator, **options: Any) -> Compiled:
    mote.register_generator(generator)
    return mote.compile(model(), backend=generator.name, optimize="speed", name="model", **options)


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ({}, []),
        ({"instances": True, "red_zones": True}, ["-DINSTANCES"]),
        ({"input": "rows", "ram": 4096}, ["-DPUSHED"]),
    ],
    ids=["static", "instances", "pushed"],
)
def test_steps(options: dict[str, Any], flags: list[str], tmp_path: Path) -> None:
    """The accelerator is polled, cancelled by init, and the model fails where it does."""
    made = compiled(Slow(), **options)
    assert made.plan.static >= 16 + 4
    program(FIRMWARE, made, tmp_path, *flags)


def test_two_cores(tmp_path: Path) -> None:
    """Core 0 waits for the accelerator; a failure of its first call is not forgotten."""
    program(TWO_CORES, compiled(Slow(), cores=2), tmp_path, "-pthread")


def test_refusals() -> None:
    call = Invocation("slow", (WAIT,), returns_status=True)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"calls": (call, call)}, "has a call that returns a status, and others"),
        ({"state": 12}, "a state of 12 bytes, which is no multiple of 8"),
        ({"blobs": (Blob("state", np.zeros(256, np.int8)),)}, "two blobs of one name, or one called"),
        ({"cancel": "no name"}, "'no name', which is no name in C"),
    ]
    for changes, why in wrong:
        with pytest.raises(MoteError, match=why):
            compiled(Slow(**changes))
    plain = replace(call, returns_status=False)
    with pytest.raises(MoteError, match="has a state, or waits, and no call that returns a status"):
        compiled(Slow(calls=(plain,), state=0, cancel=""))
