"""The documentation quotes what `benchmarks/search.py` has recorded."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "improve" / "architecture-search.md").read_text("utf-8")


def test_the_page_quotes_the_record() -> None:
    rows = json.loads((ROOT / "benchmarks" / "search.json").read_text("utf-8"))
    lines = [
        f"| {r['network']} | {r['test']:.2f}% | {r['validation']:.2f}% | {r['ram']:,} | {r['flash']:,} |"
        f" {r['cycles']:,} | {r['cycles'] * r['runs']:,} |"
        for r in rows
        if r["task"] == "keywords"
    ]
    quoted = PAGE.split("<!-- found -->\n\n")[1].split("\n\n<!-- /found -->")[0]
    assert quoted.splitlines()[2:] == lines
