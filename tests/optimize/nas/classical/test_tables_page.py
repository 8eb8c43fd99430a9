"""The table of docs/improve/architecture-search.md: data sets of the benchmark, each within a tenth of the flash."""

from __future__ import annotations

import search_tables
from search_tables import BEGIN, END, HEAD, PAGE, SETS, SHARE


def test_every_model_takes_a_tenth_of_the_flash() -> None:
    head, *rows = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].strip().split("\n| ")
    assert HEAD.startswith(head.split("\n")[0])
    cells = [row.strip("| ").split(" | ") for row in rows if not row.startswith("---")]
    names = [row[0] for row in cells]
    assert names and names == [name for name in SETS if name in names], "python benchmarks/search_tables.py --update"
    for name, _, flash, _, _, found, share, *_ in cells:
        assert float(share.strip("x")) <= SHARE, name
        assert abs(_number(found) / _number(flash) - float(share.strip("x"))) < 0.01, name


def test_rows() -> None:
    outcome = search_tables.Outcome(0.9, 1000, 800, 0.95, 80, "tree")
    assert search_tables.row("iris", [outcome, outcome]) == (
        "| iris | 90.0% | 1,000 | 800 | 95.0% | 80 | 0.080x | 0.100x | tree 2x |"
    )


def _number(text: str) -> float:
    return float(text.replace(",", ""))
