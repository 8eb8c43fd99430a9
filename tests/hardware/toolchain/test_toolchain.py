"""A handwritten model on every core, with every compiler and emulator installed, exact to the instruction."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import struct
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from mote.base.errors import BudgetError, MoteError
from mote.base.stopping import StoppedError, stopping
from mote.bench.doctor import doctor
from mote.hardware import targets, toolchain
from mote.hardware.cores import ARCHITECTURES
from mote.hardware.cores.board import WORD, Board
from mote.hardware.targets import Target
from mote.hardware.toolchain import Compiler, Emulator, Execution, Mode, Sizes, builder, compilers
from mote.hardware.toolchain.harness_protocol import write_inputs
from mote.hardware.toolchain.unicorn_board import run_unicorn
from tests.hardware.toolchain import fake_model as fake
from tests.helpers.support import soaked

BOARDS = {name: board for core in ARCHITECTURES.values() for name, board in core.boards.items()}
CORES = [
    *("cortex-m0", "cortex-m0plus", "cortex-m23", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"),
    *("cortex-m85", "rv32imc"),
]
CASES = [(core, "gcc") for core in CORES] + [(core, "zig") for core in ("cortex-m4", "cortex-m0plus", "rv32imc")]
QUICK = [(core, kind) for core, kind in CASES if kind == "gcc" or core == "cortex-m4"]
"""Zig compiles a library of its own for each other core, which takes long."""
BOTH = [("cortex-m4", "qemu"), ("cortex-m4", "unicorn"), ("rv32imc", "qemu"), ("rv32imc", "unicorn")]


def compiler_for(target: Target, kind: str | None = None) -> Compiler:
    try:
        return toolchain.find_compiler(target, kind)
    except MoteError as error:
        pytest.skip(str(error))


def emulator_for(target: Target, kind: str | None = None) -> Emulator:
    try:
        return toolchain.find_emulator(target, kind)
    except MoteError as error:
        pytest.skip(str(error))


def emulators(target: Target) -> list[Emulator]:
    """All that are installed: the same file must give the same numbers on each."""
    found = []
    for kind in ("qemu", "unicorn"):
        try:
            found.append(toolchain.find_emulator(target, kind))
        except MoteError:
            continue
    if not found:
        pytest.skip(f"no emulator for {target.name}")
    return found


def build(folder: Path, target: Target, compiler: Compiler, mode: Mode, **changes: str) -> Path:
    project, sources, glue = fake.write(folder, **changes)
    return toolchain.build(
        project,
        sources,
        glue,
        target,
        compiler,
        mode=mode,
        optimize="balanced",
        workdir=folder / mode,
        extra_flags=["-Werror"],
    )


def run(folder: Path, target: Target, emulator: Emulator, elf: Path, mode: Mode) -> Execution:
    return toolchain.execute(elf, target, emulator, fake.INPUTS, workdir=folder / mode, mode=mode, timeout_s=60)


@pytest.fixture(autouse=True)
def _warnings_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the harness's own C, too."""
    monkeypatch.setattr(builder, "COMMON", (*builder.COMMON, "-Werror"))


@pytest.mark.slow
@pytest.mark.parametrize(("core", "kind"), soaked(CASES, CASES[:-2]))
def test_a_core_gives_the_same_numbers_everywhere(tmp_path: Path, core: str, kind: str) -> None:
    target = targets.load(core)
    compiler = compiler_for(target, kind)
    measured = build(tmp_path, target, compiler, Mode.MEASURE)
    profiled = build(tmp_path, target, compiler, Mode.PROFILE)
    seen = []
    for emulator in emulators(target):
        total = run(tmp_path, target, emulator, measured, Mode.MEASURE)
        assert total == run(tmp_path, target, emulator, measured, Mode.MEASURE)
        fake.check_outputs(total.outputs)
        assert total.instructions is not None and total.steps is None
        assert total.instructions[0] == total.instructions[2]
        profile = run(tmp_path, target, emulator, profiled, Mode.PROFILE)
        fake.check_outputs(profile.outputs)
        check_profile(total, profile, exact=kind == "gcc")
        seen.append((total, profile))
    assert all(s == seen[0] for s in seen)


def check_profile(total: Execution, profile: Execution, exact: bool) -> None:
    """The loop takes what it must; without the hooks the profiled program takes what the plain one takes."""
    assert total.instructions and profile.instructions and profile.steps and total.stack
    for steps in profile.steps:
        assert len(steps) == 4
        assert 0 <= steps[0] <= 10
        assert steps[1] == 1 + fake.LOOP_INSTRUCTIONS  # the call and the function
    for plain, hooked, steps in zip(total.instructions, profile.instructions, profile.steps, strict=True):
        assert sum(steps) <= hooked <= sum(steps) + 20
        assert abs(plain - hooked) <= (0 if exact else 8)
    assert 16 <= total.stack <= 1024


@pytest.mark.parametrize("core", ["host", "cortex-m4", "rv32imc"])
def test_dumps_have_every_step(tmp_path: Path, core: str) -> None:
    target = targets.load(core)
    elf = build(tmp_path, target, compiler_for(target), Mode.DUMP)
    kinds = [None] if core == "host" else ["qemu", "unicorn"]
    for kind in kinds:
        got = run(tmp_path, target, emulator_for(target, kind), elf, Mode.DUMP)
        fake.check_outputs(got.outputs)
        assert got.instructions is None and got.steps is None
        for index, (dump, outputs) in enumerate(zip(got.dumps, got.outputs, strict=True)):
            assert dump[0] == dump[1] == struct.pack("<I", 100 + index)
            assert [dump[2], dump[3]] == outputs


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for target in (targets.load("host"), targets.load("cortex-m4")):
        elf = build(Path("here"), target, compiler_for(target), Mode.MEASURE)
        fake.check_outputs(run(Path("here"), target, emulator_for(target), elf, Mode.MEASURE).outputs)


@pytest.mark.parametrize("prefer", [None, "gcc", "clang"])
def test_host(tmp_path: Path, prefer: str | None) -> None:
    target = targets.load("host")
    elf = build(tmp_path, target, compiler_for(target, prefer), Mode.MEASURE)
    got = run(tmp_path, target, emulator_for(target), elf, Mode.MEASURE)
    fake.check_outputs(got.outputs)
    assert got.instructions is None and got.stack is None and toolchain.sizes(elf, target) is None


@pytest.mark.parametrize("prefer", ["gcc", "clang"])
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("for (volatile uint32_t i = 0; i < runs; i++) copied[i] = 1;", "(out of bounds|global-buffer-overflow)"),
        ("{ volatile uint32_t *volatile nowhere = 0; *nowhere = runs; }", "SEGV on unknown address 0x0000"),
    ],
    ids=["outside", "null"],
)
def test_host_sanitizers_find_a_bad_write(tmp_path: Path, fault: str, said: str, prefer: str) -> None:
    target = targets.load("host")
    bad = fake.MODEL.replace("runs++;", fault)
    project, sources, glue = fake.write(tmp_path, bad)
    elf = toolchain.build(
        project,
        sources,
        glue,
        target,
        compiler_for(target, prefer),
        mode=Mode.MEASURE,
        optimize="balanced",
        workdir=tmp_path,
        sanitize=True,
    )
    with pytest.raises(MoteError, match=rf"native: the model crashed(.|\n)*{said}"):
        toolchain.execute(elf, target, emulator_for(target), fake.INPUTS, workdir=tmp_path, mode=Mode.MEASURE)


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


def with_run(body: str) -> str:
    return fake.MODEL.replace("int fake_run(void)\n{", "int fake_run(void)\n{\n" + body)


@pytest.mark.parametrize(("core", "kind"), [("cortex-m4", "qemu"), ("cortex-m33", "qemu"), *BOTH[1:]])
def test_a_crash_says_what_and_where(tmp_path: Path, core: str, kind: str) -> None:
    target = targets.load(core)
    emulator = emulator_for(target, kind)
    model = with_run("*(volatile int *)0xD0000000 = 1;")
    elf = build(tmp_path, target, compiler_for(target), Mode.MEASURE, model=model)
    with pytest.raises(MoteError, match=rf"{kind}: the model crashed: .*(fault|Fault|UNMAPPED).*fake_run"):
        run(tmp_path, target, emulator, elf, Mode.MEASURE)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("core", "kind"), BOTH)
def test_an_endless_loop_is_stopped(tmp_path: Path, core: str, kind: str) -> None:
    target = targets.load(core)
    emulator = emulator_for(target, kind)
    model = with_run("for (volatile int i = 0;;) i++;")
    elf = build(tmp_path, target, compiler_for(target), Mode.MEASURE, model=model)
    with pytest.raises(MoteError, match=f"{kind}: the model did not finish within 1 s"):
        toolchain.execute(elf, target, emulator, fake.INPUTS, workdir=tmp_path, mode=Mode.MEASURE, timeout_s=1)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("core", "kind"), [*BOTH, ("cortex-m55", "qemu")])
def test_too_much_stack_is_noticed(tmp_path: Path, core: str, kind: str) -> None:
    target = targets.load(core)
    emulator = emulator_for(target, kind)
    model = with_run("volatile char deep[65000]; for (int i = 0; i < 65000; i++) deep[i] = 1; if (!deep[9]) return 1;")
    elf = build(tmp_path, target, compiler_for(target), Mode.MEASURE, model=model)
    got = run(tmp_path, target, emulator, elf, Mode.MEASURE)
    assert got.stack is not None and 65000 <= got.stack < 65536
    model = model.replace("65000", "66000")
    elf = build(tmp_path, target, compiler_for(target), Mode.MEASURE, model=model)
    with pytest.raises(MoteError, match=r"crashed|64 KB of stack"):
        run(tmp_path, target, emulator, elf, Mode.MEASURE)


def test_armv6m_traps_unaligned_access(tmp_path: Path) -> None:
    target = targets.load("cortex-m0plus")
    emulator = emulator_for(target, "qemu")
    model = with_run("volatile uintptr_t at = (uintptr_t)&runs + 1; runs += *(volatile uint32_t *)at;")
    elf = build(tmp_path, target, compiler_for(target), Mode.MEASURE, model=model)
    with pytest.raises(MoteError, match="HardFault"):
        run(tmp_path, target, emulator, elf, Mode.MEASURE)


def test_a_signal_ends_an_emulation(tmp_path: Path) -> None:
    """Unicorn calls back into Python, and would lose what is raised there."""
    target = targets.load("cortex-m4")
    emulator_for(target, "unicorn")
    elf = build(tmp_path, target, compiler_for(target), Mode.MEASURE, model=with_run("for (;;) { runs++; }"))
    seen = []

    def entered(*_: int) -> None:
        seen.append(1)
        if len(seen) == 1000:
            signal.raise_signal(signal.SIGTERM)

    write_inputs(tmp_path / Mode.MEASURE, fake.INPUTS)
    with pytest.raises(StoppedError), stopping():
        run_unicorn(elf, target, tmp_path / Mode.MEASURE, count=False, timeout_s=60, entered=entered)
    assert 1000 <= len(seen) < 2000


def test_failing_models_and_wrong_inputs_are_explained(tmp_path: Path) -> None:
    target = targets.load("host")
    native = emulator_for(target)
    elf = build(tmp_path, target, compiler_for(target), Mode.MEASURE, model=with_run("if (runs) return 7;"))
    with pytest.raises(MoteError, match="run function failed with status 7"):
        run(tmp_path, target, native, elf, Mode.MEASURE)
    with pytest.raises(MoteError, match="not those of the model"):
        toolchain.execute(elf, target, native, [[b"x"]], workdir=tmp_path, mode=Mode.MEASURE)
    with pytest.raises(MoteError, match="inference 1 has inputs of other sizes"):
        toolchain.execute(elf, target, native, [[b"x"], [b"xy"]], workdir=tmp_path, mode=Mode.MEASURE)


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


def test_missing_tools_come_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    m4, m55 = targets.load("cortex-m4"), targets.load("cortex-m55")
    with pytest.raises(MoteError, match=r"apt install gcc-arm-none-eabi .*or pip install ziglang"):
        toolchain.find_compiler(m4)
    with pytest.raises(MoteError, match="apt install gcc, or pip install ziglang"):
        toolchain.find_compiler(targets.load("host"))
    with pytest.raises(MoteError, match="apt install qemu-system-arm, or pip install unicorn"):
        toolchain.find_emulator(m4)
    with pytest.raises(MoteError, match="unicorn does not know the cortex-m55"):
        toolchain.find_emulator(m55)
    with pytest.raises(MoteError, match="cannot be emulated"):
        builder.board_of(replace(m4, qemu_machine="microbit"))
    assert not any(finding.found for finding in doctor().tools)
    assert all(finding.remedy for finding in doctor().tools)


def test_preferences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(compilers, "first_line", lambda command: "/1.0")
    monkeypatch.setattr("mote.hardware.toolchain.emulators.version_of", lambda command: "1.0")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    m4 = targets.load("cortex-m4")
    assert toolchain.find_compiler(m4).kind == "gcc" and toolchain.find_compiler(m4, "zig").kind == "zig"
    assert toolchain.find_emulator(m4).kind == "qemu" and toolchain.find_emulator(m4, "unicorn").kind == "unicorn"
    monkeypatch.setattr(compilers, "first_line", lambda command: "libc.a")  # gcc has no library: zig it is
    assert toolchain.find_compiler(m4).kind == "zig"
    with pytest.raises(MoteError, match="unknown compiler"):
        toolchain.find_compiler(m4, "icc")
    with pytest.raises(MoteError, match="unknown emulator"):
        toolchain.find_emulator(m4, "renode")
    with pytest.raises(MoteError, match="simavr does not run the target 'cortex-m4'"):
        toolchain.find_emulator(m4, "simavr")


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_ticks_round_to_exact_instructions(board: Board) -> None:
    """For any count and any phase of the timer, up to where the counter wraps, which is beyond 1.0 G."""
    rate = board.ticks_per_instruction
    assert (rate > 2 or (rate == 1 and board.counts == "cycles")) and board.limit > 1_000_000_000
    down = board.timer == "cmsdk"
    for count in (0, 1, 2, 999, 123_456_789, board.limit - 2):
        for phase in range(50):
            start = int(phase * rate + Fraction(phase, 50))
            end = int((phase + count) * rate + Fraction(phase, 50))
            before, after = (WORD - 1 - start, WORD - 1 - end) if down else (start, end)
            assert board.elapsed(before % WORD, after % WORD) == count


def test_a_wrapped_counter_is_noticed() -> None:
    timer, clock = BOARDS["mps2-an386"], BOARDS["virt"]
    assert not timer.wrapped(5, 9, 0, 0) and timer.wrapped(5, 9, 0, 1)
    assert not clock.wrapped(WORD - 5, 9, 3, 4)
    assert clock.wrapped(5, 9, 3, 4) and clock.wrapped(9, 5, 3, 5)


def test_import_is_fast() -> None:
    code = (
        "import sys, mote.hardware.toolchain; print([m for m in ('unicorn', 'elftools', 'numpy') if m in sys.modules])"
    )
    path = str(Path(toolchain.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": path}
    )
    assert done.stdout.strip() == "[]"
