"""The first issues of docs/develop/first-issues.md are open: the page names nothing that is there already."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mote.compiler.package.packagers import PACKAGERS
from mote.frontends.tflite import control, variables
from mote.frontends.tflite.file.schema import OPERATORS
from mote.frontends.tflite.ops import PARSERS
from mote.hardware import targets

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "develop" / "first-issues.md"
DONE = {
    "Boards": set(targets.names()),
    "Operators": {*PARSERS, *control.OPERATORS, *variables.OPERANDS},
    "Packagers": set(PACKAGERS),
}
"""What there is, by section of the page."""


def issues(section: str) -> set[str]:
    """The names in the first cells of the rows of a section that are code."""
    text = PAGE.read_text(encoding="utf-8").split(f"## {section}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (?!---)(.+) \|$", text, re.MULTILINE)[1:]
    return {re.findall(r"`([\w-]+)`", row)[0] for row in rows}


@pytest.mark.parametrize("section", DONE)
def test_they_are_open(section: str) -> None:
    done = issues(section) & DONE[section]
    assert not done, f"{PAGE.name}: remove the rows of what is done: {done}"


def test_there_are_some() -> None:
    assert 4 < sum(len(issues(section)) for section in DONE) <= 10
    assert issues("Operators") <= set(OPERATORS), "TFLite has such operators"


def test_files_that_they_begin_with_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    parts = re.findall(r"`(\w+\.toml)` \|", text)
    folders = re.findall(r"`((?:ir|compiler|frontends)/[\w./]+)`", text)
    assert len(parts) == len(issues("Boards")) and len(folders) > 3
    assert not [name for name in parts if not (ROOT / "src/mote/hardware/targets/parts" / name).is_file()]
    assert not [name for name in folders if not (ROOT / "src/mote" / name).exists()]
