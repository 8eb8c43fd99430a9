"""The output that docs quote, as the commands print it today.

    python benchmarks/quotes.py             # which quotes are not what the command prints
    python benchmarks/quotes.py --update    # put what it prints into the pages

A quote is a fenced block that begins with `$ mote ...` on a bundled model. The tests run the same commands.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from mote.ui.cli import main as mote

ROOT = Path(__file__).parents[1]
COLUMNS = "80"
"""The width of the terminal that quotes are from."""
UPDATE = "python benchmarks/quotes.py --update"
BLOCK = re.compile(r"^```\n\$ mote (?P<command>[^\n]*models/[^\n]*)\n(?P<said>.+?)^```$", re.MULTILINE | re.DOTALL)


class Quote(NamedTuple):
    """A command and what a page says that it prints."""

    page: Path
    command: str
    said: str

    def __str__(self) -> str:
        return f"{self.page.name}: mote {self.command}"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--update", action="store_true", help="write the pages")
    update = p.parse_args().update
    for quote in quotes():
        found = printed(quote.command)
        if found == quote.said:
            continue
        print(quote)
        if update:
            text = quote.page.read_text(encoding="utf-8")
            head = f"$ mote {quote.command}\n"
            quote.page.write_text(text.replace(head + quote.said, head + found, 1), encoding="utf-8")


def quotes() -> Iterator[Quote]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
            if not block["said"].startswith(("```", "$ ")):  # no output: nothing, or one more command
                yield Quote(page, block["command"], block["said"])


def printed(command: str) -> str:
    """What a command prints when it is run in the project's root."""
    said = io.StringIO()
    (ROOT / "build").mkdir(exist_ok=True)  # where commands put what they write
    width = patch.dict(os.environ, {"COLUMNS": COLUMNS})
    with width, contextlib.chdir(ROOT), contextlib.redirect_stdout(said):
        status = mote(shlex.split(command))
    if status != 0:
        raise SystemExit(f"mote {command} ended with {status}")
    return said.getvalue()


if __name__ == "__main__":
    main()
