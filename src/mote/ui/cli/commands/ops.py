"""`mote ops`: the operators that Mote compiles, in which types, and how they can run."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from mote.frontends import Format
from mote.frontends.source import TITLES
from mote.ui.api.formats import WHAT
from mote.ui.api.listings import ops
from mote.ui.api.operators import HEAD, Operator, rows
from mote.ui.cli.common import add_json, bold, print_json, table
from mote.ui.cli.table import drop, fold, shorten

FIT = (drop("in place"), drop("streaming"), drop("by rows"), shorten("operator", 28), fold("types", "tuned for"))
"""Columns that a narrow terminal does without, the least important first."""


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("name", metavar="OPERATOR", nargs="*", help="only these (default: all)")
    p.add_argument(
        "--format",
        choices=[str(format) for format in Format],
        default=str(Format.TFLITE),
        help="what is read of another format than TensorFlow Lite, by its own names",
    )
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    format = Format(arguments.format)
    listed = ops(*arguments.name, format=format)
    if format != Format.TFLITE:
        what = WHAT.get(format, "operators")
        if arguments.json:
            print_json({"format": format, what: listed})
            return 0
        print(bold(f"{TITLES[format]}: {len(listed)} {what}"))
        print("\n".join(map(str, listed)))
        return 0
    wanted = [operator for operator in listed if isinstance(operator, Operator)]
    if arguments.json:
        print_json([asdict(operator) for operator in wanted])
    else:
        print(table(HEAD, rows(wanted), left=len(HEAD), fit=FIT))
    return 0
