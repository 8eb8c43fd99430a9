"""The table of networks around a bundled model: what a page says is what the benchmark finds."""

from __future__ import annotations

import re

import pytest

import around

ROW = re.compile(
    r"\| `(?P<name>[^`]+)` \| (?P<test>[\d.]+)% \| [\d.]+% \| (?P<ram>[\d,]+) \| [\d,]+ \| (?P<cycles>[\d,]+) \|"
)


def rows() -> list[dict[str, float]]:
    """The rows of the page: test accuracies, RAM and cycles."""
    text = around.PAGE.read_text(encoding="utf-8").split(around.BEGIN)[1].split(around.END)[0]
    matches = [match for line in text.splitlines() if (match := ROW.match(line))]
    return [{key: float(match[key].replace(",", "")) for key in ("test", "ram", "cycles")} for match in matches]


def test_the_page_begins_with_the_model_and_has_cheaper_ones() -> None:
    given, *others = rows()
    assert len(others) >= 3
    assert all(row["cycles"] < given["cycles"] for row in others)


@pytest.mark.slow
def test_networks_around_digits_are_as_good_and_cheaper() -> None:
    pytest.importorskip("torch", reason="networks are trained in PyTorch")
    result = around.found()
    given, *others = result.members
    told = rows()[0]
    assert (given.costs.ram, given.costs.cycles) == (told["ram"], told["cycles"])
    assert 100 * given.test == pytest.approx(told["test"], abs=0.3)
    assert any(
        m.test > given.test - 0.03 and m.costs.cycles < 0.85 * given.costs.cycles for m in (*others, *result.dominated)
    )
