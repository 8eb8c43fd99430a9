"""Tables of costs: recovered from layers whose costs are known, and written beside a target's file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import mote
import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.compiler.firmware import Firmware
from mote.compiler.kernels import cost
from mote.hardware.targets import Reads
from mote.optimize.tune.calibration.board_costs import BoardCore, CostFit
from mote.optimize.tune.calibration.cost_fit import (
    CostCore,
    CostSample,
    CostTables,
    fit,
    measure_model,
    merged,
    table_text,
)
from mote.optimize.tune.calibration.cost_layers import CostLayer
from mote.optimize.tune.calibration.measurer import EmulatedMeasurer
from mote.optimize.tune.calibration.memory_fit import MemoryFit
from tests.helpers.support import emulated

TRUTH = {"product": 1.25, "output": 14.0, "row": 90.0, "call": 250.0}
MEMORY = MemoryFit(Reads(5, 8, True, 8, 128, 32), 0.01, {"hops": 0.01}, 40)


def samples(noise: float = 0.0, family: str = "conv2d") -> list[CostSample]:
    """Layers of random sizes, whole and by rows, with the costs of `TRUTH` and 40 cycles more for a row by rows."""
    random = np.random.default_rng(0)
    made = []
    for n in range(30):
        rows, outputs, products = random.integers((2, 100, 3000), (30, 5000, 200_000)).tolist()
        amounts = {"product": float(products), "output": float(outputs), "row": float(rows), "call": 1.0}
        cycles = sum(TRUTH[name] * amount for name, amount in amounts.items())
        for by_rows in (0, 1):
            taken = (cycles + 40 * rows * by_rows) * (1 + noise * random.standard_normal())
            made.append(CostSample(family, (), f"layer {n}", "kernel", by_rows, amounts, round(taken), products // 4))
    return made


def test_costs_are_recovered() -> None:
    tables = fit(samples(), CostTables({}, {}, {}))
    assert tables.cycles["conv2d"] == pytest.approx(TRUTH, rel=0.01)
    assert tables.cycles[cost.BY_ROWS]["row"] == pytest.approx(40.0)
    assert tables.reads["conv2d"]["product"] == pytest.approx(0.25, rel=0.01)


def test_costs_of_other_families_are_kept() -> None:
    known = CostTables({"mean": {"input": 3.0}, cost.BY_ROWS: {"row": 40.0}}, {"mean": {"input": 1.0}}, {})
    tables = fit(samples(0.02), known)
    assert tables.cycles["mean"] == {"input": 3.0} and tables.cycles["conv2d"]["product"] == pytest.approx(
        1.25, rel=0.05
    )


def test_of_several_measurements_of_a_layer_the_most_counts() -> None:
    slow, fast = (s := samples()[0]), samples()[0]._replace(cycles=s.cycles - 10)
    assert merged([fast, slow, fast]) == [slow]


def test_a_table_beside_the_file_is_read_back(tmp_path: Path) -> None:
    table = table_text(fit(samples(), CostTables({}, {}, {})), "gcc, the board desk")
    costs = CostFit(table, 0.043, {"conv2d": 0.03}, 60)
    file = mote.Calibration("cortex-m4", "the board desk", MEMORY, costs).write(tmp_path / "desk.toml")
    target = targets.load(file)
    assert Path(target.costs) == tmp_path / "desk.json"
    assert cost.load(target.costs).families["conv2d"] == pytest.approx(TRUTH, rel=0.01)
    assert target.calibrated is not None and target.calibrated.cost_error == pytest.approx(0.043)
    assert dict(target.calibrated.errors) == {"hops": 0.01, "conv2d": 0.03}


@dataclass(frozen=True)
class Deaf:
    """A board that loses steps."""

    title: str = "a board"

    def steps(self, firmware: Firmware, inputs: Sequence[bytes] = ()) -> list[int]:
        return []


LAYERS = [CostLayer("FULLY_CONNECTED", (1, 1), 64, 12)]


@pytest.mark.slow
def test_costs_without_waits_are_those_of_the_core() -> None:
    """An emulated STM32L4R5 waits for its flash; what is left without waits is what the plain core takes."""
    part, core = targets.load(emulated("stm32l4r5")), targets.load("cortex-m4")
    board = BoardCore(name=core.name, target=core, measurer=EmulatedMeasurer(part), reads=part.code_reads)
    assert measure_model(board, LAYERS) == measure_model(CostCore("cortex-m4"), LAYERS)
    with pytest.raises(MoteError, match="measured 0 steps of"):
        measure_model(replace(board, measurer=Deaf()), LAYERS)
