"""Tables as text (CSV): a row for each sample, with commas, semicolons or tabs between the columns."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

import numpy as np

from mote.base.errors import MoteError, TooLargeError
from mote.base.text import did_you_mean, is_number, printable
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.data.readers.arrays import MOST, ONE
from mote.frontends.data.readers.npz import LABELS, pair
from mote.ir.graph.tensor import Array

SEPARATORS = ",;\t"
USUAL = (*LABELS, "class", "species", "category")
"""The usual names of columns of labels."""


@dataclass(frozen=True)
class _Table:
    where: str
    names: tuple[str, ...]
    """The column names from the first row; their numbers, where it has none."""
    named: bool
    rows: Sequence[Sequence[str]]
    first: int
    """The line of the file that the first row is."""


def read_table(path: Path, inputs: str = "", labels: str = "") -> Dataset:
    """The columns that `inputs` names as samples, else all but the labels; the column that `labels` names as labels,
    else the one with a usual name, or the only one that holds no numbers. Columns have names, or numbers from 0."""
    table = _parsed(_text(path), str(path))
    marked = _column(table, labels) if labels else _usual_labels(table)
    wanted = [_column(table, name.strip()) for name in inputs.split(",") if name.strip()]
    wanted = wanted or [column for column in range(len(table.names)) if column != marked]
    if not wanted:
        raise MoteError("has no column beside its labels", where=table.where, remedy="give samples")
    samples = np.stack([_numbers(table, column) for column in wanted], 1)
    dataset = pair({ONE: samples}, None if marked is None else _labels(table, marked), table.where)
    return replace(dataset, columns=tuple(table.names[i] for i in wanted) if table.named else ())


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MOST // 4:
            raise TooLargeError(f"has more than {MOST // 4:,} bytes", where=str(path), remedy="save it as .npz")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise MoteError(f"cannot be read ({error.strerror or error})", where=str(path)) from None
    except UnicodeError:
        raise MoteError("is no text in UTF-8", where=str(path), remedy="save it as CSV in UTF-8") from None


def _parsed(text: str, where: str) -> _Table:
    head = text.partition("\n")[0]
    separator = max(SEPARATORS, key=head.count)
    try:
        lines = csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
        rows = [(lines.line_num, [cell.strip() for cell in row]) for row in lines if row]
    except csv.Error as error:
        raise MoteError(f"is no table ({error})", where=where, remedy="save it as CSV") from None
    if not rows:
        raise MoteError("is empty", where=where, remedy="give a row for each sample")
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            raise MoteError(
                f"line {line} has {len(row)} columns, the first has {width}",
                where=where,
                remedy="give all rows as many",
            )
    cells = [row for _, row in rows]
    if _is_head(cells):
        return _Table(where, tuple(cells[0]), True, cells[1:], rows[1][0])
    return _Table(where, tuple(map(str, range(width))), False, cells, rows[0][0])


def _is_head(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: a word stands above a number somewhere."""
    return len(rows) > 1 and any(not is_number(a) and is_number(b) for a, b in zip(*rows[:2], strict=True))


def _column(table: _Table, name: str) -> int:
    """The column of a name, or of a number: from 0, or from the last one, which is -1."""
    width = len(table.names)
    if name in table.names:
        return table.names.index(name)
    if name.removeprefix("-").isascii() and name.removeprefix("-").isdigit() and -width <= int(name) < width:
        return int(name) % width
    names = ", ".join(printable(n) for n in table.names[:20])
    raise MoteError(
        f"has no column '{printable(name)}'; it has {names}{', ...' if width > 20 else ''}",
        where=table.where,
        remedy=f"{did_you_mean(name, table.names)}name one of them, or its number from 0",
    )


def _usual_labels(table: _Table) -> int | None:
    """The only column with a name that labels usually have, or else the only one of words."""
    usual = [i for i, name in enumerate(table.names) if name.lower() in USUAL]
    words = [i for i, cell in enumerate(table.rows[0]) if not is_number(cell)]
    for candidates in (usual, words):
        if len(candidates) > 1:
            names = ", ".join(printable(table.names[i]) for i in candidates)
            raise MoteError(
                f"has several columns that may be labels: {names}",
                where=table.where,
                remedy="say which are labels and which are inputs: --labels NAME --inputs NAMES",
            )
        if candidates:
            return candidates[0]
    return None


def _numbers(table: _Table, column: int) -> Array:
    try:
        return np.array([float(row[column]) for row in table.rows])
    except ValueError:
        line, cell = next((i, row[column]) for i, row in enumerate(table.rows) if not is_number(row[column]))
        raise MoteError(
            f"column '{printable(table.names[column])}' has '{printable(cell[:40])}' in row {line + 1}, no number",
            where=table.where,
            remedy="leave the column or the row out",
        ) from None


def _labels(table: _Table, column: int) -> Array:
    """Integers and words are classes; floats are regression targets."""
    cells = [row[column] for row in table.rows]
    if not all(map(is_number, cells)):
        return np.array(cells)
    numbers = _numbers(table, column)
    whole = np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all() and np.abs(numbers).max() < 2**53
    return numbers.astype(np.int64) if whole else numbers
