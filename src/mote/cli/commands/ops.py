"""`mote ops`: the operators that Mote compiles, in which types, and how they can run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from mote.api.formats import WHAT, known
from mote.api.operators import HEAD, operators, rows
from mote.cli.common import add_json, bold, print_json, table
from mote.errors import MoteError
from mote.frontends import Format
from mote.frontends.source import TITLES
from mote.text import did_you_mean


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
    if arguments.format != Format.TFLITE:
        return _run_format(Format(arguments.format), arguments)
    by_name = {operator.name: operator for operator in operators()}
    _check(arguments.name, list(by_name), "`mote ops`")
    wanted = [by_name[name] for name in arguments.name or by_name]
    if arguments.json:
        print_json([asdict(operator) for operator in wanted])
        return 0
    print(table(HEAD, rows(wanted), left=len(HEAD)))
    return 0


def _run_format(format: Format, arguments: argparse.Namespace) -> int:
    names = known(format)
    _check(arguments.name, names, f"`mote ops --format {format}`")
    wanted = arguments.name or names
    if arguments.json:
        print_json({"format": format, WHAT.get(format, "operators"): wanted})
        return 0
    print(bold(f"{TITLES[format]}: {len(wanted)} {WHAT.get(format, 'operators')}"))
    print("\n".join(wanted))
    return 0


def _check(names: Sequence[str], known: Sequence[str], listing: str) -> None:
    for name in names:
        if name not in known:
            guess = did_you_mean(name, list(known))
            raise MoteError(f"there is no operator '{name}'", remedy=f"{guess}{listing} lists all")
