"""Long texts of packages are template files, whose keys and values match."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mote.compiler.package
from mote.compiler.package.templates import filled

MOST_LINES = 25
FOLDER = Path(mote.compiler.package.__file__).parent


def long_texts(source: str) -> list[int]:
    """The lines where strings of more than MOST_LINES lines begin."""
    strings = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    )
    return sorted({node.lineno for node in strings if (node.end_lineno or 0) - node.lineno > MOST_LINES})


def test_long_texts_are_files() -> None:
    long = {p.relative_to(FOLDER): long_texts(p.read_text(encoding="utf-8")) for p in FOLDER.rglob("*.py")}
    assert not {path: lines for path, lines in long.items() if lines}


def test_long_texts_are_found() -> None:
    lines = "line\n" * (MOST_LINES + 1)
    assert long_texts(f'x = """\n{lines}"""\n\ny = f"""\n{{x}}{lines}"""\n') == [1, MOST_LINES + 5]
    assert long_texts('x = """\nline\n"""\n') == []


def test_keys_and_values_match(tmp_path: Path) -> None:
    template = tmp_path / "Makefile"
    template.write_text("@NAME@: @FILES@\n\tcc -o $@ @FILES@\n", encoding="utf-8")
    assert filled(template, {"NAME": "all", "FILES": "@NAME@.c"}) == "all: @NAME@.c\n\tcc -o $@ @NAME@.c\n"
    for values in ({"NAME": "all"}, {"NAME": "all", "FILES": "", "FLAGS": ""}):
        with pytest.raises(AssertionError, match=r"FILES|FLAGS"):
            filled(template, values)
