"""Shared by the subcommands: options, and what they print."""

from __future__ import annotations

import argparse
import json
from typing import Any

from mote.frontends import SUFFIXES
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


def add_model(parser: argparse.ArgumentParser, count: str | None = None) -> None:
    """The model, or as many as `count` says, and what it may need."""
    parser.add_argument("model", metavar="MODEL", nargs=count, help=f"a model file: {', '.join(SUFFIXES.values())}")
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1,3,96,96",
        help="shape of an input: where the model leaves it open, or to override it; repeatable",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="compile an input as a constant: one number, comma-separated numbers, or a .npy file; repeatable",
    )
    parser.add_argument(
        "--signature", default="", metavar="NAME", help="signature to compile, for a .tflite file with several"
    )
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="Python file to run first, which registers custom operators or kernels (mote.register); repeatable",
    )


def reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """How the model is to be read."""
    return {"shapes": arguments.shape, "signature": arguments.signature, "constants": arguments.set}


def duration(seconds: float) -> str:
    """A time as a person reads it."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2))
