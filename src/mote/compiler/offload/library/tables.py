"""Tables of costs and code sizes of a library's functions, in the folder of its backend."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

TABLES = "costs.json"
"""Name of the file with the cycles of a backend's functions."""
CODE = "code.json"
"""Name of the file with bytes of code, measured by `benchmarks/library_code.py`."""


@cache
def tables(package: str, file: str = TABLES) -> Any:
    """Reads a table of the backend in a package."""
    return json.loads((files(package) / file).read_text(encoding="utf-8"))
