"""Models whose regions the functional model of the Ethos-U computes, behind a simulated driver."""

from __future__ import annotations

import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ethosu.regor")

import mote
from mote.base.errors import MoteError
from mote.bench.execute.host_library import HostModel
from mote.bench.execute.stimuli import stimuli
from mote.compiler.compiled import Compiled
from mote.compiler.offload.contract import Offloaded
from mote.compiler.offload.ethos_u import EthosU
from mote.compiler.offload.ethos_u.artifact import HEAD, job_read, job_words
from mote.compiler.offload.ethos_u.job import NpuJob
from tests.compiler.emit.c.test_project import compiler_or_skip, run
from tests.compiler.emit.c.test_steps import REQUIRE
from tests.compiler.offload.ethos_u.test_generator import DIGITS, adding

LARGE = (1, 24, 32, 16)
OK, BUSY, FAILED = 0, 4, 12
"""Statuses of generated C."""


def compiled(model: Any, target: str = "corstone-300", **options: Any) -> Compiled:
    made = mote.compile(model, target=target, backend="ethos-u", optimize="speed", **options)
    assert any(isinstance(step.kernel, Offloaded) for step in made.plan.steps)
    return made


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", ["corstone-300", "corstone-300-u65-256"])
def test_exact_on_the_core(target: str) -> None:
    """Regions between layers of the core, with two inputs and outputs that others read; every tensor that is seen is
    compared."""
    verified = mote.verify(compiled(adding(LARGE), target), inputs=3)
    assert verified.exact and verified.tensors >= 3
    assert mote.verify(compiled(str(DIGITS), target), inputs=2).exact


def test_exact_on_the_host() -> None:
    host = HostModel(compiled(str(DIGITS)))
    cases = stimuli(host.graph, 4)
    (outputs,) = host.run(cases)
    for case, output in zip(cases, outputs, strict=True):
        assert np.array_equal(output, host.graph.evaluate(case)[host.graph.outputs[0]].reshape(output.shape))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("options", [{"caller_arena": True}, {"instances": True}], ids=["caller", "instances"])
def test_lines_of_a_cache(options: dict[str, Any], tmp_path: Path) -> None:
    """Arenas begin and end with lines of the core's cache, and the driver takes all addresses."""
    made = compiled(str(DIGITS), **options)
    assert mote.verify(made, inputs=1).exact
    assert all(b.offset % 32 == 0 for b in map(made.plan.place.__getitem__, made.plan.graph.inputs))
    text = made.project.files["digits.c"] + made.project.files["digits.h"]
    said = "(uintptr_t)arena % 32 != 0" if "caller_arena" in options else "MOTE_ALIGN(32)"
    assert said.replace("arena ", "arena_sram ") in text or said in text


def test_steps() -> None:
    """`step` begins a job and leaves, `run` finishes, `init` cancels."""
    host = HostModel(compiled(adding(LARGE)))
    library, name = host.begin(), host.compiled.name
    step, run, init = (getattr(library, f"{name}_{what}") for what in ("step", "run", "init"))
    statuses = [step() for _ in range(20)]
    count = statuses.index(OK) + 1
    assert statuses[: count - 1] == [BUSY] * (count - 1), statuses
    regions = sum(isinstance(s.kernel, Offloaded) for s in host.compiled.plan.steps)
    assert count == len(host.compiled.plan.steps) + regions * 3, "each job is begun, and polled three times"
    init()
    assert step() == BUSY and run() == OK
    assert step() == BUSY and init() == OK and run() == OK, "the job was cancelled, and the driver released"


JOBS = (
    REQUIRE
    + """
#include "npu_ethosu.h"
int mote_device_call(const char *device, void *const *memory, const uint32_t *bytes, uint32_t count);
static int status, calls;
int mote_device_call(const char *device, void *const *memory, const uint32_t *bytes, uint32_t count) {
    REQUIRE(strcmp(device, "ethos-u") == 0 && count == 6 && bytes[0] == 64 && bytes[3] == 0 && bytes[5] == 16);
    ((uint8_t *)memory[5])[0] = (uint8_t)(((uint8_t *)memory[4])[0] + 1);
    calls++;
    return status;
}
static _Alignas(16) const uint32_t job[16] = {16, 5, 0, 0, 8, 16, 16, 0, 0, 0, 20, 0, 0x31504f43u};
static _Alignas(16) const uint32_t wrong[16] = {16, 5, 0, 0, 8, 16, 16, 0, 0, 0, 20, 0, 0x31504f44u};
static uint64_t first[NPU_ETHOSU_STATE / 8], second[NPU_ETHOSU_STATE / 8];
static _Alignas(16) uint8_t memory[4][16];
#define RUN(state, wait, in, out) npu_ethosu_run(state, wait, job, 0, 0, memory[in], memory[out], 0, 0, 0)
int main(void) {
    memory[0][0] = 5;
    REQUIRE(RUN(first, 1, 0, 1) == 0 && memory[1][0] == 6 && calls == 1);
    REQUIRE(RUN(first, 0, 1, 2) == 1 && calls == 1);
    REQUIRE(RUN(second, 0, 0, 3) == 1 && RUN(second, 0, 0, 3) == 1); /* waits for the first one */
    REQUIRE(RUN(first, 0, 1, 2) == 1 && RUN(first, 0, 1, 2) == 1 && calls == 1 && memory[2][0] == 0);
    REQUIRE(RUN(first, 0, 1, 2) == 0 && calls == 2 && memory[2][0] == 7 && memory[3][0] == 0);
    REQUIRE(RUN(second, 0, 0, 3) == 1 && RUN(second, 1, 0, 3) == 0 && memory[3][0] == 6);
    npu_ethosu_cancel(second);
    REQUIRE(RUN(first, 0, 0, 1) == 1);
    npu_ethosu_cancel(first);
    REQUIRE(RUN(second, 1, 0, 1) == 0 && calls == 4);
    status = 3;
    REQUIRE(RUN(first, 1, 0, 1) == -1 && RUN(first, 0, 0, 1) == 1 && RUN(first, 1, 0, 1) == -1);
    status = 0;
    REQUIRE(npu_ethosu_run(first, 1, wrong, 0, 0, memory[0], memory[1], 0, 0, 0) == -1);
    REQUIRE(npu_ethosu_run(first, 1, job, 0, 0, memory[0] + 8, memory[1], 0, 0, 0) == -1);
    REQUIRE(RUN(first, 1, 0, 1) == 0);
    return 0;
}
"""
)


@pytest.mark.parametrize("cc", ["gcc", "g++"])
def test_jobs_in_turns(cc: str, tmp_path: Path) -> None:
    """Jobs that were begun wait for each other, end, fail and are cancelled, and the driver is free afterwards."""
    for file in (files("mote.compiler.offload.ethos_u") / "c").iterdir():
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "jobs.c").write_text(JOBS, encoding="utf-8")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-fsanitize=undefined,address"]
    if cc == "g++":
        run([compiler_or_skip(cc), "-std=c++11", "-Wall", "-Wextra", "-Werror", "-c", "npu_ethosu.c"], tmp_path)
        return
    run([compiler_or_skip(cc), *flags, *sorted(f.name for f in tmp_path.glob("*.c")), "-o", "jobs"], tmp_path)
    done = subprocess.run(["./jobs"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_words_of_a_job() -> None:
    job = NpuJob(bytes(range(16)), b"123", 4, 0, (5, 6), (7,))
    payload, sizes, writable = job_read(job_words(job).view(np.uint8))
    assert (payload, sizes, writable) == (job.payload, job.sizes, job.writable)


def test_streams_are_checked() -> None:
    """A job that touches memory that is not its own is refused, in Python and where the model runs."""
    made = compiled(str(DIGITS))
    (step,) = made.plan.steps
    assert isinstance(step.kernel, Offloaded)
    words = step.kernel.artifact.blobs[0].data.copy()
    areas = [np.zeros(int(size), np.uint8) for size in words[2 : 2 + words[1]]]
    small = words.copy()
    small[2 + 3] -= 1
    areas[3] = areas[3][:-1]
    with pytest.raises(MoteError, match=r"IFM|outside|bytes"):
        EthosU().simulate([small.view(np.uint8), *areas])
    with pytest.raises(MoteError, match="the driver was given areas"):
        EthosU().simulate([words.view(np.uint8), *areas])
    words[HEAD] ^= 1
    with pytest.raises(MoteError, match="a payload begins with COP1"):
        EthosU().simulate([words.view(np.uint8), *areas[:3], np.zeros(int(words[5]), np.uint8), *areas[4:]])
