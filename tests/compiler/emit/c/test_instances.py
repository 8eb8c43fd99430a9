"""`--instances`: no variables but those of a struct that callers make, so that instances run side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.run import run as measure
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.names import TYPES, c_prefix
from mote.compiler.firmware import firmware
from mote.compiler.line import compile
from mote.compiler.several import compile_shared
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from tests.compiler.emit.c.test_project import DIGITS, FLAGS, KEYWORDS, compiler_or_skip, run
from tests.compiler.emit.c.test_steps import REQUIRE, program
from tests.compiler.passes.test_stream import wake_word
from tests.compiler.plan.test_several_memories import board
from tests.helpers.network import Net
from tests.helpers.support import emulated, soaked
from tests.ir.ops.control.flows import loops, memories

Model = Path | Callable[[], bytes]


def small() -> bytes:
    net = Net()
    return net.finish(net.mean(net.conv(net.depthwise(net.input(1, 12, 6, 4), 1, (3, 3)), 8, 1)))


MODES: dict[str, tuple[Model, dict[str, Any]]] = {
    "small": (small, {"least_ram": True}),
    "layers": (DIGITS, {"optimize": "speed"}),
    "rows": (DIGITS, {"least_ram": True, "single_file": True}),
    "caller arena": (DIGITS, {"caller_arena": True, "check_flash": True}),
    "pushed": (DIGITS, {"input": "rows", "step": "row"}),
    "stream": (wake_word, {"stream": 1, "hop": 2}),
    "pushed stream": (wake_word, {"stream": 1, "hop": 2, "input": "rows", "caller_arena": True}),
    "control flow": (partial(loops, "int8"), {"red_zones": True}),
    "states in bodies": (memories, {"red_zones": True, "caller_arena": True}),
    "keywords": (KEYWORDS, {"least_ram": True, "red_zones": True}),
}
COMPARED = 4
"""Inferences of each instance."""


def compiled_as(mode: str, **more: Any) -> Compiled:
    model, options = MODES[mode]
    return compile(model() if callable(model) else model, instances=True, name="net", **options, **more)


def side_by_side(compiled: Compiled) -> str:
    """Glue to the harness by which one inference is an inference of each of two instances, whose steps alternate
    unevenly. Inputs and outputs of the first instance come before those of the second."""
    graph, pushed = compiled.plan.graph, compiled.plan.pushed
    counts = {"INPUT": len(graph.inputs), "OUTPUT": len(graph.outputs)}

    def each(kind: str, form: str) -> str:
        names = [f"{kind}_{i}" if counts[kind] > 1 else kind for i in range(counts[kind])]
        said = (form.format(m=m, port=name.lower(), PORT=f"NET_{name}") for m in range(2) for name in names)
        return " ".join(f"if (i == {i}) return {value};" for i, value in enumerate(said))

    arena = compiled.settings.caller_arena
    given = ", arenas[m], sizeof arenas[m]" if arena else ""
    advance = "status[m] = net_step(&models[m]);"
    if pushed:
        advance += (
            "if (status[m] == MOTE_WAITING && row[m] < NET_INPUT_ROWS)"
            "    status[m] = net_push_row(&models[m], frames[m] + NET_INPUT_ROW_SIZE * row[m]++);"
            "if (row[m] < NET_INPUT_ROWS && status[m] == MOTE_WAITING) status[m] = MOTE_BUSY;"
        )
    return f"""
#include "harness.h"
#include "net.h"
static net_t models[2];
{"static uint64_t arenas[2][(NET_ARENA_BYTES + 7) / 8];" if arena else ""}
{"static int8_t frames[2][NET_INPUT_SIZE];" if pushed else ""}
const uint32_t harness_input_count = {2 * counts["INPUT"]};
const uint32_t harness_output_count = {2 * counts["OUTPUT"]};
const uint32_t harness_step_count = {len(compiled.plan.works)};
void *harness_input(uint32_t i) {{ {each("INPUT", "frames[{m}]" if pushed else "net_{port}(&models[{m}])")} return 0; }}
size_t harness_input_bytes(uint32_t i) {{ {each("INPUT", "{PORT}_BYTES")} return 0; }}
const void *harness_output(uint32_t i) {{ {each("OUTPUT", "net_{port}(&models[{m}])")} return 0; }}
size_t harness_output_bytes(uint32_t i) {{ {each("OUTPUT", "{PORT}_BYTES")} return 0; }}
int harness_init(void) {{
    int wrong = 0;
    for (int m = 0; m < 2; m++) wrong |= (int)net_init(&models[m]{given});
    return wrong;
}}
int harness_check(void) {{ return (int)net_check(); }}
int harness_run(void) {{
    mote_status status[2] = {{MOTE_BUSY, MOTE_BUSY}};
    {"uint32_t row[2] = {0, 0};" if pushed else ""}
    for (int turn = 0; status[0] == MOTE_BUSY || status[1] == MOTE_BUSY; turn++) {{
        const int m = turn % 3 > 0 ? 1 : 0;
        if (status[m] == MOTE_BUSY) {{ {advance} }}
    }}
    for (int m = 0; m < 2; m++) if (status[m] != MOTE_OK && status[m] != MOTE_WAITING) return (int)status[m];
    return 0;
}}
"""


def outputs(graph: Graph, cases: Sequence[dict[int, Array]]) -> list[list[Array]]:
    """Reference outputs of consecutive inferences."""
    results, carried = [], dict[int, Array]()
    for case in cases:
        values = graph.evaluate({**case, **carried})
        carried = graph.carried(values)
        results.append([values[o] for o in graph.outputs])
    return results


def check_two_instances(compiled: Compiled, folder: Path, sanitize: bool) -> None:
    graph = compiled.plan.graph
    count = COMPARED + graph.warm_up
    cases = list(stimuli(graph, 2 * count))
    both = cases[:count], cases[count:][::-1]
    raw = [[case[t].tobytes() for case in pair for t in graph.inputs] for pair in zip(*both, strict=True)]
    made = replace(firmware(compiled), glue=lambda mode: side_by_side(compiled))
    printed = bench(made, folder, sanitize=sanitize).execute(Mode.MEASURE, raw).outputs
    wanted = [outputs(graph, own) for own in both]
    differ = 0
    for n in range(max(graph.warm_up - 1, 0), count):
        values = [value for own in wanted for value in own[n]]
        for got, value in zip(printed[n], values, strict=True):
            result = np.frombuffer(got, value.dtype).reshape(value.shape)
            np.testing.assert_allclose(result, value, rtol=0, atol=1e-6 if value.dtype == np.float32 else 0)
        differ += any(np.any(a != b) for a, b in zip(values, values[len(graph.outputs) :], strict=False))
    assert differ > 0


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("mode", soaked(MODES, ["pushed stream", "states in bodies"]))
def test_two_instances_take_turns(mode: str, tmp_path: Path) -> None:
    """Their steps alternate; both give what the reference gives."""
    check_two_instances(compiled_as(mode), tmp_path, sanitize=True)


@pytest.mark.parametrize("mode", soaked(MODES, ["small"]))
def test_two_instances_take_turns_on_cortex_m4(mode: str, tmp_path: Path) -> None:
    emulated("cortex-m4")
    check_two_instances(compiled_as(mode, target="cortex-m4"), tmp_path, sanitize=False)


@pytest.mark.parametrize("mode", soaked(MODES, ["small"]))
def test_every_tensor_is_exact(mode: str) -> None:
    result = verify(compiled_as(mode), 4, sanitize=True)
    assert result.passed, result.mismatches


@pytest.mark.parametrize("mode", soaked(MODES, ["small"]))
def test_the_object_has_no_variables(mode: str, tmp_path: Path) -> None:
    """Nothing in a loadable module needs relocated or initialized RAM."""
    cc = compiler_or_skip("arm-none-eabi-gcc")
    compiled = compiled_as(mode, target="cortex-m4")
    compiled.write(tmp_path)
    flags = [*compiled.settings.target.gcc_flags, *FLAGS]
    run([cc, *flags, "-c", "net.c", "-o", "net.o"], tmp_path)
    assert written_sections(tmp_path / "net.o") == {}
    usual = compile(small(), target="cortex-m4", name="usual")
    usual.write(tmp_path / "usual")
    run([cc, *flags, "-c", "usual.c", "-o", "usual.o"], tmp_path / "usual")
    assert written_sections(tmp_path / "usual" / "usual.o").keys() == {".bss"}


def written_sections(path: Path) -> dict[str, int]:
    """Sections of an object that are loaded and may be written to, and have bytes."""
    allocated, writable = 2, 1
    with path.open("rb") as file:
        sections = [(s.name, int(s["sh_size"]), int(s["sh_flags"])) for s in ELFFile(file).iter_sections()]
    wanted = allocated | writable
    return {name: size for name, size, flags in sections if flags & wanted == wanted and size}


@pytest.mark.parametrize(
    ("mode", "cc"), soaked([(m, c) for m in MODES for c in ("gcc", "clang")], [("pushed stream", "gcc")])
)
def test_builds_without_warnings_and_passes_its_selftest(mode: str, cc: str, tmp_path: Path) -> None:
    compiler_or_skip(cc)
    compiled_as(mode).write(tmp_path)
    for programs in (["example/main.c"], ["selftest/selftest.c", "-DMOTE_SELFTEST"]):
        run([cc, *FLAGS, "-O0", *programs, "net.c", "-o", "program", "-lm"], tmp_path)
        printed = run(["./program"], tmp_path)
    assert printed == "net: ok\n"
    cpp = [*compiler_or_skip("g++").split(), "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-xc++"]
    run([*cpp, "-I.", "net.c", "example/main.c"], tmp_path)


THREADS = (
    REQUIRE
    + """
#include <pthread.h>
#include "net.h"
static net_t models[4];
static int8_t wanted[4][NET_OUTPUT_SIZE];
static void fill(int which) {
    for (int i = 0; i < NET_INPUT_SIZE; i++) net_input(&models[which])[i] = (int8_t)(i * (which * 17 + 5));
}
static void *work(void *given) {
    const int which = (int)((net_t *)given - models);
    for (int i = 0; i < 300; i++) {
        fill(which);
        REQUIRE(net_run((net_t *)given) == MOTE_OK);
        REQUIRE(memcmp(wanted[which], net_output((net_t *)given), sizeof wanted[0]) == 0);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        REQUIRE(net_run(&models[i]) == MOTE_NOT_READY && net_input(&models[i]) == NULL && !net_output(&models[i]));
        REQUIRE(net_init(&models[i]) == MOTE_OK);
        fill(i);
        REQUIRE(net_run(&models[i]) == MOTE_OK);
        memcpy(wanted[i], net_output(&models[i]), sizeof wanted[0]);
        for (int k = 0; k < NET_OUTPUT_SIZE; k++) REQUIRE(wanted[i][k] <= wanted[i][net_top1(&models[i])]);
        REQUIRE(i == 0 || memcmp(wanted[i], wanted[i - 1], sizeof wanted[0]) != 0);
    }
    static const float zeros[NET_INPUT_SIZE];
    REQUIRE(net_quantize_input(&models[1], zeros) == MOTE_OK && net_input(&models[1])[0] == NET_INPUT_ZERO_POINT);
    REQUIRE(net_init(NULL) == MOTE_BAD_ARENA);
    for (int i = 0; i < 4; i++) REQUIRE(pthread_create(&threads[i], NULL, work, &models[i]) == 0);
    for (int i = 0; i < 4; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
    return 0;
}
"""
)


def test_instances_run_in_threads_at_once(tmp_path: Path) -> None:
    program(THREADS, compiled_as("small"), tmp_path, "-pthread")


COPIES = (
    REQUIRE
    + """
#include "net.h"
static net_t model, copy;
static uint8_t saved[NET_STATE_BYTES];
static mote_status next(net_t *m, int seed) {
    for (int i = 0; i < NET_INPUT_SIZE; i++) net_input(m)[i] = (int8_t)(i * 31 + seed * 57);
    return net_run(m);
}
static int equal(void) { return memcmp(net_output(&model), net_output(&copy), NET_OUTPUT_BYTES) == 0; }
int main(void) {
    REQUIRE(net_init(&model) == MOTE_OK && net_init(&copy) == MOTE_OK);
    for (int i = 0; i < NET_WARM_UP; i++) REQUIRE(next(&model, i) == MOTE_WAITING);
    REQUIRE(next(&model, 9) == MOTE_OK && net_save(&model, saved, sizeof saved) == MOTE_OK);
    REQUIRE(net_restore(&copy, saved, sizeof saved) == MOTE_OK);
    for (int i = 0; i < 3; i++) REQUIRE(next(&model, i) == MOTE_OK && next(&copy, i) == MOTE_OK && equal());
    saved[sizeof saved - 1] ^= 1;
    REQUIRE(net_restore(&copy, saved, sizeof saved) == MOTE_BAD_STATE);
    copy = model;
    for (int i = 5; i < 8; i++) REQUIRE(next(&model, i) == MOTE_OK && next(&copy, i) == MOTE_OK && equal());
    REQUIRE(net_reset(&copy) == MOTE_OK && next(&copy, 1) == MOTE_WAITING && next(&model, 1) == MOTE_OK);
    return 0;
}
"""
)


@pytest.mark.slow
def test_a_state_moves_from_one_instance_to_another(tmp_path: Path) -> None:
    program(COPIES, compiled_as("stream"), tmp_path)


@pytest.mark.slow
def test_memory_of_an_instance_is_counted() -> None:
    """A measurement tells about an instance what it tells about static variables, but for padding."""
    emulated("cortex-m4")
    static, instance = (
        measure(compile(small(), target="cortex-m4", instances=i, least_ram=True), layers=False) for i in (False, True)
    )
    assert instance.ram.arena == static.ram.arena
    assert static.ram.static is not None and instance.ram.static is not None
    assert 0 < instance.ram.static <= static.ram.static < instance.ram.static + 8
    assert [x.sha256 for x in instance.outputs] == [x.sha256 for x in static.outputs]
    assert instance.instructions is not None and static.instructions is not None
    assert instance.instructions < 1.02 * static.instructions


def test_several_memories_need_arenas_of_the_caller(tmp_path: Path) -> None:
    target = board(tmp_path, dtcm="1K")
    with pytest.raises(MoteError, match="a struct lies in one memory") as error:
        compile(DIGITS, target=target, instances=True)
    assert "--caller-arena" in error.value.remedy


@pytest.mark.slow
def test_several_memories_with_arenas_of_the_caller(tmp_path: Path) -> None:
    compiled = compile(KEYWORDS, target=board(tmp_path), instances=True, caller_arena=True, ram=30_000)
    result = verify(compiled, 2)
    assert result.passed, result.mismatches


def test_a_shared_arena_is_refused() -> None:
    with pytest.raises(MoteError, match="has none") as error:
        compile_shared([DIGITS, KEYWORDS], instances=True)
    assert "--caller-arena" in error.value.remedy


def test_no_name_makes_a_type_of_the_library() -> None:
    for name in TYPES:
        usable, why = c_prefix(name, typed=True)
        assert usable == f"model_{name}" and why
    assert c_prefix("size") == ("size", "")
    with pytest.raises(MoteError, match="size_t"):
        compile(DIGITS, name="size", instances=True)
