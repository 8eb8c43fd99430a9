"""The generated C as a reader wants it: long tables of numbers shortened, and definitions found by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

SHOWN = 3
"""Lines of numbers of a table that are shown."""
LONGEST = 8
"""Lines of a function's head."""
_TABLE = re.compile(r"\nstatic const (\w+) \w+\[(\d+)\][^\n]* = \{\n")
"""The head of a table; a literal at its beginning, so that megabytes of numbers are searched fast."""
_NUMBER = re.compile(r"-?\b\d[\w.]*")
_CONSTANT = re.compile(r"^static (?:const )?[\w ]+?\b(\w+)(?:\[\w*\])?[^;(]*(?:\([^)]*\))* = \{$")
_STRUCT_END = re.compile(r"^\} (\w+);$")
_MACRO = re.compile(r"^#define (\w+)\(")
_HEAD = re.compile(r"^[\w *]+[ *](\w+)\(")
_WORD = re.compile(r"\b[A-Za-z_]\w+")
_BYTES = {"int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int64_t": 8, "uint64_t": 8}


def shortened(text: str) -> str:
    """C with the first lines of long tables only, and how many values and bytes a table has."""
    pieces, begin = [], 0
    for head in _TABLE.finditer(text):
        end = text.find("\n};", head.end()) + 1
        shown = head.end()
        for _ in range(SHOWN):
            shown = text.find("\n", shown, end) + 1 or end
        if text.count("\n", shown, end) > 1:
            ctype, count = head[1], int(head[2])
            nbytes = _nbytes(ctype, count, text[head.end() : end])
            said = [f"{count:,} elements", *([] if nbytes is None else [f"{nbytes:,} bytes"])]
            pieces += [text[begin:shown], f"    /* and so on: {', '.join(said)} */\n"]
            begin = end
    return "".join([*pieces, text[begin:]])


def _nbytes(ctype: str, count: int, body: str) -> int | None:
    """Bytes of a table of numbers, or of structs of 32-bit numbers; None of other ones."""
    if "{" in body:
        return None if _WORD.search(body) else 4 * len(_NUMBER.findall(body))
    return _BYTES.get(ctype, 4) * count


@dataclass(frozen=True)
class LineSpan:
    """Lines of a file, from the first one (counted from 0) to before the last."""

    file: str
    first: int
    last: int


@dataclass(frozen=True)
class Listing:
    """Files of a project with shortened tables, and where each name is defined."""

    files: Mapping[str, str]
    rows: Mapping[str, Sequence[str]]
    """Their lines."""
    places: Mapping[str, LineSpan]

    @staticmethod
    def of(files: Mapping[str, str]) -> Listing:
        cut = {name: shortened(text) for name, text in files.items()}
        rows = {name: text.split("\n") for name, text in cut.items()}
        places: dict[str, LineSpan] = {}
        for file, lines in rows.items():
            for name, first, last in _definitions(lines):
                places.setdefault(name, LineSpan(file, _with_comment(lines, first), last))
        return Listing(cut, rows, places)

    def words(self, places: Iterable[LineSpan]) -> list[str]:
        """All names in some places, in order."""
        rows = (row for place in places for row in self.rows[place.file][place.first : place.last])
        return list(dict.fromkeys(word for row in rows for word in _WORD.findall(row)))

    def whole(self, file: str) -> LineSpan:
        return LineSpan(file, 0, len(self.rows[file]))

    def find(self, file: str, text: str) -> LineSpan | None:
        """Where a text is that begins and ends with a line."""
        whole = self.files[file]
        at = whole.find(f"\n{text}\n")
        first = whole.count("\n", 0, at + 1)
        return None if at < 0 else LineSpan(file, first, first + text.count("\n") + 1)


def _definitions(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Names of constants, functions, types and macros, with the first line of each, and the one behind its last."""
    struct = 0
    for i, line in enumerate(lines):
        if macro := _MACRO.match(line):
            yield macro[1], i, next((k + 1 for k in range(i, len(lines)) if not lines[k].endswith("\\")), len(lines))
        elif line.startswith(("typedef struct", "typedef union")):
            struct = i
        elif end := _STRUCT_END.match(line):
            yield end[1], struct, i + 1
        elif constant := _CONSTANT.match(line):
            yield constant[1], i, _closed(lines, i, "};")
        elif _HEAD.match(line) and not line.startswith("typedef"):
            yield from _function(lines, i)


def _function(lines: Sequence[str], i: int) -> Iterator[tuple[str, int, int]]:
    """The function whose head begins in a line, if there is one: before its brace there is no semicolon."""
    for k in range(i, min(i + LONGEST, len(lines))):
        head, brace, _ = lines[k].partition("{")
        if ";" in head or lines[k].startswith("#"):
            return
        if brace:
            name = _HEAD.match(" ".join(lines[i : k + 1]))
            if name and " = " not in head:
                yield name[1], i, k + 1 if lines[k].endswith("}") else _closed(lines, k, "}")
            return


def _closed(lines: Sequence[str], i: int, end: str) -> int:
    return next((k + 1 for k in range(i, len(lines)) if lines[k] == end), i + 1)


def _with_comment(lines: Sequence[str], first: int) -> int:
    """The first line of the comment right above a definition, if there is one."""
    if first and lines[first - 1].endswith("*/"):
        for k in range(first - 1, -1, -1):
            if lines[k].startswith("/*"):
                return k
            if not lines[k].startswith(" "):
                break
    return first
