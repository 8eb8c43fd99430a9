"""What a result declares: its line, the card of a notebook, the rows of a table, and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from pathlib import Path

import pytest

from mote.base.results import ItemTable, Record, Result, filled, plain, shown


@dataclass(frozen=True)
class Side(Record):
    JSON = "*, double"

    name: str
    length: float | None

    @property
    def double(self) -> float | None:
        return None if self.length is None else 2 * self.length


@dataclass(frozen=True, repr=False)
class Square(Result):
    LINE = "{name!r}: {sides!n} sides, {bytes:size}"
    TITLE = "a <{name}>"
    FACTS = "bytes:size, count of {name}=sides!n, empty=note?"
    ROWS = ItemTable("sides", "side=name, length:.2f", title="{sides!n} sides")
    NOTES = "note, notes"
    JSON = "name, size.bytes=bytes, size.sides=sides!n, sides, note?, first=about.first, absent=about.absent"

    name: str
    sides: tuple[Side, ...]
    bytes: int = 20480
    note: str = ""
    notes: tuple[str, ...] = ()

    @property
    def about(self) -> dict[str, int]:
        return {"first": 1}


SQUARE = Square("box", (Side("left", 2.5), Side("top", None)), notes=("is <small>",))


def test_a_result_is_a_line_a_card_and_json() -> None:
    assert repr(SQUARE) == "<Square 'box': 2 sides, 20.0 KiB>"
    assert SQUARE.json() == {
        "name": "box",
        "size": {"bytes": 20480, "sides": 2},
        "sides": [{"name": "left", "length": 2.5, "double": 5.0}, {"name": "top", "length": None, "double": None}],
        "note": None,
        "first": 1,
        "absent": None,
    }
    html = SQUARE._repr_html_()
    assert "<b>a &lt;box&gt;</b>" in html and "<summary>2 sides</summary>" in html and "is &lt;small&gt;" in html
    assert "count of box <b>2</b>" in html and "20.0 KiB" in html and "empty" not in html


def test_columns_have_a_row_for_each_item() -> None:
    assert Square.ROWS is not None and Square.ROWS.head == ("side", "length")
    assert Square.ROWS.rows(SQUARE) == [("left", "2.50"), ("top", None)]


def test_declarations_reach_through_items_and_mappings() -> None:
    assert shown(SQUARE, "sides.name:list, all=sides.length, about.first:04d") == {
        "sides.name": "left, top",
        "all": [2.5, None],
        "about.first": "0001",
    }
    assert shown(SQUARE, "") == {} and filled("{sides.name:list}", SQUARE) == "left, top"
    with pytest.raises(AttributeError):
        shown(SQUARE, "absent")
    with pytest.raises(AssertionError, match="no declaration of a value: a b"):
        shown(SQUARE, "name, a b")


def test_plain_values_are_those_of_json() -> None:
    assert plain({"a": (1, inf, b"\x01", Path("x"), Side("s", -inf))}) == {
        "a": [1, "inf", "01", "x", {"name": "s", "length": "-inf", "double": "-inf"}]
    }
