"""An inference in pieces: the step function, the longest step that the header states, and clean code in every mode."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import mcunet_v2
from mote.base.errors import MoteError
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.run import with_longest_step
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.hardware.toolchain import Mode
from tests.compiler.emit.c.test_project import DIGITS, FLAGS, KEYWORDS, compiler_or_skip, run
from tests.helpers.network import Net
from tests.helpers.support import emulated

PLANS: dict[str, dict[str, Any]] = {
    "layers": {},
    "least": {"least_ram": True},
    "row": {"step": "row"},
    "red zones": {"least_ram": True, "red_zones": True},
}

REQUIRE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define REQUIRE(fact) do { if (!(fact)) { printf("line %d: %s", __LINE__, #fact); exit(1); } } while (0)
"""

PIECES = (
    REQUIRE
    + """
#include "digits.h"
static int8_t result[2][DIGITS_OUTPUT_SIZE];
static void fill(int which) {
    for (int i = 0; i < DIGITS_INPUT_SIZE; i++) digits_input()[i] = (int8_t)(i * (which ? 37 : 5));
}
static int right(int which) { return memcmp(result[which], digits_output(), sizeof result[0]) == 0; }
static void steps(int count) { while (count-- > 0) REQUIRE(digits_step() == MOTE_BUSY); }
static int to_the_end(void) {
    int count = 1;
    mote_status status;
    for (; (status = digits_step()) == MOTE_BUSY; count++) { }
    REQUIRE(status == MOTE_OK);
    return count;
}
int main(void) {
    int count;
    REQUIRE(digits_init() == MOTE_OK);
    for (int i = 0; i < 2; i++) {
        fill(i);
        REQUIRE(digits_run() == MOTE_OK);
        memcpy(result[i], digits_output(), sizeof result[i]);
    }
    REQUIRE(memcmp(result[0], result[1], sizeof result[0]) != 0);
    fill(0); REQUIRE(digits_run() == MOTE_OK); REQUIRE(right(0));

    fill(0); count = to_the_end(); REQUIRE(right(0));
    fill(1); REQUIRE(to_the_end() == count); REQUIRE(right(1));

    fill(0); steps(count / 2); REQUIRE(digits_init() == MOTE_OK);
    fill(1); REQUIRE(to_the_end() == count); REQUIRE(right(1));

    fill(0); steps(count / 2); REQUIRE(digits_run() == MOTE_OK); REQUIRE(right(0));
    fill(1); REQUIRE(to_the_end() == count); REQUIRE(right(1));
    printf("%d", count);
    return 0;
}
"""
)


def program(text: str, compiled: Compiled, folder: Path, *flags: str) -> str:
    """What a firmware around a model prints; it ends within seconds and says that all was well."""
    cc = compiler_or_skip("gcc")
    compiled.write(folder)
    (folder / "firmware.c").write_text(text)
    run([cc, *FLAGS, *flags, "firmware.c", f"{compiled.name}.c", "-o", "firmware", "-lm"], folder)
    done = subprocess.run(["./firmware"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("plan", PLANS)
def test_pieces_are_a_run(plan: str, tmp_path: Path) -> None:
    """As many steps as the plan has; init begins anew in the middle, run finishes what steps have begun."""
    compiled = compile(DIGITS, target="cortex-m4", **PLANS[plan])
    assert int(program(PIECES, compiled, tmp_path)) == len(compiled.plan.steps)


def test_a_row_at_most() -> None:
    """Where every layer can run by rows, no step has two."""
    steps = compile(KEYWORDS, step="row").plan.steps
    assert all(s.rows.hi - s.rows.lo == 1 for s in steps)
    assert sum(s.whole for s in steps) < 5 < len(steps)


def stated(compiled: Compiled) -> int:
    found = re.findall(
        rf"#define {compiled.name.upper()}_STEP_INSTRUCTIONS (\d+)\n", compiled.project.files[f"{compiled.name}.h"]
    )
    assert len(found) == 1
    return int(found[0])


def longest(compiled: Compiled, count: int) -> int:
    """Instructions of the longest step over inputs that were not measured for the header."""
    graph = compiled.plan.graph
    raw = [[case[t].tobytes() for t in graph.inputs] for case in stimuli(graph, count, seed=99)]
    with TemporaryDirectory() as folder:
        execution = bench(compiled, Path(folder)).execute(Mode.PROFILE, raw)
    assert execution.longest and execution.instructions
    steps = len(compiled.plan.steps)
    assert all(most > total / steps for most, total in zip(execution.longest, execution.instructions, strict=True))
    return max(execution.longest)


def test_the_longest_step_is_stated() -> None:
    """Other inputs take no more here, by layers, by rows (several at once, where the kernel computes them so) and with
    pushed input; these take a fraction of a layer."""
    emulated("cortex-m4")
    net, measured = Net(), []
    model = net.finish(net.mean(net.conv(net.conv(net.input(1, 24, 6, 4), 8), 8)))
    layers = {"step": "layer", "optimize": "speed"}
    assert compile(model, target="cortex-m4", **layers).plan.layered
    for options in (layers, {"step": "row"}, {"step": "row", "input": "rows"}):
        plain = compile(model, target="cortex-m4", name="tall", **options)
        assert "STEP_INSTRUCTIONS" not in plain.project.files["tall.h"]
        told = with_longest_step(plain)
        measured.append(stated(told))
        assert longest(plain, 4) <= measured[-1]
        assert "It is no bound" in told.project.files["tall.h"]
        changed = {name for name, text in plain.project.files.items() if told.project.files[name] != text}
        assert changed == {"tall.h"}
    by_layers, by_rows, pushed = measured
    assert by_rows < by_layers / 2 and pushed < by_layers / 5


def test_no_longest_step_without_a_counter() -> None:
    with pytest.raises(MoteError, match="instructions cannot be counted") as error:
        with_longest_step(compile(DIGITS, step="row"))
    assert "microcontroller" in error.value.remedy


COMPILERS = (
    "clang -O2",
    "arm-none-eabi-gcc -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16 -O2",
    "arm-none-eabi-gcc -mcpu=cortex-m0plus -DMOTE_PORTABLE -O0",
    "riscv64-unknown-elf-gcc -march=rv32imc -mabi=ilp32 --specs=picolibc.specs -O2",
)


@cache
def small(dtype: str = "int8") -> bytes:
    return mcunet_v2.build(mcunet_v2.SMALL, dtype=dtype)


CLEAN: dict[str, tuple[Any, dict[str, Any]]] = {
    "least": (KEYWORDS, {"least_ram": True}),
    "pushed, caller arena": (KEYWORDS, {"input": "rows", "caller_arena": True, "single_file": True}),
    "row": (DIGITS, {"step": "row", "optimize": "speed"}),
    "red zones": (KEYWORDS, {"least_ram": True, "red_zones": True}),
    "pushed red zones": (DIGITS, {"input": "rows", "red_zones": True, "single_file": True}),
    "recompute": (small, {"least_ram": True, "recompute": 30.0}),
    "float": (lambda: small("float32"), {"input": "rows"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("mode", CLEAN)
def test_every_mode_is_clean_and_passes_its_selftest(mode: str, tmp_path: Path) -> None:
    """No warning from any compiler that is there; the example and the self-test run on the host."""
    model, options = CLEAN[mode]
    compiled = compile(model() if callable(model) else model, target="cortex-m4", **options)
    assert not compiled.plan.layered
    compiled.write(tmp_path)
    warnings = [flag for flag in FLAGS if flag != "-O2"]
    for command in (c.split() for c in COMPILERS):
        if shutil.which(command[0]):
            run([*command, *warnings, "-c", f"{compiled.name}.c", "-o", "other.o"], tmp_path)
    cc = compiler_or_skip("gcc")
    for main in (["example/main.c"], ["selftest/selftest.c", "-DMOTE_SELFTEST"]):
        run([cc, *FLAGS, *main, f"{compiled.name}.c", "-o", "program", "-lm"], tmp_path)
        printed = run(["./program"], tmp_path)
    assert printed == f"{compiled.name}: ok\n"
