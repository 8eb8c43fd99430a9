"""Images of `mote pack` as inputs of commands that take models."""

from __future__ import annotations

import argparse
from dataclasses import fields

from mote.cli.common import settings
from mote.compiler.settings import Settings
from mote.errors import MoteError
from mote.evaluation.images import LoadedImage, is_image, load_image

STILL = ("target", "optimize", "aligned")
"""Options that mean something for what is planned already."""


def add_runtime(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runtime",
        metavar="DIR",
        help="for a .mote file: the runtime that it was packed for, written by `mote runtime` (default: the"
        " stock runtime)",
    )


def image_of(arguments: argparse.Namespace) -> LoadedImage | None:
    """The image that was given instead of a model, if one was."""
    if not is_image(arguments.model):
        if arguments.runtime:
            raise MoteError("is for images", where="option --runtime", remedy="make one with `mote pack --runtime DIR`")
        return None
    given = settings(arguments)
    usual = Settings(given.target)
    for f in fields(Settings):
        if f.name not in STILL and getattr(given, f.name) != getattr(usual, f.name):
            raise MoteError(
                "cannot be chosen any more: an image is planned already",
                where=f"option {f.name}",
                remedy="omit it, or give the model file",
            )
    return load_image(arguments.model, given, runtime=arguments.runtime)
