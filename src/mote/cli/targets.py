"""`mote targets`: the cores and parts that Mote knows."""

from __future__ import annotations

import argparse

from mote import targets
from mote.cli.common import Subparsers, add_json, print_json, table


def add(commands: Subparsers) -> None:
    p = commands.add_parser("targets", help="list cores and parts", description=__doc__)
    add_json(p)
    p.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    known = [targets.load(name) for name in targets.names()]
    if arguments.json:
        print_json(
            [
                {
                    "name": t.name,
                    "description": t.description,
                    "cpu": t.cpu,
                    "features": sorted(t.features),
                    "clock_hz": t.clock_hz,
                    "flash": t.flash,
                    "ram": t.ram,
                }
                for t in known
            ]
        )
        return 0
    rows = [(t.name, t.description, " ".join(sorted(t.features)), t.flash, t.ram) for t in known]
    print(table(("target", "description", "features", "flash", "RAM"), rows, left=3))
    print('Your own: a .toml file with `extends = "cortex-m4"` and its memories (docs/targets.md).')
    return 0
