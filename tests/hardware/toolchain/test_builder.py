"""Programs that are built: their sizes without the harness, whether they fit the emulated board, compilers' errors."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from mote.base.errors import BudgetError, MoteError
from mote.hardware import targets, toolchain
from mote.hardware.toolchain import Compiler, Mode, Sizes, builder
from tests.hardware.toolchain import fake_model as fake
from tests.hardware.toolchain.fake_builds import CASES, CORES, QUICK, build, compiler_for, emulator_for, emulators, run
from tests.helpers.support import soaked


@pytest.fixture(autouse=True)
def _warnings_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the harness's own C, too."""
    monkeypatch.setattr(builder, "COMMON", (*builder.COMMON, "-Werror"))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("core", "kind"), soaked(CASES, QUICK))
def test_sizes_leave_the_harness_out(tmp_path: Path, core: str, kind: str) -> None:
    target = targets.load(core)
    compiler = compiler_for(target, kind)
    whole = toolchain.sizes(build(tmp_path, target, compiler, Mode.MEASURE), target)
    assert isinstance(whole, Sizes)
    assert 1000 < whole.code < 10_000  # expf, memcpy and division are there
    assert 128 + 4 <= whole.constants < 1000
    assert 16 + 16 + 16 + 64 + 16 + 4 <= whole.static < 200
    small = "int fake_run(void); int fake_run(void) { return 0; }"
    glue = fake.GLUE.replace("fake_floats", "bytes").replace("fake_bytes", "bytes")
    glue = glue.replace("fake_quotients", "bytes").replace("fake_exp", "bytes")
    glue = glue.replace("void *harness_input(", "static char bytes[64] = {1};\nvoid *harness_input(", 1)
    elf = build(tmp_path / "empty", target, compiler, Mode.MEASURE, model=small, glue=glue)
    empty = toolchain.sizes(elf, target)
    assert empty is not None and empty.code <= 16 and empty.constants == 0 and empty.static <= 16
    got = run(tmp_path / "empty", target, emulator_for(target), elf, Mode.MEASURE)
    assert got.instructions is not None and got.instructions[0] <= 6


BIG = """
#include "fake.h"
int8_t fake_bytes[16];
float fake_floats[4], fake_exp[4];
int32_t fake_quotients[16];
static const uint8_t weights[1 << 20] = {[0] = 7, [(1 << 20) - 1] = 9};
static uint8_t arena[3 << 19];
int fake_run(void)
{
    const volatile uint8_t *w = weights;
    volatile uint8_t *a = arena;
    a[0] = w[0];
    a[(3 << 19) - 1] = w[(1 << 20) - 1];
    fake_quotients[0] = a[0] + a[(3 << 19) - 1];
    return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
def test_large_models_fit_the_emulated_board(tmp_path: Path, core: str) -> None:
    target = targets.load(core)
    elf = build(tmp_path, target, compiler_for(target), Mode.MEASURE, model=BIG)
    size = toolchain.sizes(elf, target)
    assert size is not None and size.constants >= 1 << 20 and size.static >= 3 << 19
    for emulator in emulators(target):
        got = run(tmp_path, target, emulator, elf, Mode.MEASURE)
        assert struct.unpack_from("<i", got.outputs[0][1]) == (16,)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("core", "kind"), [("cortex-m4", "gcc"), ("cortex-m4", "zig"), ("rv32imc", "gcc")])
def test_models_that_do_not_fit_the_emulated_board(tmp_path: Path, core: str, kind: str) -> None:
    target = targets.load(core)
    model = BIG.replace("3 << 19", "1 << 30")
    with pytest.raises(BudgetError, match=r"needs [\d,]{13,} bytes of RAM, [\d,]+ more than its [\d,]+\n") as error:
        build(tmp_path, target, compiler_for(target, kind), Mode.MEASURE, model=model)
    assert "--ram min" in str(error.value)


def test_compiler_errors_are_shown(tmp_path: Path) -> None:
    target = targets.load("host")
    with pytest.raises(MoteError) as error:
        build(tmp_path, target, compiler_for(target), Mode.MEASURE, model="int fake_run(void) { return oops; }")
    assert "oops" in str(error.value) and "fake.c" in str(error.value)
    with pytest.raises(MoteError, match="sanitizers work on the host only"):
        toolchain.build(
            tmp_path,
            [],
            tmp_path,
            targets.load("cortex-m4"),
            Compiler("gcc", ("gcc",), ""),
            mode=Mode.MEASURE,
            optimize="size",
            workdir=tmp_path,
            sanitize=True,
        )
