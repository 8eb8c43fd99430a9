"""`mote targets`: the cores and parts that Mote knows."""

from __future__ import annotations

import argparse

from mote.base.results import as_json
from mote.ui.api.listings import targets
from mote.ui.cli.common import add_json, print_json, show, table
from mote.ui.cli.table import drop, fold


def add(p: argparse.ArgumentParser) -> None:
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    known = targets()
    if arguments.json:
        print_json([as_json(t, "name, description, cpu, features:sorted, clock_hz, flash, ram") for t in known])
        return 0
    rows = [(t.name, t.description, " ".join(sorted(t.features)), t.flash, t.ram) for t in known]
    head = ("target", "description", "features", "flash", "RAM")
    print(table(head, rows, left=3, fit=(drop("features"), drop("flash", "RAM"), fold("description"))))
    show('Your own: a .toml file with `extends = "cortex-m4"` and its memories (docs/compile/targets.md).')
    return 0
