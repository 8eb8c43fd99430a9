"""Shared by the subcommands: options, and what they print."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from mote.ui.cli.table import table as table
from mote.ui.cli.terminal import bold as bold
from mote.ui.cli.terminal import dim as dim
from mote.ui.cli.terminal import green as green
from mote.ui.cli.terminal import progress as progress
from mote.ui.cli.terminal import red as red
from mote.ui.cli.terminal import show as show

Options = argparse.ArgumentParser | argparse._ArgumentGroup
"""An argparse parser, or a group of its options."""


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the options for what is printed."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--wide", action="store_true", help="print all columns of tables and whole lines, however wide the terminal is"
    )


def add_number(
    parser: Options,
    name: str,
    default: float,
    help: str,
    *,
    kind: Callable[[str], float] = int,
    metavar: str | None = "N",
) -> None:
    """Add an option for a number, whose line of help ends with the default."""
    parser.add_argument(name, type=kind, default=default, metavar=metavar, help=f"{help} (default: {default:g})")


def fields_of(record: type, arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that are fields of a record (a dataclass), by name."""
    given = vars(arguments)
    return {f.name: given[f.name] for f in fields(record) if f.name in given}


def named(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Options as keywords of a function, by the names that both have."""
    return {name: getattr(arguments, name) for name in names}


def duration(seconds: float) -> str:
    """A time as a person reads it."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2))
