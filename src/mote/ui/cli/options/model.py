"""Options of the commands that read a model, and any option of the table (`mote.compiler.settings`) as an argument."""

from __future__ import annotations

import argparse
from typing import Any

from mote.base.option import OptionRow
from mote.frontends import SUFFIXES
from mote.frontends.reading import BESIDE_MODELS, READING
from mote.ui.cli.common import Options, named

EDGES_OF_FILES = (
    "memory layout of image inputs and outputs: channels last (NHWC), as in TFLite (default), or as in the model"
)
"""Help for the layout of what a `.tflite` file is written with."""


def add_row(parser: Options, row: OptionRow, *names: str, **own: Any) -> None:
    """Add an option of the table, called by further names too, with what a command says of it itself."""
    said: dict[str, Any] = {"default": row.default, "help": row.help, "dest": row.name}
    if row.is_flag:
        said["action"] = "store_false" if row.default else "store_true"
    elif row.choices:
        said["choices"] = [choice for choice in row.choices if choice]
    elif row.repeatable:
        said |= {"action": "append", "default": [], "metavar": row.metavar}
    else:
        numbers = {"int": int, "float": float}
        said |= {"metavar": row.metavar, "type": None if row.written else numbers.get(row.type.removesuffix(" | None"))}
    if isinstance(parser, argparse.ArgumentParser):
        titled = (group for group in parser._action_groups if group.title == row.group)
        parser = next(titled, None) or parser.add_argument_group(row.group)
    parser.add_argument(f"--{row.key}", *names, **said | own)


def add_model(parser: argparse.ArgumentParser, count: str | None = None) -> None:
    """The model, or as many as `count` says, and what it may need."""
    parser.add_argument("model", metavar="MODEL", nargs=count, help=f"a model file: {', '.join(SUFFIXES.values())}")
    for name in BESIDE_MODELS:
        add_row(parser, READING[name])
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="Python file to run first, which registers custom operators or kernels (mote.register); repeatable",
    )


def reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """How the model is to be read."""
    return named(arguments, *BESIDE_MODELS)
