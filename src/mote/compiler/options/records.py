"""Records of options: what functions with many keywords hand on instead of all of these."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from mote.base.errors import MoteError
from mote.base.text import did_you_mean

R = TypeVar("R")


def recorded(record: type[R], keywords: Mapping[str, Any], known: Collection[str]) -> tuple[R, dict[str, Any]]:
    """A record (a dataclass) of the keywords that it has fields for, and the other keywords, which are `known`."""
    own = {f.name for f in fields(record)}  # type: ignore[arg-type]
    for name in keywords:
        if name not in known:
            remedy = f"{did_you_mean(name, known)}the options are: {', '.join(sorted(known))}"
            raise MoteError(f"there is no option '{name}'", remedy=remedy)
    made = record(**{name: value for name, value in keywords.items() if name in own})
    return made, {name: value for name, value in keywords.items() if name not in own}
