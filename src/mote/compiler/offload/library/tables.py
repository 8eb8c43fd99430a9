"""Tables of what the functions of a library take, beside the backend that calls them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

TABLES = "costs.json"
"""The file of a backend's cycles."""
CODE = "code.json"
"""The file of its bytes of code, which `benchmarks/library_code.py` measures."""


@cache
def tables(package: str, file: str = TABLES) -> Any:
    """The tables of the backend in a package."""
    return json.loads((files(package) / file).read_text(encoding="utf-8"))
