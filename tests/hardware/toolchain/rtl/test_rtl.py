"""Cores in RTL: the board without a core, what is refused, and, where the tools are there, models on the cores."""

from __future__ import annotations

import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.bench.measure.profiler.outputs import check_outputs
from mote.bench.measure.runner import bench
from mote.hardware import targets, toolchain
from mote.hardware.cores.board import RTL_BOARD
from mote.hardware.cores.riscv import RISCV
from mote.hardware.toolchain import rtl
from mote.hardware.toolchain.emulators import RTL, as_run, find_emulator
from mote.ui.cli import main

HERE = Path(__file__).parent
DIGITS = str(HERE.parents[3] / "models" / "digits.tflite")
CORES = ("ibex", "cv32e40p", "picorv32")
BOARD = RISCV.boards[RTL_BOARD]
ROM, RAM, MAILBOX = BOARD.rom[0], BOARD.ram[0], BOARD.mailbox


def missing(core: str) -> str:
    try:
        find_emulator(targets.load(core), RTL)
    except MoteError as error:
        return str(error)
    return "" if shutil.which("riscv64-unknown-elf-gcc") else "riscv64-unknown-elf-gcc is not installed"


def on(core: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(bool(missing(core)), reason=missing(core) or "all tools are there")


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """board.cpp with a core that does what a script says."""
    cxx = rtl._cxx()
    if cxx is None:
        pytest.skip("no C++ compiler")
    program = tmp_path_factory.mktemp("board") / "board"
    flags = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", *rtl._defines(BOARD), f"-I{HERE}"]
    subprocess.run([*cxx, *flags, str(rtl.BOARD), "-o", str(program)], check=True)
    return program


def cycle(
    *,
    fetch: int | None = None,
    load: tuple[int, int] | None = None,
    store: tuple[int, int, int] | None = None,
    pc: int | None = None,
    halted: int = 0,
) -> str:
    """One line of the script; loads are (address, byte mask), stores (address, byte mask, value)."""
    address, mask, value = (*load, 0) if load else store or (0, 0, 0)
    words = (fetch is not None, fetch or 0, bool(load or store), bool(store), mask, address, value)
    return " ".join(f"{int(x):x}" for x in (*words, pc is not None, pc or 0, halted))


def ran(board: Path, folder: Path, script: list[str], image: bytes, cuts: tuple[int, ...] = ()) -> tuple[int, str]:
    (folder / "script").write_text("\n".join(script))
    (folder / "image").write_bytes(image)
    (folder / "cuts").write_bytes(np.array(cuts, "<u4").tobytes())
    done = subprocess.run([str(board), "image", "cuts", "trace", "cycles"], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout


def segment(address: int, data: bytes) -> bytes:
    return struct.pack("<2I", address, len(data)) + data


def call(operation: int, block: int) -> list[str]:
    """A call of the host, as start.S makes it."""
    return [
        cycle(store=(MAILBOX, 15, operation)),
        cycle(store=(MAILBOX + 4, 15, block)),
        cycle(load=(MAILBOX + 8, 15)),
        cycle(),
    ]


def leaving(block: int) -> list[str]:
    return call(0x20, block)[:2]


def test_memory_answers_in_the_next_cycle(board: Path, tmp_path: Path) -> None:
    exit_block = segment(RAM + 64, struct.pack("<2I", 0x20026, 0))
    image = segment(ROM, bytes(range(1, 9))) + exit_block
    script = [
        cycle(fetch=ROM, load=(ROM + 4, 15)),
        cycle(store=(RAM, 0b0110, 0xAABBCCDD)),  # two of the four bytes
        cycle(load=(RAM, 15)),
        cycle(fetch=ROM + 6),
        cycle(),
        *leaving(RAM + 64),
    ]
    assert ran(board, tmp_path, script, image) == (0, "")
    answers = (tmp_path / "answers").read_text().split("\n")
    assert answers[1] == "4030201 8070605"
    assert answers[3].split()[1] == "bbcc00"
    assert answers[4].split()[0] == "8070605"  # the aligned word of it


def test_the_host_reads_and_writes_files(board: Path, tmp_path: Path) -> None:
    (tmp_path / "in.bin").write_bytes(b"abcdef")
    names = segment(RAM, b"in.bin" + b"out.bin")
    blocks = [(RAM, 1, 6), (RAM + 6, 5, 7), (0, RAM + 64, 8), (1, RAM + 65, 3), (0x20026, 3, 0)]
    data = b"".join(struct.pack("<3I", *block) for block in blocks)
    at = [RAM + 256 + 12 * i for i in range(len(blocks))]
    script = [
        *(line for operation, block in zip((1, 1, 6, 5), at, strict=False) for line in call(operation, block)),
        cycle(load=(RAM + 64, 15)),
        cycle(),
        *leaving(at[4]),
    ]
    assert ran(board, tmp_path, script, names + segment(RAM + 256, data)) == (1, "exit status 3\n")
    answers = [line.split()[1] for line in (tmp_path / "answers").read_text().split("\n") if line]
    assert [answers[3 + 4 * i] for i in range(4)] == ["0", "1", "2", "0"]  # two bytes were not there
    assert answers[17] == "64636261"
    assert (tmp_path / "out.bin").read_bytes() == b"bcd"


def test_the_trace_has_blocks_with_their_cycles(board: Path, tmp_path: Path) -> None:
    """A loop of two instructions, the second a branch of four bytes, behind one that a cut separates."""
    branch = struct.pack("<I", 0xFE0518E3)
    code = b"\x01\x00" * 2 + branch + b"\x01\x00"
    image = segment(ROM, code) + segment(RAM, struct.pack("<2I", 0x20026, 0))
    steps = [(ROM, 1), (ROM + 2, 1), (ROM + 4, 3), (ROM + 2, 2), (ROM + 4, 1), (ROM + 8, 4)]
    script = [line for pc, took in steps for line in [*[cycle()] * (took - 1), cycle(pc=pc)]]
    script[2] = cycle(load=(ROM + 8, 0b1100))
    assert ran(board, tmp_path, [*script, *leaving(RAM)], image, cuts=(ROM + 2,)) == (0, "")
    words = np.fromfile(tmp_path / "trace", "<u4").tolist()
    new = 0xF0000000
    read = 0x80000000 | 1 << 28 | 10
    assert words == [new, ROM, ROM, 0, new, ROM + 2, ROM + 4, 1, read, 1, new, ROM + 8, ROM + 8, 2]
    assert np.fromfile(tmp_path / "cycles", "<u4").tolist()[1:] == [4, 3, 4]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (cycle(load=(0x20000000, 15)), "there is no memory at 0x20000000"),
        (cycle(halted=1), "the core trapped"),
        (cycle(store=(MAILBOX + 4, 15, 0x123)), "the host was given the address 0x123"),
    ],
)
def test_what_a_program_must_not_do_ends_it(board: Path, tmp_path: Path, line: str, said: str) -> None:
    status, text = ran(board, tmp_path, [cycle(pc=ROM), line], segment(ROM, bytes(4)))
    assert status == 1 and said in text and f"after the instruction at {ROM:#x}" in text


def test_a_segment_outside_of_memory_is_refused(board: Path, tmp_path: Path) -> None:
    assert ran(board, tmp_path, [cycle()], segment(0x1000, b"x"))[0] == 1


@pytest.mark.parametrize("core", CORES)
def test_targets_name_rtl_and_a_cycle_model(core: str) -> None:
    target = targets.load(core)
    record = RISCV.rtl[core]
    assert target.rtl == target.cycle_model == core and record.top.is_file()
    assert "module mote_board" in record.top.read_text()
    assert as_run(target, toolchain.Emulator(RTL, (), "")).qemu_machine == RTL_BOARD


def test_the_tools_are_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(rtl, "find_verilator", lambda: None)
    assert main(["profile", DIGITS, "--target", "ibex"]) == 1
    said = capsys.readouterr().err
    assert "Verilator was not found" in said and "rtl" in said and "--emulator qemu" in said
    monkeypatch.setattr(rtl, "find_verilator", lambda: rtl.Verilator("verilator", Path(), "5"))
    monkeypatch.setattr(rtl, "_place", lambda record: Path("nowhere"))
    with pytest.raises(MoteError, match="the package pythondata-cpu-ibex is not installed"):
        find_emulator(targets.load("ibex"), RTL)
    monkeypatch.setattr(rtl, "_place", lambda record: HERE)
    monkeypatch.setattr(rtl, "_cxx", lambda: None)
    with pytest.raises(MoteError, match=r"no C\+\+ compiler"):
        find_emulator(targets.load("ibex"), RTL)


def test_only_some_targets_have_rtl(tmp_path: Path) -> None:
    with pytest.raises(MoteError, match="no RTL for target 'cortex-m4'"):
        find_emulator(targets.load("cortex-m4"), RTL)
    with pytest.raises(MoteError, match="no RTL for target 'rv32imc'") as error:
        find_emulator(targets.load("rv32imc"), RTL)
    assert "ibex" in str(error.value.remedy)
    path = tmp_path / "mine.toml"
    path.write_text('extends = "rv32imc"\nrtl = "rocket"')
    with pytest.raises(MoteError, match="unknown rtl 'rocket'"):
        targets.load(str(path))
    path.write_text('extends = "ibex"\nclock_hz = 1_000_000')
    assert targets.load(str(path)).rtl == "ibex"


def test_rtl_that_cannot_be_translated_is_an_error(tmp_path: Path) -> None:
    script = tmp_path / "verilator"
    script.write_text("#!/bin/sh\necho '%Error: no module' >&2\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(MoteError, match="cannot translate the RTL: %Error: no module"):
        rtl._translate(rtl.Verilator(str(script), tmp_path, "5"), [], tmp_path)


def test_simulators_are_kept_and_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rtl, "KEPT", 2)
    program = tmp_path / "board"
    program.write_text("x")
    for name in "abc":
        rtl._keep(program, tmp_path / "simulators" / name)
    assert len(list((tmp_path / "simulators").iterdir())) == 2 and (tmp_path / "simulators" / "c").is_file()


def test_outputs_are_compared_with_the_reference() -> None:
    graph = mote.compile(DIGITS).plan.graph
    (given,) = (graph.tensors[t] for t in graph.inputs)
    x = np.arange(given.size, dtype=np.int8).reshape(given.shape)
    right = graph.evaluate({given.id: x})[graph.outputs[0]].copy()
    check_outputs(graph, [x.tobytes()], [right.tobytes()], where="")
    right.flat[3] += 1
    with pytest.raises(MoteError, match="is not the reference's"):
        check_outputs(graph, [x.tobytes()], [right.tobytes()], where="")


def test_measured_cycles_take_the_place_of_modelled_ones() -> None:
    """A run in QEMU, given cycles for its blocks as a run in RTL has them."""
    pytest.importorskip("capstone")
    from mote.base.files import temporary_folder
    from mote.bench.measure.profiler.costs import ENTRY, _run
    from mote.bench.measure.run import stimulus
    from mote.hardware.toolchain import Mode

    compiled = mote.compile(DIGITS, target="ibex")
    with temporary_folder() as folder:
        try:
            on_bench = bench(compiled, folder)
        except MoteError as error:
            pytest.skip(str(error))
        modelled = _run(on_bench, Mode.MEASURE, stimulus(compiled.plan.graph, None)[:1])
    region = modelled.region(ENTRY)
    cycles = np.full(len(modelled.traced.order), 7, np.int64)
    measured = replace(modelled, traced=replace(modelled.traced, cycles=cycles)).region(ENTRY)
    ((lo, hi),) = measured.spans
    assert measured.cost().cycles == 7 * (hi - lo) == sum(f.cycles for f in measured.functions())
    assert measured.modelled() == region.cost().cycles and measured.cost().instructions == region.cost().instructions


@pytest.mark.slow
@pytest.mark.parametrize("core", [pytest.param(core, marks=on(core)) for core in CORES])
def test_digits_on_the_core_itself(core: str) -> None:
    """Profiling compares outputs with the reference's; the model counts what ran."""
    compiled = mote.compile(DIGITS, target=core)
    profile = mote.profile(compiled, emulator=RTL)
    assert profile.modelled is not None and not profile.estimate
    assert abs(profile.modelled / profile.cycles - 1) < 0.004  # what docs/measure/profiling.md states
    assert sum(layer.cycles for layer in profile.layers) == pytest.approx(profile.cycles, rel=0.01)
    assert sum(f.cycles for f in profile.functions) == profile.cycles
    measured = mote.run(compiled, emulator=RTL, layers=False)
    assert measured.instructions == profile.instructions
    assert measured.outputs == mote.run(compiled, layers=False).outputs
