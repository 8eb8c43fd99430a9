"""Groups the keywords of a function into a dataclass, so that functions pass one record on instead of many keywords."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from mote.base.errors import MoteError
from mote.base.text import did_you_mean

R = TypeVar("R")


def recorded(record: type[R], keywords: Mapping[str, Any], known: Collection[str]) -> tuple[R, dict[str, Any]]:
    """Splits keywords into the dataclass `record`, made of those that it has fields for, and the rest. Keywords that
    are not in `known` are refused."""
    own = {f.name for f in fields(record)}  # type: ignore[arg-type]
    for name in keywords:
        if name not in known:
            remedy = f"{did_you_mean(name, known)}the options are: {', '.join(sorted(known))}"
            raise MoteError(f"there is no option '{name}'", remedy=remedy)
    made = record(**{name: value for name, value in keywords.items() if name in own})
    return made, {name: value for name, value in keywords.items() if name not in own}
