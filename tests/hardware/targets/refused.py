"""What is said about a target file that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.hardware import targets

M4 = 'extends = "cortex-m4"\n'
READS = f"{M4}[reads]\n"
MEMORY = f'{M4}[[memory]]\nname = "r"\nkind = "ram"\nsize = 1\n'


def error_of(folder: Path, text: str) -> str:
    """The error of loading `bad.toml`, a file of this text."""
    path = folder / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MoteError) as error:
        targets.load(str(path))
    return str(error.value)
