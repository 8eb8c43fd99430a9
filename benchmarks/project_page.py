"""The tables of docs/deploy/project.md: every key of a project file, from the program.

PYTHONPATH=src python benchmarks/project_page.py            # print them
PYTHONPATH=src python benchmarks/project_page.py --write    # write the page
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path

from generated_table import Page
from mote.ui.cli import parser
from mote.ui.project.limits import MEASURES, OTHER_KEYS
from mote.ui.project.project_file import OPTIONS, OWN_KEYS

PAGE = Page(Path(__file__).parents[1] / "docs" / "deploy" / "project.md", "<!-- keys -->", "<!-- end of keys -->")


def compile_options() -> dict[str, argparse.Action]:
    """The options of `mote compile` by name."""
    (commands,) = parser("compile")._subparsers._group_actions  # type: ignore[union-attr]
    actions = commands.choices["compile"]._actions  # type: ignore[index, call-overload, union-attr]
    return {name.removeprefix("--"): a for a in actions for name in a.option_strings if name.startswith("--")}


def tables() -> str:
    options = compile_options()
    values = {key: _value(options[key]) for key in sorted(OPTIONS)}
    checks = {key: f"limit: {measure.about}" for key, measure in MEASURES.items()} | OTHER_KEYS
    return "\n\n".join(
        [
            f"### Keys of a model\n\n{_table(OWN_KEYS)}",
            f"### Keys that are options of `mote compile`\n\n{_table(values)}",
            f"### Keys of `check`\n\n{_table(checks)}",
        ]
    )


def _value(option: argparse.Action) -> str:
    """Which values an option takes in a project file."""
    if option.nargs == 0:
        return "true or false"
    if option.choices:
        return ", ".join(f'"{choice}"' for choice in option.choices)
    value = option.metavar or option.dest.upper()
    return f"a list of {value}" if isinstance(option, argparse._AppendAction) else str(value)


def _table(rows: Mapping[str, str]) -> str:
    lines: Iterable[str] = (f"| `{key}` | {about.replace('|', chr(92) + '|')} |" for key, about in rows.items())
    return "\n".join(["| key | |", "|---|---|", *lines])


if __name__ == "__main__":
    PAGE.run(tables(), __doc__)
