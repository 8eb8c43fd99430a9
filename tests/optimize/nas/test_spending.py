"""What a search spends, with counters of energy that are files of the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote.optimize.nas.spending import Spending, SpendingMeter, energy_counters


def zone(root: Path, name: str, microjoules: str) -> Path:
    folder = root / name
    folder.mkdir()
    (folder / "max_energy_range_uj").write_text("9999999\n")
    (folder / "energy_uj").write_text(microjoules)
    return folder / "energy_uj"


def test_packages_are_counted_beyond_the_end_of_a_counter(tmp_path: Path) -> None:
    one, other = zone(tmp_path, "intel-rapl:0", "9000000\n"), zone(tmp_path, "intel-rapl:1", "0\n")
    zone(tmp_path, "intel-rapl:0:0", "5\n")
    zone(tmp_path, "intel-rapl:2", "no number\n")
    meter = SpendingMeter(counters=energy_counters(tmp_path))
    said: list[str] = []
    one.write_text("9500000\n")
    meter.metered(said.append)("half a joule")
    one.write_text("499999\n")
    other.write_text("2000000\n")
    spent = meter.spent()
    assert spent.joules == pytest.approx(3.499999) and said == ["half a joule"]
    assert "Wh" in str(spent)


def test_processor_time_is_counted(tmp_path: Path) -> None:
    meter = SpendingMeter(counters=energy_counters(tmp_path))
    while meter.spent().cpu_seconds < 0.05:
        sum(range(10_000))
    spent = meter.spent()
    assert spent.joules is None and spent.seconds > 0
    assert str(Spending(600, 5400)) == "10 min and 90 min of processor cores"
