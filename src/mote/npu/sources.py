"""C sources of the checker that firmware runs before it hands a command stream to the driver."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

CHECK = "mote_npu_check"
"""The name of the checker's files."""


@cache
def check_files() -> dict[str, str]:
    """The checker's header and source by name."""
    folder = files("mote.npu") / "c"
    return {name: (folder / name).read_text(encoding="utf-8") for name in (f"{CHECK}.h", f"{CHECK}.c")}
