"""Tables that fit the terminal: each command says what its table does without first."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import zip_longest
from typing import Literal

from mote.base.results import ItemTable
from mote.base.text import cut, printable
from mote.ui.cli.terminal import ANSI, dim, folded, lively, seen, width

GAP = "  "
"""The space between two columns."""
NAMES = ("layer", "target", "point", "operator")
"""Heads of the columns of names, which are in colour."""
LEAST = 8
"""Columns below which a text is not cut any more."""


@dataclass(frozen=True)
class Cells:
    """A table as texts: heads, rows, how many columns are aligned left, which ones were left out, and the legend of
    shortened names."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int
    dropped: tuple[str, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    folded: tuple[str, ...] = ()
    """The columns whose texts are folded over several lines."""

    @property
    def widths(self) -> list[int]:
        return [max(map(seen, column)) for column in zip(self.head, *self.rows, strict=True)]

    @property
    def columns(self) -> int:
        return sum(self.widths) + len(GAP) * (len(self.head) - 1)

    def column(self, name: str) -> list[str]:
        return [row[self.head.index(name)] for row in self.rows]

    def with_column(self, name: str, texts: Sequence[str]) -> Cells:
        at = self.head.index(name)
        rows = tuple((*row[:at], text, *row[at + 1 :]) for row, text in zip(self.rows, texts, strict=True))
        return replace(self, rows=rows)


Step = Callable[[Cells, int], Cells]
"""One way to make a table narrower, for the columns that there are."""


def drop(*names: str) -> Step:
    """Leave columns out, all at once: `--wide` shows them."""

    def dropped(cells: Cells, columns: int) -> Cells:
        kept = [i for i, name in enumerate(cells.head) if name not in names]
        gone = tuple(name for name in cells.head if name in names)
        return replace(
            cells,
            head=tuple(cells.head[i] for i in kept),
            rows=tuple(tuple(row[i] for i in kept) for row in cells.rows),
            left=sum(i < cells.left for i in kept),
            dropped=(*cells.dropped, *(name for name in gone if name)),
        )

    return dropped


def alias(name: str, most: int = 20) -> Step:
    """Shorten the names in a column to the words that tell them apart, with a legend below the table."""

    def aliased(cells: Cells, columns: int) -> Cells:
        if name not in cells.head:
            return cells
        texts = cells.column(name)
        short = aliases(texts, most)
        legend = tuple((word, text) for text, word in short.items() if word != text.partition("/")[0])
        return replace(cells.with_column(name, [short[text] for text in texts]), legend=(*cells.legend, *legend))

    return aliased


def shorten(name: str, most: int = LEAST) -> Step:
    """Cut the texts of a column as far as needed, but not below `most` characters."""

    def shortened(cells: Cells, columns: int) -> Cells:
        if name not in cells.head:
            return cells
        at = cells.head.index(name)
        room = max(most, len(name), columns - (cells.columns - cells.widths[at]))
        return cells.with_column(name, [cut(text, room) if "\033" not in text else text for text in cells.column(name)])

    return shortened


def fold(*names: str) -> Step:
    """Fold the texts of columns over several lines, in the room that the others leave."""
    return lambda cells, columns: replace(cells, folded=names)


def table(head: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1, fit: Sequence[Step] = ()) -> str:
    """Columns: the first `left` aligned left, the others right. Numbers get thousands separators. Where it is wider
    than the terminal, the steps of `fit` are taken one after another until it is not."""
    cells = Cells(tuple(head), tuple(tuple(map(cell, row)) for row in rows), left)
    columns = width()
    for step in fit:
        if cells.columns <= columns or cells.folded:
            break
        cells = step(cells, columns)
    return "\n".join([*_lines(cells, columns), *_legend(cells, columns)])


def columns(declared: ItemTable, record: object, fit: Sequence[Step] = ()) -> str:
    """The table that a result declares."""
    return table(declared.head, declared.rows(record), declared.left, fit)


def cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    text = str(value)
    return text if ANSI.search(text) else printable(text)


def aliases(names: Sequence[str], most: int) -> dict[str, str]:
    """A short name for each kernel: its first words, and a number where another one has the same."""
    short: dict[str, str] = {}
    for name in dict.fromkeys(names):
        words = name.partition("/")[0].split("_")
        begins = ("_".join(words[:n]) for n in range(1, len(words) + 1))
        begin = cut(next((text for text in begins if len(text) >= LEAST), "_".join(words)), most)
        numbered = (cut(begin, most - len(number)) + number for number in ("", *(f"~{n}" for n in range(2, 1000))))
        short[name] = next(text for text in numbered if text not in short.values())
    return short


def _lines(cells: Cells, columns: int) -> list[str]:
    widths = cells.widths
    foldable = {i: len(name) for i, name in enumerate(cells.head) if name in cells.folded}
    while foldable and sum(widths) + len(GAP) * (len(widths) - 1) > columns:
        widest = max(foldable, key=lambda i: widths[i])
        if widths[widest] <= max(LEAST, foldable[widest]):
            break
        widths[widest] -= 1
    parts = [
        [folded(text, widths[i], 0) if i in foldable else [text] for i, text in enumerate(row)] for row in cells.rows
    ]
    if lively(sys.stdout):
        return _coloured(cells, widths, parts)

    def line(row: Sequence[str]) -> str:
        padded = [
            text + " " * (w - seen(text)) if i < cells.left else " " * (w - seen(text)) + text
            for i, (text, w) in enumerate(zip(row, widths, strict=True))
        ]
        return GAP.join(padded).rstrip()

    body = [line(row) for texts in parts for row in zip_longest(*texts, fillvalue="")]
    return [line(cells.head), *body]


def _coloured(cells: Cells, widths: Sequence[int], parts: Sequence[Sequence[Sequence[str]]]) -> list[str]:
    """The table in colour: heads bold, names in cyan."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, padding=(0, len(GAP), 0, 0), pad_edge=False, header_style="bold")
    for i, (name, w) in enumerate(zip(cells.head, widths, strict=True)):
        justify: Literal["left", "right"] = "left" if i < cells.left else "right"
        shown.add_column(Text(name), justify=justify, width=w, no_wrap=True, style="cyan" if name in NAMES else "")
    for row in parts:
        shown.add_row(*(Text.from_ansi("\n".join(texts)) for texts in row))
    text = StringIO()
    Console(file=text, force_terminal=True, width=sum(widths) + len(GAP) * len(widths)).print(shown)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def _legend(cells: Cells, columns: int) -> list[str]:
    """Lines that say which kernels short names stand for, and which columns were left out."""
    widest = max((len(short) for short, _ in cells.legend), default=0)
    lines = []
    for short, name in cells.legend:
        line = f"  {short.ljust(widest)} = {name}"
        lines += [line] if len(line) <= columns else [f"  {short} =", f"    {name}"]
    names = ", ".join(dict.fromkeys(cells.dropped))
    lines += folded(f"  --wide adds: {names}", columns) if names else []
    return [dim(line) for line in lines]
