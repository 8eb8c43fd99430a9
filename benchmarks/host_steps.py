"""The time of each step of a model on this computer, in nanoseconds."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from mote.bench.execute.host_library import HostModel
from mote.compiler.compiled import Compiled
from mote.hardware.targets import NATIVE
from mote.hardware.toolchain import host

RUNS = 25
"""Of a model: of each step the shortest time counts."""
HOOK = """\
void mote_step_ended(unsigned step);
#define MOTE_TRACE(step, data, bytes) ((void)(data), (void)(bytes), mote_step_ended((unsigned)(step)))
"""
CLOCK = """\
#define _POSIX_C_SOURCE 199309L
#include <string.h>
#include <time.h>

#include "harness.h"

static uint64_t taken[STEPS], last, idle;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void mote_step_ended(unsigned step);
void mote_step_ended(unsigned step) {
    const uint64_t spent = now() - last;
    taken[step] += spent > idle ? spent - idle : 0;
    last = now();
}

int mote_times(uint32_t runs, uint64_t *best);
int mote_times(uint32_t runs, uint64_t *best) {
    int status = harness_init();
    idle = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        const uint64_t start = now(), spent = now() - start;
        idle = spent < idle ? spent : idle;
    }
    memset(best, 0xFF, sizeof taken);
    for (; runs > 0 && status == 0; runs--) {
        memset(taken, 0, sizeof taken);
        last = now();
        status = harness_run();
        for (int i = 0; i < STEPS; i++) {
            best[i] = taken[i] < best[i] ? taken[i] : best[i];
        }
    }
    return status;
}
"""


def times(compiled: Compiled) -> list[int]:
    """Of each step, in order."""
    model, count = HostModel(compiled), len(compiled.plan.works)
    own = {name: HOOK + text if name in compiled.project.sources else text for name, text in model.files.items()}
    texts = own | {"mote_clock.c": f"#define STEPS {count}\n{CLOCK}"}
    library = host.load(texts, [*model.sources, "mote_clock.c"], 0, NATIVE)
    best: NDArray[np.uint64] = np.zeros(count, np.uint64)
    status = library.mote_times(RUNS, ctypes.c_void_p(best.ctypes.data))
    assert status == 0, f"the model ended with the status {status}"
    taken: list[int] = best.tolist()
    return taken
