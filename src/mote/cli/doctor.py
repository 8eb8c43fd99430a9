"""`mote doctor`: which compilers, emulators and optional packages are found, and how to get the others."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from mote import toolchain
from mote.cli.common import Subparsers, add_json, green, print_json, red


def add(commands: Subparsers) -> None:
    p = commands.add_parser("doctor", help="check compilers, emulators and packages", description=__doc__)
    add_json(p)
    p.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    findings = toolchain.doctor()
    if arguments.json:
        print_json([asdict(f) for f in findings])
        return 0
    width = max(len(f.name) for f in findings)
    for f in findings:
        mark = green("found  ") if f.found else red("missing")
        print(f"{mark}  {f.name.ljust(width)}  {f.purpose}: {f.detail if f.found else f.remedy}")
    return 0
