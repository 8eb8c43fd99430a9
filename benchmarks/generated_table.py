"""Tables of documentation that follow from the program: each is printed, or written between two marks of its page."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Page:
    """A page, and the marks that its table stands between."""

    path: Path
    begin: str
    end: str

    def with_table(self, table: str) -> str:
        """The text of the page with that table."""
        before, rest = self.path.read_text(encoding="utf-8").split(self.begin)
        return f"{before}{self.begin}\n{table}\n{self.end}{rest.split(self.end)[1]}"

    def run(self, table: str, about: str | None) -> None:
        """The command that prints the table, and writes the page where that is asked for."""
        p = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
        p.add_argument("--write", action="store_true", help="write the page")
        if p.parse_args().write:
            self.path.write_text(self.with_table(table), encoding="utf-8")
        print(table)
