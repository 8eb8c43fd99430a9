"""`mote cache`: plans, compiled models and objects that are kept, which `--clear` deletes."""

from __future__ import annotations

import argparse

from mote.base import cache
from mote.ui.cli.common import add_json, print_json, show


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("--clear", action="store_true", help="delete all of them")
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    if arguments.clear:
        cache.clear()
    parts = {part: [file.nbytes for file in cache.files_of(cache.root() / part)] for part in cache.PARTS}
    if arguments.json:
        sizes = {part: {"files": len(files), "bytes": sum(files)} for part, files in parts.items()}
        print_json({"folder": str(cache.root()), **sizes})
        return 0
    show(f"{cache.root()}:")
    for part, files in parts.items():
        show(f"  {part}: {len(files):,} files, {sum(files):,} bytes")
    return 0
