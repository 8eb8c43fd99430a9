"""Options of a space's stages: valid values, and their order from small to large networks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.optimize.compress.quantize.types.precision import Precision
from mote.optimize.nas.spaces.layers import ACTIVATIONS

OptionValue = int | float | str
Options = OptionValue | Sequence[OptionValue]
"""A fixed value, or several to choose from."""
PRECISIONS = (Precision.INT4, Precision.INT8, Precision.INT16)
POOLS = ("mean", "last", "flatten")
_PAIR = re.compile(r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3})")


@dataclass(frozen=True)
class StageOption:
    """An option of a stage: valid values and their order."""

    takes: str
    """Valid values in words, for error messages."""
    fits: Callable[[Any], bool]
    size: Callable[[Any], Any]
    """Sort key of values, ascending in network size."""
    each: bool = False
    """Whether it is chosen separately for each block of a stage."""
    words: Sequence[str] = ()
    """Valid words, if its values are words."""


def pair(value: OptionValue) -> tuple[int, int]:
    """Parses a size into (rows, columns): 3 is 3 x 3, "5x1" is 5 rows (of time) and 1 column."""
    if isinstance(value, str):
        rows, columns = value.split("x")
        return int(rows), int(columns)
    return int(value), int(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 9999


def _is_size(value: Any) -> bool:
    return _is_count(value) or (isinstance(value, str) and bool(_PAIR.fullmatch(value)))


def _is_ratio(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 64


def _area(value: Any) -> tuple[int, tuple[int, int]]:
    rows, columns = pair(value)
    return rows * columns, (rows, columns)


def _negative_area(value: Any) -> tuple[int, int, int]:
    area, (rows, columns) = _area(value)
    return -area, -rows, -columns


def _word(words: Sequence[str]) -> StageOption:
    return StageOption(
        f"one of {', '.join(words)}", lambda v: isinstance(v, str) and v in words, words.index, words=words
    )


_COUNT = "a whole number of at least 1"
_SIZE = 'a whole number of at least 1, or rows and columns such as "5x1"'
STAGE_OPTIONS = {
    "width": StageOption(_COUNT, _is_count, int),
    "depth": StageOption(_COUNT, _is_count, int),
    "stride": StageOption(_SIZE, _is_size, _negative_area),
    "kernel": StageOption(_SIZE, _is_size, _area, each=True),
    "expand": StageOption("a number above 0", _is_ratio, float, each=True),
    "dilation": StageOption(_SIZE, _is_size, _negative_area, each=True),
    "heads": StageOption(_COUNT, _is_count, int),
    "activation": _word(ACTIVATIONS),
    "precision": _word(PRECISIONS),
    "pool": _word(POOLS),
    "hidden": StageOption("a whole number of at least 0", lambda value: value == 0 or _is_count(value), int),
}


def option_values(name: str, given: Options) -> tuple[OptionValue, ...]:
    """Values of an option, ascending in network size; raises an error for invalid ones."""
    option = STAGE_OPTIONS[name]
    several = listed(name, given)
    for value in several:
        if not option.fits(value):
            near = did_you_mean(value, option.words) if isinstance(value, str) else ""
            raise MoteError(
                f"{name} is {value!r}", remedy=f"{near}give {option.takes}, or a list of such to choose from"
            )
    return tuple(sorted(several, key=option.size))


def listed(name: str, given: Any) -> tuple[Any, ...]:
    """A value or list as a tuple; raises an error for an empty list or duplicates."""
    several = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not several:
        raise MoteError(f"{name} is an empty list", remedy="give a value, or a list of values to choose from")
    twice = [value for number, value in enumerate(several) if value in several[:number]]
    if twice:
        raise MoteError(f"{name} has {twice[0]!r} twice", remedy="give every value once")
    return several
