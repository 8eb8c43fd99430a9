"""`mote doctor`: which compilers, emulators and optional packages are found, and how to get the others."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from mote import toolchain
from mote.cli.common import add_json, green, print_json, red, show

INDENT = 9
"""Columns in front of where a tool is, or of how to get it."""


def add(p: argparse.ArgumentParser) -> None:
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    findings = toolchain.doctor()
    if arguments.json:
        print_json([asdict(f) for f in findings])
        return 0
    width = max(len(f.name) for f in findings)
    for f in findings:
        mark = green("found  ") if f.found else red("missing")
        show(f"{mark}  {f.name.ljust(width)}  {f.purpose}", INDENT)
        show(" " * INDENT + (f.detail if f.found else f.remedy), INDENT)
    return 0
