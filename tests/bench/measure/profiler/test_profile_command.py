"""`mote profile` on models and on programs, and `mote.profile`."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.bench.measure.profiler import costs, steps
from mote.bench.measure.profiler.trace import Trace, calls, cut
from mote.hardware import targets, toolchain
from mote.ui.cli import main
from tests.helpers.support import emulated

pytest.importorskip("capstone")

ROOT = Path(__file__).parents[4]
DIGITS = str(ROOT / "models" / "digits.tflite")
PROGRAM = """
    .syntax unified
    .cpu cortex-m4
    .thumb
    .section .vectors, "a"
    .word 0x20010000, start
    .text
    .thumb_func
    .type start, %function
start:
    bl outer
    bl outer
    bl jumper
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt 0xAB
    .thumb_func
    .type outer, %function
outer:
    push {r4, lr}
    bl inner
    bl inner
    pop {r4, pc}
    .thumb_func
    .type inner, %function
inner:
    movs r0, #3
1:  subs r0, #1
    bne 1b
    bx lr
    .thumb_func
    .type jumper, %function
jumper:
    b jumped
    .thumb_func
    .type jumped, %function
jumped:
    bx lr
    .thumb_func
    .type idle, %function
idle:
    b idle
"""


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(("profile", *arguments))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.mark.slow
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus", "cortex-m55", "rv32imc"])
def test_the_trace_has_as_many_instructions_as_are_counted(core: str) -> None:
    compiled = mote.compile(DIGITS, target=emulated(core))
    found, counted = mote.profile(compiled), mote.run(compiled)
    assert found.instructions == counted.instructions
    assert sum(f.instructions for f in found.functions) == found.instructions
    assert sum(f.cycles for f in found.functions) == found.cycles
    assert found.instructions < found.cycles
    # The layers are of a build with a nop behind each, which the C compiler may arrange a little differently.
    assert abs(sum(x.instructions for x in found.layers) - found.instructions) < 0.005 * found.instructions
    for mine, theirs in zip(found.layers, counted.layers, strict=True):
        assert (mine.name, mine.kernel, mine.macs) == (theirs.name, theirs.kernel, theirs.macs)
        assert abs(mine.instructions - (theirs.instructions or 0)) < 60 + 0.01 * mine.instructions


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"least_ram": True}, {"input": "rows"}, {"optimize": "size"}])
def test_rows_belong_to_their_layers(options: dict[str, object]) -> None:
    compiled = mote.compile(DIGITS, target=emulated("cortex-m4"), **options)
    found, counted = mote.profile(compiled), mote.run(compiled)
    assert found.instructions == counted.instructions
    assert abs(sum(x.instructions for x in found.layers) - found.instructions) < 0.01 * found.instructions
    for mine, theirs in zip(found.layers, counted.layers, strict=True):
        assert abs(mine.instructions - (theirs.instructions or 0)) < 100 + 0.02 * mine.instructions


@pytest.mark.slow
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus", "rv32imc"])
def test_both_emulators_run_the_same_blocks(core: str) -> None:
    target = targets.load(emulated(core))
    for kind in ("qemu", "unicorn"):
        try:
            toolchain.find_emulator(target, kind)
        except MoteError as error:
            pytest.skip(str(error))
    compiled = mote.compile(DIGITS, target=core)
    one, other = (mote.profile(compiled, emulator=kind) for kind in ("qemu", "unicorn"))
    assert (one.cycles, one.layers, one.functions) == (other.cycles, other.layers, other.functions)
    assert one.waits == other.waits and one.waits.loaded > 0


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    emulated("cortex-m4")
    status, out, _ = command(capsys, DIGITS, "--target", "stm32l4r5", "--functions")
    assert status == 0
    for wanted in (
        "CONV_2D",
        "/armv7em",
        "####",
        "share",
        "mote_gemm4x2",
        "of the peak of 2 MACs a cycle",
        "at 120 MHz",
    ):
        assert wanted in out
    assert "energy:       about " in out and "an estimate: 110 µA/MHz at 3 V" in out and "DS12023" in out
    assert "timing:       Cortex-M4 (" in out and "memory:       flash: 5 wait states, 64-bit reads" in out
    assert "RM0432" in out and "about" not in out[out.index("cycles:") :].split("\n")[0]


@pytest.mark.slow
def test_text_of_an_m0plus(capsys: pytest.CaptureFixture[str]) -> None:
    emulated("cortex-m0plus")
    status, out, _ = command(capsys, DIGITS, "--target", "rp2040")
    assert status == 0 and "of the peak of 1 MAC a cycle" in out
    assert "energy:       not known: target rp2040 states no current" in out


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["cortex-m7", "cortex-m33", "cortex-m55", "rv32imc"])
def test_estimates_say_so(core: str, capsys: pytest.CaptureFixture[str]) -> None:
    emulated(core)
    status, out, _ = command(capsys, DIGITS, "--target", core)
    assert status == 0 and "cycles:       about " in out and "an estimate" in out


@pytest.mark.slow
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    emulated("cortex-m4")
    found = json.loads(command(capsys, DIGITS, "-t", "nrf52840", "--json", "--io", "int8", "--ram", "2K")[1])
    assert {"cycles", "instructions", "seconds", "energy", "layers", "functions", "estimate", "timing"} <= set(found)
    assert found["seconds"] == found["cycles"] / 64e6
    energy = found["energy"]
    assert energy["microjoules"] == pytest.approx(energy["volts"] * energy["ua_per_mhz"] * found["cycles"] * 1e-6)
    assert found["peak"] == pytest.approx(found["macs"] / (2 * found["cycles"]))
    assert sum(x["share"] for x in found["layers"]) == pytest.approx(1, abs=0.01)
    assert found["calls"] == 1 and found["functions"][0]["calls"] > 0


SLOW = """
extends = "cortex-m4"
[reads]
wait_states = 5
read_bytes = 8
prefetch = true
code_lines = 128
data_lines = 8
"""


@pytest.fixture
def slow(tmp_path: Path) -> str:
    emulated("cortex-m4")
    path = tmp_path / "slow.toml"
    path.write_text(SLOW)
    return str(path)


@pytest.mark.slow
def test_waits(slow: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same instructions; what is waited for is the difference, in layers and in functions as in the whole."""
    compiled = mote.compile(DIGITS, target=slow)
    at_once = replace(compiled, settings=replace(compiled.settings, target=targets.load("cortex-m4")))
    fast, found = mote.profile(at_once, layers=False), mote.profile(compiled)
    assert found.instructions == fast.instructions and found.core_cycles == fast.cycles
    waits = found.waits
    assert waits.code > 0 and waits.constants > 0 and found.cycles == fast.cycles + waits.code + waits.constants
    assert fast.waits == replace(waits, code=0, constants=0, fetched=0) and waits.loaded > 4096
    assert sum(f.waits.constants for f in found.functions) == waits.constants
    assert sum(f.waits.code for f in found.functions) == waits.code
    assert sum(f.cycles for f in found.functions) == found.cycles
    assert abs(sum(x.waits.constants for x in found.layers) - waits.constants) < 0.02 * waits.constants
    assert waits.fetched % 8 == 0 and waits.constants % 5 == 0
    status, out, _ = command(capsys, DIGITS, "--target", slow)
    assert status == 0 and f"{waits.constants:,} for constants" in out and "constant waits" in out
    assert "memory:       5 wait states, 64-bit reads, prefetch, 128 lines of 8 bytes for code and 8 for" in out


@pytest.mark.slow
def test_steps_of_several_cores(slow: str) -> None:
    """From one run: cycles as each target takes them, waits where its memory is slow."""
    compiled = mote.compile(DIGITS, target="cortex-m4")
    plain, waiting, m7 = steps(compiled, [targets.load(t) for t in ("cortex-m4", slow, "cortex-m7")])
    layers = mote.profile(compiled).layers
    assert [s.cycles for s in plain] == [x.cycles for x in layers]
    assert all(a.cycles + b.waits.code + b.waits.constants == b.cycles for a, b in zip(plain, waiting, strict=True))
    assert all(a.waits.loaded == b.waits.loaded for a, b in zip(plain, waiting, strict=True))
    assert all(a.cycles > c.cycles for a, c in zip(plain, m7, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_the_log_has_the_blocks_but_not_what_is_read(
    core: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without a compiler for this computer, or with a QEMU without plug-ins: said, and counted at its least."""
    if toolchain.find_emulator(targets.load(emulated(core))).kind != "qemu":
        pytest.skip("needs QEMU")
    path = tmp_path / "slow.toml"
    path.write_text(SLOW.replace("cortex-m4", core))
    compiled = mote.compile(DIGITS, target=str(path))
    known = mote.profile(compiled, layers=False)
    monkeypatch.setattr("mote.bench.measure.profiler.trace.plugin", lambda emulator, folder: None)
    found = mote.profile(compiled, layers=False)
    assert known.loads_known and not found.loads_known
    assert (found.instructions, found.waits.code) == (known.instructions, known.waits.code)
    assert 0 < found.waits.constants < known.waits.constants
    if core == "cortex-m4":
        out = command(capsys, DIGITS, "--target", str(path))[1]
        assert "each constant counts once" in out and "at least " in out


@pytest.mark.slow
def test_a_qemu_that_takes_no_plugins(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if toolchain.find_emulator(targets.load("cortex-m4")).kind != "qemu":
        pytest.skip("needs QEMU")
    monkeypatch.setattr("mote.bench.measure.profiler.trace.plugin", lambda emulator, folder: Path("absent.so"))
    assert not mote.profile(mote.compile(DIGITS, target=slow), layers=False).loads_known


def test_inputs_of_the_user(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    emulated("cortex-m4")
    np.save(tmp_path / "x.npy", np.load(ROOT / "models" / "digits_samples.npz")["inputs"][0])
    assert command(capsys, DIGITS, "-t", "cortex-m4", "--data", str(tmp_path / "x.npy"))[0] == 0


@pytest.fixture
def program(tmp_path: Path) -> str:
    emulated("cortex-m4")
    if not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")):
        pytest.skip("needs arm-none-eabi-gcc and qemu-system-arm")
    source, elf = tmp_path / "program.s", tmp_path / "program.elf"
    source.write_text(PROGRAM)
    link = ["-nostdlib", "-Wl,--section-start=.vectors=0,-Ttext=0x400,-estart"]
    subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m4", *link, str(source), "-o", str(elf)], check=True)
    return str(elf)


def test_a_program(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = command(capsys, "--elf", program, "--entry", "outer", "-t", "cortex-m4", "--json")
    found = json.loads(out)
    assert status == 0 and found["calls"] == 2 and found["layers"] == [] and found["peak"] is None
    inner, outer = (next(f for f in found["functions"] if f["name"] == n) for n in ("inner", "outer"))
    # inner: movs, three times subs, two branches taken and one not, the return; four times.
    assert (inner["calls"], inner["instructions"], inner["cycles"]) == (4, 4 * 8, 4 * (1 + 3 + 2 * 3 + 1 + 3))
    # outer: push of two, two calls, the return by pop of two.
    assert (outer["calls"], outer["instructions"], outer["cycles"]) == (2, 2 * 4, 2 * (3 + 3 + 3 + 6))
    assert found["cycles"] == inner["cycles"] + outer["cycles"]
    status, out, _ = command(capsys, "--elf", program, "--entry", "outer", "-t", "cortex-m4")
    assert status == 0 and "calls:        2" in out and "inner" in out and "instructions: 40" in out


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("--entry", "oute", "-t", "cortex-m4"), "has no function 'oute'"),
        (("--entry", "idle", "-t", "cortex-m4"), "was not called"),
        (("--entry", "jumped", "-t", "cortex-m4"), "entered by a jump"),
        (("--entry", "outer", "-t", "rv32imc"), "is for arm, not for riscv"),
        (("--entry", "outer", "-t", "host"), "no cycle model for the core 'native'"),
        (("-t", "cortex-m4"), "--elf and --entry belong together"),
        ((DIGITS, "--entry", "outer", "-t", "cortex-m4"), "either a model or --elf"),
        (("--entry", "outer", "-t", "cortex-m4", "--emulator", "unicorn"), "in QEMU only"),
        (("--entry", "outer", "-t", "cortex-m4", "--data", "x.npy"), "--data is for models"),
    ],
)
def test_errors_of_programs(
    arguments: tuple[str, ...], wanted: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = command(capsys, "--elf", program, *arguments)
    assert status == 1 and out == "" and wanted in err and "help:" in err


def test_other_errors(
    tmp_path: Path, program: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "nothing to profile" in command(capsys, "-t", "cortex-m4")[2]
    assert "no cycle model" in command(capsys, DIGITS)[2]
    text = tmp_path / "text.elf"
    text.write_text("not a program")
    assert "is not an ELF file" in command(capsys, "--elf", str(text), "--entry", "x", "-t", "cortex-m4")[2]
    assert "cannot be read" in command(capsys, "--elf", "absent.elf", "--entry", "x", "-t", "cortex-m4")[2]
    monkeypatch.setattr(costs, "TIMEOUT_S", 1.0)
    forever = tmp_path / "forever.elf"
    source = tmp_path / "forever.s"
    source.write_text(PROGRAM.replace("bl jumper", "bl idle"))
    link = ["-nostdlib", "-Wl,--section-start=.vectors=0,-Ttext=0x400,-estart"]
    subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m4", *link, str(source), "-o", str(forever)], check=True)
    assert "did not finish within 1 s" in command(
        capsys, "--elf", str(forever), "--entry", "outer", "-t", "cortex-m4"
    )[2]  # fmt: skip
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert "no emulator" in command(capsys, "--elf", program, "--entry", "outer", "-t", "cortex-m4")[2]


def test_no_disassembler(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    emulated("cortex-m4")
    monkeypatch.setattr("mote.bench.measure.profiler.instructions.find_spec", lambda name: None)
    status, _, err = command(capsys, DIGITS, "-t", "cortex-m4")
    assert status == 1 and "pip install capstone" in err


def test_blocks_are_cut() -> None:
    traced = Trace([(0, 8), (8, 12)], np.array([0, 1, 0], np.int32))
    done = cut(traced, {2, 4, 8, 20})
    assert done.blocks == [(0, 2), (2, 4), (4, 8), (8, 12)]
    assert done.order.tolist() == [0, 1, 2, 3, 0, 1, 2]


def test_calls_within_calls_are_part_of_them() -> None:
    """main calls f (1), which calls itself (1) once; then main goes on (2)."""
    traced = Trace([(0, 4), (100, 104), (4, 8), (104, 108)], np.array([0, 1, 1, 3, 3, 2], np.int32))
    assert calls(traced, 100, {0: 4, 1: 104}, "f") == [(1, 5)]
