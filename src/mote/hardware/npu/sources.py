"""C sources of the checker that firmware runs before passing a command stream to the driver."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

CHECK = "mote_npu_check"
"""Base name of the checker's files."""
SHARED = "mote_npu_stream.h"
"""Header shared by the checkers of all families."""


@cache
def check_files(family: str) -> dict[str, str]:
    """Headers and source of a family's checker by name; Ethos-U85 has a different source than U55 and U65."""
    folder = files("mote.hardware.npu") / "c"
    source = f"{CHECK}_u85.c" if family == "ethos-u85" else f"{CHECK}.c"
    return {name: (folder / name).read_text(encoding="utf-8") for name in (f"{CHECK}.h", SHARED, source)}
