"""Options of the commands that draw a picture."""

from __future__ import annotations

from collections.abc import Callable

from mote.base.files import write_file
from mote.bench.pictures.png import PNG, png
from mote.bench.pictures.svg import SVG
from mote.ui.cli.common import Options


def add_picture(parser: Options, what: str, name: str = "") -> None:
    """Add the option for a picture, `name` of several; `--svg` is its name of old."""
    names = (f"--{name}-picture", f"--{name}-svg") if name else ("--picture", "--svg")
    parser.add_argument(*names, metavar="FILE", help=f"draw {what} into this .svg or .png file")


def write_picture(path: str | None, draw: Callable[[], str]) -> None:
    """Draw into the file that was asked for, if one was: its ending says which format."""
    if path is None:
        return
    if path.lower().endswith(".png"):
        write_file(path, png(draw()), PNG)
    else:
        write_file(path, draw().encode(), SVG)
