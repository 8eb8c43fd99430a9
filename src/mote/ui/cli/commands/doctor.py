"""`mote doctor`: what Mote can do here, what is missing for the rest, and how many megabytes that takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from mote.bench.doctor import Diagnosis, Finding, doctor, purpose_names
from mote.ui.cli.common import add_json, bold, green, print_json, red, show


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--for",
        dest="purposes",
        action="append",
        default=[],
        choices=purpose_names(),
        metavar="PURPOSE",
        help="only this purpose, with its tools; the exit status is 1 where it is not ready; repeatable",
    )
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    result = doctor(*arguments.purposes)
    print_json(result.json()) if arguments.json else print_text(result, tools=bool(arguments.purposes))
    return 1 if arguments.purposes and not result.ready else 0


def print_text(result: Diagnosis, *, tools: bool) -> None:
    width = max(len(purpose.name) for purpose in result.purposes)
    indent = width + len("missing") + 4
    for purpose in result.purposes:
        mark = green("ready  ") if purpose.ready else red("missing")
        here = f" ({', '.join(dict.fromkeys(purpose.tools))})" if purpose.tools and not tools else ""
        show(f"{mark}  {purpose.name.ljust(width)}  {purpose.purpose}{here}", indent)
        for group in purpose.install:
            show(" " * indent + ", or ".join(map(str, group)), indent)
    if tools:
        show(bold("tools"))
        _print_tools(result.tools)
    missing = [purpose.name for purpose in result.purposes if not purpose.ready]
    if missing and not tools:
        show(f"{len(missing)} of {len(result.purposes)} need more: `mote doctor --for PURPOSE` shows its tools")


def _print_tools(tools: Sequence[Finding]) -> None:
    width = max(len(tool.name) for tool in tools)
    for tool in tools:
        mark = green("found  ") if tool.found else red("missing")
        show(f"{mark}  {tool.name.ljust(width)}  {tool.detail or tool.purpose}", width + len("missing") + 4)
