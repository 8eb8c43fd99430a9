"""Reads numeric tables from text files of meters: comment header, line of names, rows of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from mote.base.errors import MoteError
from mote.base.text import is_number, printable
from mote.bench.measure.energy.capture import Reals

DELIMITERS = (",", ";", "\t")
UNKNOWN = 2
"""Digit for a digital input of unknown level."""
_HEAD = re.compile(r"[#\s]*([A-Za-z][\w ./()-]*?)\s*[:=]\s*(\S.*?)\s*")
_LEVELS = re.compile(r"[01xX-]{8}")
_CUT = 40
_FAST = 4096
"""Lines converted at once; if one is invalid they are parsed one by one."""


@dataclass(frozen=True)
class TextTable:
    """A table of named numeric columns; empty or unknown cells are NaN."""

    file: str
    head: Mapping[str, str]
    """Header comments of the form `# name: value`, names in lower case."""
    names: tuple[str, ...]
    """Column names; empty if the file has no line of names."""
    rows: Reals


def read_table(file: str, text: str) -> TextTable:
    """Reads a table; errors state the line number."""
    lines = text.splitlines()
    head: dict[str, str] = {}
    for number, line in enumerate(lines):
        bare = line.strip().lstrip("#").strip()
        if not bare:
            continue
        delimiter = _delimiter(bare)
        fields = [field.strip().strip('"') for field in bare.split(delimiter)]
        if is_number(fields[0]):
            return TextTable(file, head, (), _rows(file, lines, number, delimiter, len(fields)))
        comment = line.lstrip().startswith("#") and (delimiter is None or _HEAD.fullmatch(line))
        if len(fields) > 1 and not comment:
            return TextTable(file, head, tuple(fields), _rows(file, lines, number + 1, delimiter, len(fields)))
        if match := _HEAD.fullmatch(line):
            head[match[1].lower()] = match[2]
    raise MoteError("has no rows of numbers", where=file, remedy="export it as CSV with a line of column names")


def _delimiter(line: str) -> str | None:
    """Column delimiter of a line; None for blanks."""
    return next((delimiter for delimiter in DELIMITERS if delimiter in line), None)


def _rows(file: str, lines: Sequence[str], first: int, delimiter: str | None, width: int) -> Reals:
    """Numbers of all lines from one on."""
    parts = []
    numbered = ((n, line) for n, line in enumerate(lines[first:], first + 1) if line.strip())
    while chunk := list(islice(numbered, _FAST)):
        try:
            part = np.loadtxt([line for _, line in chunk], delimiter=delimiter, ndmin=2, comments=None)
            if part.shape != (len(chunk), width):
                raise ValueError
        except ValueError:
            part = np.array([_row(file, n, line, delimiter, width) for n, line in chunk])
        parts.append(part)
    return np.concatenate(parts) if parts else np.zeros((0, width))


def _row(file: str, number: int, line: str, delimiter: str | None, width: int) -> list[float]:
    fields = line.split(delimiter)
    if len(fields) == width + 1 and not fields[-1].strip():
        fields = fields[:-1]
    if len(fields) != width:
        raise MoteError(
            f"has {len(fields)} fields, where the first line has {width}: {_short(line)}",
            where=f"{file}, line {number}",
            remedy="the file may be cut off: export it anew, or remove the line",
        )
    return list(_values(file, number, fields))


def _values(file: str, number: int, fields: Sequence[str]) -> Iterator[float]:
    for field in fields:
        text = field.strip().strip('"')
        if text.lower() in ("", "-", "x", "nan"):
            yield np.nan
        elif _LEVELS.fullmatch(text):
            yield float(re.sub(r"[xX-]", str(UNKNOWN), text))
        else:
            try:
                yield float(int(text, 16)) if text.lower().startswith("0x") else float(text)
            except ValueError:
                raise MoteError(
                    f"{_short(text)} is not a number",
                    where=f"{file}, line {number}",
                    remedy="write numbers with a decimal point, in columns that are separated by commas",
                ) from None


def _short(text: str) -> str:
    return repr(printable(text.strip())[:_CUT])
