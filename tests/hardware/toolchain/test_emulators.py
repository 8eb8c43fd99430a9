"""The fake model on every emulator that is installed: equal outputs, instructions and stack, and errors of one that
fails."""

from __future__ import annotations

import signal
import struct
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.base.stopping import StoppedError, stopping
from mote.hardware import targets, toolchain
from mote.hardware.toolchain import Execution, Mode, builder
from mote.hardware.toolchain.harness_protocol import write_inputs
from mote.hardware.toolchain.unicorn_board import run_unicorn
from tests.hardware.toolchain import fake_model as fake
from tests.hardware.toolchain.fake_builds import (
    BOTH,
    CASES,
    build,
    compiler_for,
    emulator_for,
    emulators,
    run,
    with_run,
)


@pytest.fixture(autouse=True)
def _warnings_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the harness's own C, too."""
    monkeypatch.setattr(builder, "COMMON", (*builder.COMMON, "-Werror"))


@pytest.mark.slow
@pytest.mark.parametrize(("core", "kind"), CASES)
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
