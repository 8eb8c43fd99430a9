"""What fits a terminal: folded lines, tables that leave columns out, colour and progress where there is a terminal."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mote.ui.cli import terminal
from mote.ui.cli.table import alias, aliases, drop, fold, table
from mote.ui.cli.terminal import ANSI, folded, progress, seen, unbroken

WORDS = st.lists(st.text("ab`:", min_size=1, max_size=12), max_size=30).map(" ".join)
HEAD = ("#", "layer", "kernel", "why", "cycles")
ROWS = [
    ("0", "conv2d", "pointwise4x2_pair_nhwc_0_any/armv7em", "fastest of all that fit the layer", 12_345),
    ("1", "dense", "pointwise4x2_pair_planar_0_4_8/armv7em", "only one", 7),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("COLUMNS", "60")
    terminal.settle(wide=False)
    return monkeypatch


@given(WORDS, st.integers(10, 60))
def test_folding_loses_nothing_and_fits(text: str, width: int) -> None:
    lines = folded(text, width)
    assert " ".join(lines).split() == text.split()
    for line in lines:
        assert len(line) <= width or " " not in re.sub("`[^`]*`", "", line.strip())


def test_commands_labels_and_verdicts_stay_whole() -> None:
    assert folded("RAM:   12 bytes of it", 14) == ["RAM:   12", "       bytes", "       of it"]
    assert folded("say `mote plan x` now", 12) == ["say", "  `mote plan x`", "  now"]
    assert folded(f"so: {unbroken('equal bit for bit')}", 12) == ["so:", "    equal bit for bit"]


def test_a_table_does_without_columns_until_it_fits(columns: pytest.MonkeyPatch) -> None:
    fit = (alias("kernel", 16), drop("cycles"), fold("why"))
    assert table(HEAD, ROWS, 4, fit).splitlines() == [
        "#  layer   kernel          why",
        "0  conv2d  pointwise4x2    fastest of all that fit the layer",
        "1  dense   pointwise4x2~2  only one",
        "  pointwise4x2   = pointwise4x2_pair_nhwc_0_any/armv7em",
        "  pointwise4x2~2 = pointwise4x2_pair_planar_0_4_8/armv7em",
        "  --wide adds: cycles",
    ]
    columns.setenv("COLUMNS", "46")
    folded_rows = table(HEAD, ROWS, 4, fit).splitlines()
    assert folded_rows[1:3] == ["0  conv2d  pointwise4x2    fastest of all that", " " * 27 + "fit the layer"]
    terminal.settle(wide=True)
    assert max(map(len, table(HEAD, ROWS, 4, fit).splitlines())) > 80
    terminal.settle(wide=False)


@given(st.lists(st.text("ab_/0", max_size=30), max_size=8))
def test_aliases_are_unique_and_short(names: list[str]) -> None:
    short = aliases(names, 16)
    assert set(short) == set(names) and len(set(short.values())) == len(short)
    assert all(len(name) <= 16 for name in short.values())


@pytest.mark.parametrize(
    ("variable", "value", "coloured"), [("TERM", "xterm", True), ("TERM", "dumb", False), ("NO_COLOR", "1", False)]
)
def test_colour_is_for_terminals(variable: str, value: str, coloured: bool, columns: pytest.MonkeyPatch) -> None:
    columns.setattr("sys.stdout", Terminal())
    for name, usual in (("TERM", "xterm"), ("NO_COLOR", "")):
        columns.setenv(name, usual)
    columns.setenv(variable, value)
    shown, red = table(HEAD, ROWS, 4, (drop("kernel"),)), terminal.red("off by one")
    assert bool(ANSI.search(shown)) == bool(ANSI.search(red)) == coloured and seen(red) == 10
    columns.setattr("sys.stdout", io.StringIO())
    assert ANSI.sub("", shown) == table(HEAD, ROWS, 4, (drop("kernel"),))


def test_progress_counts_on_a_terminal(columns: pytest.MonkeyPatch) -> None:
    columns.setenv("TERM", "xterm")
    columns.setattr("sys.stderr", Terminal())
    with progress("exploring") as say:
        say("planning least...")
        say("measured plan 3 of 1,024...")
        shown = terminal.sys.stderr
    assert isinstance(shown, Terminal) and "exploring" in (told := ANSI.sub("", shown.getvalue()))
    assert "measured plan" in told and "3 of 1,024" in told


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_no_progress_elsewhere(stream: io.StringIO, columns: pytest.MonkeyPatch) -> None:
    columns.setenv("TERM", "dumb")
    columns.setattr("sys.stderr", stream)
    with progress("exploring") as say:
        say("3 of 10")
    assert stream.getvalue() == ""
