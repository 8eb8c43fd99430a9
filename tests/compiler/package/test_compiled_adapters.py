"""`mote compile --adapter`: compiled models in threads of small operating systems (tests/compiler/emit/image/rtos), and
in the turns of a main loop. The results are those of the reference."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.firmware import firmware
from mote.compiler.line import compile
from mote.compiler.package import zephyr
from mote.compiler.package.adapters import COMPILED_NAMES, compiled_adapter_files
from mote.compiler.package.adapters.compiled_model import BESIDE, AdaptedModel, model_adapter_files, stack_bytes
from mote.compiler.package.libraries import esp_idf
from mote.hardware.toolchain import Mode
from mote.ir.graph.tensor import Array
from mote.ui.cli import main
from tests.compiler.emit.c.test_instances import outputs, small
from tests.compiler.emit.c.test_project import compiler_or_skip, run
from tests.compiler.emit.image.test_adapters import RACES, RTOS, SANITIZE, STRICT, SYSTEMS, THREADS, passes
from tests.helpers.support import emulated, needs, soaked

COUNT = 6
FORMS: dict[str, dict[str, Any]] = {
    "whole": {},
    "instances": {"instances": True},
    "pushed": {"input": "rows", "instances": True},
}


def compiled_as(form: str, **options: Any) -> Compiled:
    return compile(small(), name="net", least_ram=True, **FORMS[form], **options)


def adapted(compiled: Compiled, name: str, stack: int | None = None) -> dict[str, str]:
    return model_adapter_files(name, [AdaptedModel(compiled.plan, compiled.project.options, stack)])


def table(name: str, values: Array) -> str:
    rows = ", ".join("{" + ", ".join(map(str, row.reshape(-1))) + "}" for row in values)
    return f"static const int8_t {name}[{len(values)}][{values[0].size}] = {{{rows}}};\n"


def cases(compiled: Compiled) -> str:
    """Inputs and the reference's outputs as C."""
    graph = compiled.plan.graph
    given = list(stimuli(graph, COUNT))
    wanted = [values[0] for values in outputs(graph, given)]
    assert any(np.any(value != wanted[0]) for value in wanted)
    instance = "#define INSTANCE(i) NULL\n#define SEVERAL 0\n"
    if compiled.settings.instances:
        instance = "#define INSTANCE(i) &instances[i]\n#define SEVERAL 1\nstatic net_t instances[2];\n"
    steps = len(compiled.plan.steps)
    head = f"#define COUNT {COUNT}\n#define STEPS {steps}\n#define PUSHED {int(compiled.plan.pushed)}\n"
    return (
        '#include "net_service.h"\n'
        + head
        + instance
        + table("given", np.stack([case[graph.inputs[0]] for case in given]))
        + table("wanted", np.stack(wanted))
    )


COMMON = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define EXPECT(what) do { if (!(what)) { fprintf(stderr, "line %d: %s\n", __LINE__, #what); exit(1); } } while (0)
typedef struct {
    mote_given_t input;
    mote_taken_t output;
    mote_request_t request;
    int8_t scores[NET_OUTPUT_SIZE];
    volatile int ended;
    mote_served_t served;
    mote_status status;
} job_t;
static job_t jobs[COUNT];
static int order[4 * COUNT];
static volatile int count;
static job_t *job(int i) {
    memset(&jobs[i], 0, sizeof jobs[i]);
    jobs[i].input = (mote_given_t){given[i], NET_INPUT_BYTES};
    jobs[i].output = (mote_taken_t){jobs[i].scores, NET_OUTPUT_BYTES};
    jobs[i].request = (mote_request_t){&jobs[i].input, &jobs[i].output, 1, 1};
    return &jobs[i];
}
static int right(int i) {
    return jobs[i].status == MOTE_OK && memcmp(jobs[i].scores, wanted[i], sizeof wanted[i]) == 0;
}
static int untouched(int i) {
    static const int8_t none[NET_OUTPUT_SIZE];
    return memcmp(jobs[i].scores, none, sizeof none) == 0;
}
"""

SERVICE = r"""
#include "mote_service.h"
#include "test_threads.h"
static mote_service_t services[2];
static volatile long beats;
static volatile int held;
static void alive(void *context) {
    EXPECT(context == (void *)&beats);
    beats++;
    while (held) test_sleep(1);
}
/* Answers through a callback; what the test reads is written last, behind the lock of the next request. */
static void done(void *context, mote_served_t served, mote_status status) {
    job_t *own = context;
    own->served = served;
    own->status = status;
    order[count] = (int)(own - jobs);
    __atomic_store_n(&count, count + 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&own->ended, 1, __ATOMIC_SEQ_CST);
}
static void wait_for(int i) { while (!__atomic_load_n(&jobs[i].ended, __ATOMIC_SEQ_CST)) test_sleep(1); }
static mote_served_t post(int i, uint32_t milliseconds) {
    return mote_service_post(&services[0], &job(i)->request, milliseconds, done, &jobs[i]);
}
static mote_served_t ask(int which, int i) {
    return mote_service_run(&services[which], &job(i)->request, MOTE_FOREVER, &jobs[i].status);
}
static mote_status start(int which) {
    const mote_service_config_t config = {&net_compiled, INSTANCE(which), 16};
    mote_problem_t problem = {NULL, NULL, 0};
    const mote_status status = mote_service_start(&services[which], &config, &problem);
    EXPECT(status == MOTE_OK || problem.what != NULL);
    return status;
}
static void other(void *unused) {
    (void)unused;
    for (int i = 1; i < COUNT; i += 2) EXPECT(ask(1, i) == MOTE_SERVED && right(i));
}
void test_all(void) {
    long before;
    EXPECT(ask(0, 0) == MOTE_SERVICE_STOPPED && post(0, 0) == MOTE_SERVICE_STOPPED);
    mote_service_watch(&services[0], alive, (void *)&beats);
    EXPECT(start(0) == MOTE_OK && start(0) == MOTE_BUSY);
    for (int i = 0; i < COUNT; i++) {
        before = beats;
        EXPECT(ask(0, i) == MOTE_SERVED && right(i));
        EXPECT(beats == before + STEPS); /* the watchdog is fed after every step */
    }
    job(0)->input.bytes--; /* sizes that are not the model's */
    EXPECT(mote_service_run(&services[0], &jobs[0].request, 100, &jobs[0].status) == MOTE_SERVED);
    EXPECT(jobs[0].status == MOTE_UNSUPPORTED && untouched(0));
    for (int i = 0; i < 4; i++) EXPECT(post(i, MOTE_FOREVER) == MOTE_SERVED);
    for (int i = 0; i < 4; i++) {
        wait_for(i);
        EXPECT(jobs[i].served == MOTE_SERVED && right(i) && order[i] == i);
    }
    EXPECT(mote_service_post(&services[0], &job(5)->request, MOTE_FOREVER, NULL, NULL) == MOTE_SERVED);
    EXPECT(ask(0, 1) == MOTE_SERVED && right(1)); /* after it in the queue */
    jobs[5].status = MOTE_OK;
    EXPECT(right(5));
    if (SEVERAL) { /* two instances in two threads at once */
        EXPECT(start(1) == MOTE_OK);
        test_begin(0, other, NULL);
        for (int i = 0; i < COUNT; i += 2) EXPECT(ask(0, i) == MOTE_SERVED && right(i));
        test_end(0);
        EXPECT(mote_service_stop(&services[1], MOTE_FOREVER) == MOTE_SERVED);
    }
    held = 1; /* stopped in the middle, with another one in the queue */
    before = beats;
    EXPECT(post(2, 0) == MOTE_SERVED && post(3, 0) == MOTE_SERVED);
    while (beats == before) test_sleep(1);
    EXPECT(mote_service_stop(&services[0], 2) == MOTE_SERVICE_LATE);
    held = 0;
    EXPECT(mote_service_stop(&services[0], MOTE_FOREVER) == MOTE_SERVED);
    wait_for(2);
    wait_for(3);
    for (int i = 2; i < 4; i++) EXPECT(jobs[i].served == MOTE_SERVICE_STOPPED && untouched(i));
    EXPECT(start(0) == MOTE_OK && ask(0, 4) == MOTE_SERVED && right(4));
    if (PUSHED) { /* rows in two pieces */
        uint8_t ticket;
        job(1)->input.bytes = NET_INPUT_BYTES / 2;
        EXPECT(mote_service_submit(&services[0], &jobs[1].request, 0, &ticket) == MOTE_SERVED);
        EXPECT(mote_service_wait(&services[0], ticket, MOTE_FOREVER, &jobs[1].status) == MOTE_SERVED);
        EXPECT(jobs[1].status == MOTE_WAITING && untouched(1));
        jobs[1].input.data = (const uint8_t *)jobs[1].input.data + NET_INPUT_BYTES / 2;
        EXPECT(mote_service_run(&services[0], &jobs[1].request, MOTE_FOREVER, &jobs[1].status) == MOTE_SERVED);
        EXPECT(right(1));
    }
    EXPECT(mote_service_stop(&services[0], MOTE_FOREVER) == MOTE_SERVED);
    puts("passed");
}
"""


def build(text: str, compiled: Compiled, name: str, folder: Path, *more: str, cc: str = "cc") -> Path:
    """A program of the model, its adapter and a test."""
    needs(cc)
    compiled.write(folder)
    files = adapted(compiled, name)
    for file, content in files.items():
        (folder / file).write_text(content)
    (folder / "test.c").write_text(cases(compiled) + text)
    sources = ["test.c", "net.c", *(file for file in files if file.endswith(".c"))]
    system = [] if name == "bare-metal" else [str(RTOS / "test_threads.c")]
    run([cc, *STRICT, *more, "-I.", "-isystem", str(RTOS), *sources, *system, "-lpthread", "-o", "program"], folder)
    return folder / "program"


CASES = [(name, form) for name in SYSTEMS for form in FORMS]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("name", "form"), soaked(CASES, [("freertos", "instances"), ("zephyr", "pushed")]))
def test_a_model_in_a_thread(name: str, form: str, tmp_path: Path) -> None:
    text = '#include "mote_service.h"\n' + COMMON + SERVICE
    passes(build(text, compiled_as(form), name, tmp_path, *SANITIZE))


@pytest.mark.slow
def test_threads_do_not_race(tmp_path: Path) -> None:
    text = '#include "mote_service.h"\n' + COMMON + SERVICE
    program = build(text, compiled_as("instances"), "freertos", tmp_path, *THREADS, cc="clang")
    (tmp_path / "races").write_text(f"{RACES}race:alive\nrace:test_all\n")
    passes(program, TSAN_OPTIONS=f"suppressions={tmp_path / 'races'}")


LOOP = r"""
static mote_turns_t loop;
static void done(void *context, mote_served_t served, mote_status status) {
    job_t *own = context;
    own->served = served;
    own->status = status;
    own->ended = 1;
    order[count++] = (int)(own - jobs);
    if (own == &jobs[3]) EXPECT(mote_turns_post(&loop, &job(4)->request, done, &jobs[4]) == MOTE_SERVED);
}
int main(void) {
    const mote_service_config_t config = {&net_compiled, INSTANCE(0), 0};
    mote_problem_t problem = {NULL, NULL, 0};
    int turns = 0;
    EXPECT(mote_turns_post(&loop, &job(0)->request, done, &jobs[0]) == MOTE_SERVICE_STOPPED);
    EXPECT(mote_turns_step(&loop) == MOTE_NOT_READY);
    EXPECT(mote_turns_start(&loop, &config, &problem) == MOTE_OK && mote_turns_step(&loop) == MOTE_OK);
    for (int i = 0; i < MOTE_SERVICE_SLOTS; i++)
        EXPECT(mote_turns_post(&loop, &job(i)->request, done, &jobs[i]) == MOTE_SERVED);
    EXPECT(mote_turns_post(&loop, &job(5)->request, done, &jobs[5]) == MOTE_SERVICE_FULL);
    while (mote_turns_step(&loop) == MOTE_BUSY) turns++;
    EXPECT(count == 5 && turns + 1 == 5 * STEPS); /* a step in each turn; the callback has posted another one */
    for (int i = 0; i < 5; i++) EXPECT(jobs[i].served == MOTE_SERVED && right(i) && order[i] == i);
    for (int wrong = 0; wrong < 2; wrong++) {
        job(0)->output.bytes += (uint32_t)wrong;
        jobs[0].input.bytes -= 1u - (uint32_t)wrong;
        EXPECT(mote_turns_post(&loop, &jobs[0].request, done, &jobs[0]) == MOTE_SERVED);
        EXPECT(mote_turns_step(&loop) == MOTE_OK);
        EXPECT(jobs[0].status == MOTE_UNSUPPORTED && untouched(0));
    }
    EXPECT(mote_turns_post(&loop, &job(1)->request, done, &jobs[1]) == MOTE_SERVED);
    EXPECT(mote_turns_step(&loop) == MOTE_BUSY && mote_turns_start(&loop, &config, &problem) == MOTE_BUSY);
    while (mote_turns_step(&loop) == MOTE_BUSY) { }
    EXPECT(right(1));
    if (PUSHED) { /* rows in two pieces */
        job(2)->input.bytes = NET_INPUT_BYTES / 2;
        EXPECT(mote_turns_post(&loop, &jobs[2].request, done, &jobs[2]) == MOTE_SERVED);
        while (mote_turns_step(&loop) == MOTE_BUSY) { }
        EXPECT(jobs[2].status == MOTE_WAITING && untouched(2));
        jobs[2].input.data = (const uint8_t *)jobs[2].input.data + NET_INPUT_BYTES / 2;
        EXPECT(mote_turns_post(&loop, &jobs[2].request, done, &jobs[2]) == MOTE_SERVED);
        while (mote_turns_step(&loop) == MOTE_BUSY) { }
        EXPECT(right(2));
    }
    EXPECT(mote_turns_start(&loop, &config, NULL) == MOTE_OK && mote_turns_step(&loop) == MOTE_OK);
    puts("passed");
    return 0;
}
"""


@pytest.mark.parametrize("form", soaked(FORMS, ["pushed"]))
def test_a_model_in_a_main_loop(form: str, tmp_path: Path) -> None:
    text = '#include "mote_turns.h"\n' + COMMON + LOOP
    passes(build(text, compiled_as(form), "bare-metal", tmp_path, *SANITIZE))


GLUE = r"""
#include "harness.h"
#include "mote_turns.h"
#include "net_service.h"
static mote_turns_t loop;
static int8_t samples[NET_INPUT_SIZE], scores[NET_OUTPUT_SIZE];
static mote_status result;
static void done(void *context, mote_served_t served, mote_status status) {
    (void)context;
    result = served == MOTE_SERVED ? status : MOTE_WRONG;
}
const uint32_t harness_input_count = 1, harness_output_count = 1, harness_step_count = WORKS;
void *harness_input(uint32_t i) { (void)i; return samples; }
size_t harness_input_bytes(uint32_t i) { (void)i; return sizeof samples; }
const void *harness_output(uint32_t i) { (void)i; return scores; }
size_t harness_output_bytes(uint32_t i) { (void)i; return sizeof scores; }
int harness_init(void) {
    const mote_service_config_t config = {&net_compiled, NULL, 0};
    return (int)mote_turns_start(&loop, &config, NULL);
}
int harness_check(void) { return (int)net_check(); }
int harness_run(void) {
    static const mote_given_t inputs[] = {{samples, sizeof samples}};
    static const mote_taken_t outputs[] = {{scores, sizeof scores}};
    static const mote_request_t request = {inputs, outputs, 1, 1};
    if (mote_turns_post(&loop, &request, done, NULL) != MOTE_SERVED) return 99;
    while (mote_turns_step(&loop) == MOTE_BUSY) { }
    return (int)result;
}
"""


@pytest.mark.slow
def test_a_main_loop_on_cortex_m4(tmp_path: Path) -> None:
    emulated("cortex-m4")
    compiled = compiled_as("whole", target="cortex-m4")
    files = adapted(compiled, "bare-metal")
    usual = firmware(compiled)
    own = replace(
        usual,
        files={**usual.files, **files},
        sources=[*usual.sources, *(file for file in files if file.endswith(".c"))],
        glue=lambda mode: GLUE.replace("WORKS", str(len(compiled.plan.works))),
    )
    graph = compiled.plan.graph
    given = list(stimuli(graph, 3))
    raw = [[case[graph.inputs[0]].tobytes()] for case in given]
    printed = bench(own, tmp_path).execute(Mode.MEASURE, raw).outputs
    assert printed == [[values[0].tobytes()] for values in outputs(graph, given)]


SIZES = {"mote_service.c": 1600, "mote_turns.c": 700}
"""Bytes of code on a Cortex-M4 that docs/deploy/adapters.md states."""


@pytest.mark.parametrize("name", soaked(COMPILED_NAMES, ["bare-metal", "zephyr"]))
def test_cross_compiles_as_c_and_cpp(name: str, tmp_path: Path) -> None:
    """Without the ports, which need headers of their operating systems."""
    compiled = compiled_as("pushed", target="cortex-m4")
    files = adapted(compiled, name)
    compiled.write(tmp_path)
    for file, content in files.items():
        (tmp_path / file).write_text(content)
    (tmp_path / "mote_port.h").write_text("typedef struct { int object; } mote_port_t;\n")
    flags = ["-mcpu=cortex-m4", "-Os", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-I.", "-c"]
    for file in (f for f in files if f.endswith(".c") and f != "mote_port.c"):
        run([compiler_or_skip("arm-none-eabi-g++"), *flags, "-std=c++11", "-xc++", file, "-o", "cpp.o"], tmp_path)
        run([compiler_or_skip("arm-none-eabi-gcc"), *flags, "-std=c99", file, "-o", "c.o"], tmp_path)
        code = int(run(["arm-none-eabi-size", "c.o"], tmp_path).splitlines()[1].split()[0])
        assert abs(code - SIZES.get(file, code)) < 60


@pytest.mark.slow
def test_the_command_writes_an_adapter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    emulated("cortex-m4")
    model, out = tmp_path / "net.tflite", tmp_path / "out"
    model.write_bytes(small())
    assert main(("compile", str(model), "-t", "cortex-m4", "--adapter", "freertos", "-o", str(out), "--json")) == 0
    told = json.loads(capsys.readouterr().out)["adapter"]
    assert all((out / file).exists() for file in told["files"]) and "net_service.c" in told["files"]
    (stated,) = re.findall(r"#define MOTE_SERVICE_STACK_BYTES (\d+)", (out / "mote_serviced.h").read_text())
    assert 0 < told["stack"]["net"] <= int(stated) - BESIDE
    assert subprocess.run(["make", "-n"], cwd=out, capture_output=True, check=True)
    options = ("-t", "cortex-m4", "--caller-arena", "--adapter", "zephyr")
    assert main(("compile", str(model), *options, "-o", str(tmp_path / "none"))) == 1
    assert "omit --caller-arena" in capsys.readouterr().err and not (tmp_path / "none").exists()


def test_zephyr_builds_the_service(tmp_path: Path) -> None:
    compiled = compiled_as("whole")
    written = zephyr.files(compiled.package.with_files(adapted(compiled, "zephyr", stack=700)))
    cmake, kconfig = str(written["zephyr/CMakeLists.txt"]), str(written["zephyr/Kconfig"])
    built = re.search(r"if\(CONFIG_MOTE_SERVICE\)\n.*?endif\(\)", cmake, re.DOTALL)
    assert built is not None
    assert {"net_service.c", "mote_port.c", "mote_service.c"} <= set(re.findall(r"/(\w+\.c)\b", built[0]))
    stack = stack_bytes([AdaptedModel(compiled.plan, compiled.project.options, 700)])
    assert re.search(rf"config MOTE_SERVICE_STACK_SIZE\n.*\n\tdefault {stack}\n", kconfig)


def test_esp_idf_builds_the_service(tmp_path: Path) -> None:
    """With the headers of FreeRTOS where ESP-IDF has them; a C++ class lies beside the other headers."""
    compiled = compile(small(), name="net", cpp=True)
    written = esp_idf.files(compiled.package.with_files(adapted(compiled, "freertos")))
    listed = re.findall(r'"(src/\w+\.c)"', str(written["CMakeLists.txt"]))
    assert set(listed) == {f"src/{name}.c" for name in ("net", "net_service", "mote_service", "mote_port")}
    assert written.keys() >= {*listed, "src/net.hpp", "src/mote_port.h"}
    for path, text in written.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(str(text))
    (tmp_path / "freertos").mkdir()
    for name in ("FreeRTOS", "queue", "semphr", "task"):
        (tmp_path / "freertos" / f"{name}.h").write_text(f'#include "{RTOS / name}.h"\n')
    flags = [*STRICT, "-DESP_PLATFORM", "-isystem", str(tmp_path), "-fsyntax-only"]
    run([compiler_or_skip("gcc"), *flags, *listed], tmp_path)
    assert "REQUIRES freertos" in str(written["CMakeLists.txt"])
    assert "src/mote_port.c" not in esp_idf.files(compiled.package)


def test_stacks_and_names() -> None:
    compiled = compiled_as("whole")
    known = [AdaptedModel(compiled.plan, compiled.project.options, n) for n in (100, 700)]
    assert stack_bytes(known) >= 700 + BESIDE and stack_bytes(known) % 64 == 0
    unknown = [*known, replace(known[0], stack=None)]
    assert stack_bytes(unknown) == 4096
    assert "not measured" in model_adapter_files("freertos", unknown)["mote_serviced.h"]
    with pytest.raises(MoteError, match="did you mean: freertos"):
        compiled_adapter_files("freertoss")
    shared = replace(known[0], options=replace(compiled.project.options, shared_arena=True))
    with pytest.raises(MoteError, match="cannot share its arena"):
        model_adapter_files("zephyr", [shared])
