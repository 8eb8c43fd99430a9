"""Text file templates of packages, with @KEY@ in place of values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
_KEY = re.compile(r"@([A-Z][A-Z_]*)@")


def filled(template: Path | str, values: Mapping[str, str]) -> str:
    """A template with its keys replaced by values; a plain name is a file in this folder. Keys and values must match
    exactly."""
    text = (HERE / template).read_text(encoding="utf-8")
    keys = set(_KEY.findall(text))
    assert keys == set(values), f"{template}: {sorted(keys ^ set(values))}"
    return _KEY.sub(lambda key: values[key[1]], text)
