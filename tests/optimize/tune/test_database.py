"""The database of costs: a file that several tunings append to, merged by appending, whatever a kill leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.optimize.tune.database import CostDatabase
from mote.optimize.tune.trials import LayerTime


def times(*costs: tuple[str, int]) -> list[LayerTime]:
    return [LayerTime(("1",), "gemm4", "nhwc", "nhwc", True, cycles, key) for key, cycles in costs]


def test_costs_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "costs.jsonl"
    first, second = CostDatabase(path), CostDatabase(path)
    first.add(times(("a", 1), ("", 9)), "cortex-m4", "tools")
    second.add(times(("b", 2)), "cortex-m4", "tools")
    third = CostDatabase(path)
    assert [third.cycles(key) for key in ("a", "b", "", "c")] == [1, 2, None, None] and len(third) == 2
    third.add(times(("a", 7)), "cortex-m4", "tools")
    assert CostDatabase(path).cycles("a") == 1


def test_files_are_merged_by_appending(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    CostDatabase(one).add(times(("a", 1)), "cortex-m4", "tools")
    CostDatabase(other).add(times(("b", 2)), "rv32imc", "tools")
    one.write_bytes(one.read_bytes() + other.read_bytes() + b'{"key": "torn", "res')
    merged = CostDatabase(one)
    assert (merged.cycles("a"), merged.cycles("b"), merged.cycles("torn")) == (1, 2, None)
    merged.add(times(("c", 3)), "cortex-m4", "tools")
    assert CostDatabase(one).cycles("c") == 3


def test_without_a_file() -> None:
    database = CostDatabase()
    database.add(times(("a", 1)), "cortex-m4", "tools")
    assert database.cycles("a") == 1 and len(database) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("something else\n", "is not a journal"),
        ('{"journal": "of a search by Mote", "format": 1}\n{"key": "a", "result": {"cycles": "many"}}\n', "no search"),
        (
            '{"journal": "of a search by Mote", "format": 1}\n'
            '{"key": "a", "result": {"cycles": -1, "kernel": "", "target": "", "tools": ""}}\n',
            "holds -1 cycles",
        ),
    ],
)
def test_other_files(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "costs.jsonl"
    path.write_text(text)
    with pytest.raises(MoteError, match=says):
        CostDatabase(path).cycles("a")
