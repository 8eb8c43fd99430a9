"""Images of `mote pack` as inputs of commands that take models."""

from __future__ import annotations

import argparse


def add_runtime(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runtime",
        metavar="DIR",
        help="for a .mote file: the runtime that it was packed for, written by `mote runtime` (default: the"
        " stock runtime)",
    )
