"""Target files that extend another target, as fitting tools write them."""

from __future__ import annotations

import os
from pathlib import Path

from mote.base.errors import MoteError


def extending_file(path: str | Path, target: str) -> tuple[Path, str]:
    """Path of the target file to write, and the value of its `extends`: the target's name, or the relative path of its
    file."""
    file = Path(path)
    if file.suffix != ".toml":
        raise MoteError("must end in .toml", where=str(path), remedy="name a target's file, such as part.toml")
    is_file = target.endswith(".toml") or "/" in target
    return file, os.path.relpath(target, file.parent) if is_file else target
