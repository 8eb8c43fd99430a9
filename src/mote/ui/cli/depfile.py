"""`--depfile` of `mote compile`: the files that a compiled model depends on, for build systems."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

import mote
import mote.hardware.targets as targets
from mote.base.files import read_file, write_file
from mote.base.text import printable
from mote.frontends.data.readers.folders import address
from mote.frontends.detection import files_beside

NAMED = ("model", "plugin", "calibrate", "labels", "encrypt", "pins")
"""Options whose values are files or folders."""


def add_depfile(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--depfile",
        metavar="FILE",
        help="write the files that the result depends on, Mote's own included, as a rule of make",
    )


def files_read(arguments: argparse.Namespace) -> list[Path]:
    """All files that the options name, files that those refer to, and the files of Mote."""
    return sorted({path.absolute() for path in (*_named(arguments), *targets.sources(arguments.target), *_own())})


def write_depfile(path: str, made: Path, files: Iterable[Path]) -> None:
    """Writes a rule of make: what was made, and the files that it depends on."""
    rule = " \\\n  ".join([f"{_escaped(made.absolute())}:", *map(_escaped, files)])
    write_file(path, f"{rule}\n".encode(), b"")


def _named(arguments: argparse.Namespace) -> Iterator[Path]:
    given = vars(arguments)
    for name in NAMED:
        values = given.get(name) or []
        for value in [values] if isinstance(values, str) else values:
            yield from _inside(Path(value))
    if given.get("train_data"):
        yield from _inside(address(given["train_data"])[0])
    for model in map(Path, arguments.model):
        if model.is_file():
            yield from (model.parent / name for name, *_ in files_beside(read_file(model), model.parent))
    yield from (Path(text.rpartition("=")[2]) for text in arguments.constants if text.endswith(".npy"))


def _inside(path: Path) -> list[Path]:
    """A file, or a folder with all that is in it."""
    return [path, *path.rglob("*")] if path.is_dir() else [path]


def _own() -> list[Path]:
    """The files of Mote, with which its results may change."""
    files = Path(mote.__file__).parent.rglob("*")
    return [path for path in files if path.is_file() and "__pycache__" not in path.parts]


def _escaped(path: Path) -> str:
    text = path.as_posix().replace("$", "$$")
    return printable(text).replace(" ", "\\ ").replace("#", "\\#")
