"""Validation of values in target files: sizes, numbers, and errors about wrong ones."""

from __future__ import annotations

import re
from collections.abc import Collection
from numbers import Integral
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str | int) -> int:
    """Bytes from `512`, `"24K"` or `"1M"`; K and M are powers of two, as in data sheets."""
    if isinstance(text, Integral) and not isinstance(text, bool) and text >= 0:
        return int(text)
    form = r"\s*([0-9]{1,18})\s*([KMG]?)(?:i?B)?\s*"
    match = re.fullmatch(form, text, re.IGNORECASE | re.ASCII) if isinstance(text, str) else None
    if match is None:
        raise MoteError(f"not a size: {text!r}", remedy="write a number of bytes, or one with K or M: 24K, 1M")
    return int(match[1]) * _UNITS[match[2].upper()]


def is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def cut(value: object) -> str:
    """A wrong value as text for an error message, truncated."""
    return repr(value)[:80]


def bad(path: Path, reason: str, remedy: str = "") -> MoteError:
    return MoteError(reason, where=str(path), remedy=remedy)


def check_keys(path: Path, table: str, keys: Any, known: Collection[str]) -> None:
    """Refuse what is no table with the known keys."""
    if not isinstance(keys, dict):
        raise bad(path, f"'{table}' must be a table: [{table}]")
    for key in keys:
        if key not in known:
            guess = did_you_mean(key, tuple(known))
            raise bad(path, f"in [{table}]: unknown key '{printable(key)}'", f"{guess}there are: {', '.join(known)}")
