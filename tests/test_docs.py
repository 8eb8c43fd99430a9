"""Docs that can be held against the code."""

from __future__ import annotations

import re
from pathlib import Path

from mote import targets
from mote.frontends.tflite import variables
from mote.frontends.tflite.ops import PARSERS

ROOT = Path(__file__).parents[1]


def test_operators_are_documented() -> None:
    rows = re.findall(r"^\| ([A-Z0-9_, ]+) \|", (ROOT / "docs" / "operators.md").read_text(), re.MULTILINE)
    assert {name for row in rows for name in row.split(", ")} == {*PARSERS, *variables.CODES}


def test_links_in_docs_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_every_target_loads() -> None:
    assert {targets.load(name).name for name in targets.names()} == set(targets.names())
