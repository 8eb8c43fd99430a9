"""Memory timing that is recovered from cycles: by a layout in Python, and, in full, on emulated parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import mote
import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.bench.measure.profiler.trace import FlashLoads
from mote.bench.measure.profiler.waits import Zone
from mote.compiler.firmware import Firmware
from mote.hardware.cores.instructions import ControlKind, Decoded, Task, Timed
from mote.hardware.targets import Memory, Reads, Target
from mote.optimize.tune.calibration.measurer import BoardMeasurer, EmulatedMeasurer
from mote.optimize.tune.calibration.memory_fit import ForwardModel, MemoryFit, fit_memory
from mote.optimize.tune.calibration.microbenchmarks import (
    ALIGNMENT,
    FAMILIES,
    Microbenchmark,
    first_microbenchmarks,
    line_microbenchmarks,
    source,
)
from mote.ui.cli import main
from tests.helpers.support import emulated

TARGET = replace(targets.load("cortex-m4"), memories=(Memory("flash", "flash", 1 << 14, 0),))
TABLES = 1 << 20


class Layout:
    """The programs as a linker would place them, with a block for each instruction, or for straight code."""

    def __init__(self, programs: Sequence[Microbenchmark]) -> None:
        self.blocks: list[list[Timed]] = []
        self.order: list[int] = []
        self.loads: list[tuple[int, int, int]] = []
        self.spans: list[list[tuple[int, int]]] = []
        self.at, self.table = 0, TABLES
        loop = self._code(8, 2)
        for program in programs:
            begin = len(self.order)
            self._run(program, loop)
            self.spans.append([(begin, len(self.order))])

    def _code(self, count: int, stride: int) -> list[int]:
        """Instructions at distances, in functions that begin at whole lines."""
        self.at = -(-self.at // ALIGNMENT) * ALIGNMENT
        first = len(self.blocks)
        size = min(stride, 4)
        for n in range(count):
            self.blocks.append([Timed(self.at + n * stride, Decoded(size, ControlKind.PLAIN), "nop", Task.ALU)])
        self.at += count * stride
        return list(range(first, len(self.blocks)))

    def _run(self, program: Microbenchmark, loop: list[int]) -> None:
        hops = self._code(program.count, program.stride) if program.family not in ("loads", "passes") else []
        table = self.table
        if program.family in ("loads", "passes", "both", "warm"):
            self.table += -(-program.stride * program.count // ALIGNMENT) * ALIGNMENT
            self._load(table, program, loop)
        for _ in range(program.times):
            self.order += [*loop[:3], *hops]
        if program.family == "both":
            self._load(table, program, loop)

    def _load(self, table: int, program: Microbenchmark, loop: list[int]) -> None:
        for _ in range(program.times):
            for n in range(program.count):
                self.order += loop[3:6]
                self.loads.append((len(self.order) - 1, table + n * program.stride, 4))

    def model(self, programs: Sequence[Microbenchmark], estimate: bool) -> ForwardModel:
        places, addresses, sizes = np.array(self.loads, np.int64).reshape(-1, 3).T
        return ForwardModel(
            tuple(programs),
            np.array([hi - lo for ((lo, hi),) in self.spans], np.float64),
            self.blocks,
            np.array(self.order, np.int32),
            FlashLoads(addresses, sizes, places),
            self.spans,
            lambda reads: [Zone(0, 1 << 24, "flash", reads, reads)],
            estimate,
        )


@dataclass
class OnPaper:
    """Cycles by the same layout with the timing that is to be recovered."""

    truth: Reads
    factor: float = 1.0
    noise: float = 0.0
    estimate: bool = False
    model: ForwardModel | None = None
    title: str = "paper"

    def trace(self, programs: Sequence[Microbenchmark], target: Target) -> ForwardModel:
        self.model = Layout(programs).model(programs, self.estimate)
        return self.model

    def steps(self, firmware: Firmware, inputs: Sequence[bytes] = ()) -> list[int]:
        assert self.model is not None
        cycles = self.factor * self.model.core + self.model.waits(self.truth)
        random = np.random.default_rng(0).standard_normal(len(cycles))
        return [round(n) for n in (cycles * (1 + self.noise * random)).tolist()]


TRUTHS = {
    "an STM32L4 at 80 MHz": Reads(4, 8, True, 8, 64, 32),
    "two lines, none for constants": Reads(2, 8, True, 8, 2, 0),
    "a cache of both": Reads(4, 16, True, 16, 64, 0, True, 2),
    "no prefetch": Reads(9, 32, False, 32, 32, 32),
    "no lines at all": Reads(1, 4, False, 4, 1, 0),
    "lines of several reads": Reads(3, 8, False, 16, 16, 0),
    "external flash": Reads(54, 8, False, 8, 128, 0, True),
}


QUICK = ("two lines, none for constants",)
"""What `make test` has time for."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in TRUTHS]
)
def test_timing_is_recovered(name: str) -> None:
    truth = TRUTHS[name]
    paper = OnPaper(truth)
    fit = fit_memory(paper, TARGET, trace=paper.trace)
    assert fit.error < 1e-6 and set(fit.families) == set(FAMILIES)
    assert (fit.reads.miss, fit.reads.line_bytes, fit.reads.prefetch) == (truth.miss, truth.line_bytes, truth.prefetch)
    assert fit.reads.code_lines == truth.code_lines and fit.reads.shared_lines == truth.shared_lines
    assert fit.reads.data_lines == truth.data_lines and fit.reads.ways == truth.ways
    assert fit.reads.keeps_data or fit.reads.wait_states == truth.wait_states


@pytest.mark.slow
def test_noise_is_stated_as_an_error() -> None:
    truth = TRUTHS["an STM32L4 at 80 MHz"]
    paper = OnPaper(truth, noise=0.01)
    fit = fit_memory(paper, TARGET, trace=paper.trace)
    assert 0.003 < fit.error < 0.02
    assert (fit.reads.miss, fit.reads.line_bytes, fit.reads.code_lines) == (truth.miss, 8, 64)


@pytest.mark.slow
def test_a_core_whose_timing_is_an_estimate_has_a_factor() -> None:
    truth = TRUTHS["no prefetch"]
    paper = OnPaper(truth, factor=1.3, estimate=True)
    fit = fit_memory(paper, TARGET, trace=paper.trace)
    assert (fit.reads.miss, fit.reads.line_bytes) == (truth.miss, truth.line_bytes) and fit.error < 0.01


@pytest.mark.slow
def test_memory_without_waits() -> None:
    paper = OnPaper(Reads())
    assert fit_memory(paper, TARGET, trace=paper.trace).reads.miss == 0


def test_measurements_that_are_missing_are_refused() -> None:
    class Silent(OnPaper):
        def steps(self, firmware: Firmware, inputs: Sequence[bytes] = ()) -> list[int]:
            return [0] * firmware.works

    paper = Silent(Reads())
    with pytest.raises(MoteError, match="without any cycles"):
        fit_memory(paper, TARGET, trace=paper.trace)


def test_programs_are_c_for_either_jump() -> None:
    for jump in ("b", "j"):
        text = source([*first_microbenchmarks(), *line_microbenchmarks(8, 8, 1 << 10)], jump)
        assert text.count("MOTE_TRACE(") == len(first_microbenchmarks()) + len(line_microbenchmarks(8, 8, 1 << 10))
        assert f"{jump} 1f\\n.balign 8\\n" in text and text == source(
            [*first_microbenchmarks(), *line_microbenchmarks(8, 8, 1 << 10)], jump
        )


def test_what_cannot_be_calibrated_is_refused() -> None:
    with pytest.raises(MoteError, match="needs one thing to measure on"):
        mote.calibrate_target("cortex-m4")
    with pytest.raises(MoteError, match="is a cortex-m0plus, and cortex-m4 a cortex-m4"):
        mote.calibrate_target("cortex-m4", emulated="rp2040")
    with pytest.raises(MoteError, match="no microbenchmarks for"):
        mote.calibrate_target("atmega328p", measurer=EmulatedMeasurer(targets.load("atmega328p")))


def test_the_file_states_timing_and_error(tmp_path: Path) -> None:
    fit = MemoryFit(TRUTHS["a cache of both"], 0.0123, {"hops": 0.02}, 40)
    for base in ("cortex-m33", "stm32u575"):
        file = mote.Calibration(base, "the board desk", fit).write(tmp_path / f"{base}-desk.toml")
        target = targets.load(file)
        assert replace(target.code_reads, source="") == fit.reads and "desk" in target.code_reads.source
        assert target.calibrated is not None and target.calibrated.memory_error == pytest.approx(0.0123)
        assert target.calibrated.errors == (("hops", 0.02),)
        assert [m.name for m in target.memories] == [m.name for m in targets.load(base).memories]
    with pytest.raises(MoteError, match=r"must end in \.toml"):
        mote.Calibration("cortex-m33", "desk", fit).write(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("calibration = 3", "must be a table"),
        ("[calibration]\nmemory = 1", "unknown key 'memory'"),
        ("[calibration]\nmemory_error = -1", "number from 0"),
        ("[calibration]\nmeasured = 1", "string that can be printed"),
        ("[calibration]\nerrors = 1", "calibration.errors"),
        ("[calibration.errors]\nhops = inf", "number from 0"),
    ],
)
def test_a_wrong_record_is_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "part.toml"
    file.write_text(f"extends = 'stm32l4r5'\n{text}\n")
    with pytest.raises(MoteError, match=told):
        targets.load(str(file))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("core", "part"),
    [
        ("cortex-m4", "stm32l4r5"),
        ("cortex-m4", "stm32f407"),
        ("cortex-m0plus", "stm32g0b1"),
        ("cortex-m0plus", "rp2040"),
        ("cortex-m33", "stm32u575"),
        ("cortex-m7", "stm32h743"),
        ("rv32imc", "esp32c3"),
    ],
)
def test_emulated_parts_are_recovered_from_their_core(core: str, part: str, tmp_path: Path) -> None:
    emulated(part)
    file = tmp_path / "part.toml"
    assert main(["calibrate-target", "-t", core, "--emulated", part, "-o", str(file)]) == 0
    truth, fitted = targets.load(part).code_reads, targets.load(str(file)).code_reads
    assert replace(fitted, source="") == replace(truth, source="")


@pytest.mark.slow
def test_programs_run_on_a_board_with_an_agent() -> None:
    """An emulated board counts instructions, which say nothing about memory."""
    emulated("cortex-m4")
    with pytest.raises(MoteError, match="counts instructions, not cycles"):
        mote.calibrate_target("cortex-m4", measurer=BoardMeasurer("qemu:cortex-m4"))
