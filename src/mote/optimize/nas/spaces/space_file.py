"""Reads search spaces from TOML files, written by users or built in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from mote.base.documents import read_toml
from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.optimize.nas.spaces.space import KINDS, SearchSpace
from mote.optimize.nas.spaces.stage import SpaceHead, SpaceStage

BUILTIN = Path(__file__).parent / "builtin"
_STAGE_KEYS = tuple(f.name for f in fields(SpaceStage))
_HEAD_KEYS = tuple(f.name for f in fields(SpaceHead))
_KEYS = {
    **dict.fromkeys(("name", "about"), (str, "a text")),
    **dict.fromkeys(("stem", "head"), (dict, "a table")),
    "stage": (list, "a list of tables, each written below [[stage]]"),
    "causal": (bool, "true or false"),
    "kinds": (list, f"a list of {', '.join(KINDS)}"),
    **dict.fromkeys(("resolution", "preprocess"), (object, "")),
}
"""Keys of a space file with the types of their values, and these types in words."""
_FIRST = ("mobile", "conv1d", "temporal", "mlp")
"""Default space for each kind of data."""


def read_space(path: str | Path) -> SearchSpace:
    """The network space that a TOML file describes."""
    return space_of(space_table(path), printable(str(path)))


def space_table(path: str | Path) -> dict[str, Any]:
    """The parsed TOML file of a space."""
    return read_toml(path, remedy="a space is a small TOML file: docs/improve/architecture-search.md has examples")


def space_of(table: Mapping[str, Any], where: str) -> SearchSpace:
    """The network space of a parsed TOML file; `where` is the file name for error messages."""
    with located(where):
        _check_keys(table, tuple(_KEYS), "")
        for key, value in table.items():
            wanted, words = _KEYS[key]
            if not isinstance(value, wanted):
                raise MoteError(f"{key} is {shown_value(value)}", remedy=f"it takes {words}")
        name = table.get("name", Path(where).stem)
    stem = table.get("stem")
    stages = [_stage(given, f"{where}: stage {n}") for n, given in enumerate(table.get("stage", ()), 1)]
    with located(f"{where}: head"):
        _check_keys(table.get("head", {}), _HEAD_KEYS, "the head")
        head = SpaceHead(**table.get("head", {}))
    rest = {key: value for key, value in table.items() if key not in ("name", "stem", "stage", "head")}
    with located(where):
        return SearchSpace(
            name, tuple(stages), _stage(stem, f"{where}: stem") if stem is not None else None, head, **rest
        )


def builtin_names() -> tuple[str, ...]:
    """Names of the built-in spaces."""
    return tuple(sorted(path.stem for path in BUILTIN.glob("*.toml")))


@cache
def builtin(name: str) -> SearchSpace:
    """A built-in space by name."""
    names = builtin_names()
    if name not in names:
        remedy = f"{did_you_mean(name, names)}they are {', '.join(names)}; a space of your own is a .toml file"
        raise MoteError(f"there is no space '{printable(name)}'", remedy=remedy)
    return read_space(BUILTIN / f"{name}.toml")


def spaces_for(kind: str) -> tuple[SearchSpace, ...]:
    """Built-in spaces for a kind of data, the most promising first."""
    if kind not in KINDS:
        raise MoteError(
            f"there is no kind of data '{printable(kind)}'", remedy=f"{did_you_mean(kind, KINDS)}use {', '.join(KINDS)}"
        )
    names = dict.fromkeys((*_FIRST, *builtin_names()))
    return tuple(space for space in map(builtin, names) if kind in space.kinds)


def _stage(given: Any, where: str) -> SpaceStage:
    with located(where):
        if not isinstance(given, Mapping):
            raise MoteError(f"is {shown_value(given)}", remedy='write [[stage]] and block = "conv" below it')
        _check_keys(given, _STAGE_KEYS, "a stage")
        if "block" not in given:
            raise MoteError("names no block", remedy='add block = "conv", or another one')
        return SpaceStage(**given)


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], of: str) -> None:
    for key in table:
        if key not in known:
            above = f"{key} is one of the whole space: write it above the first table. " if of and key in _KEYS else ""
            remedy = f"{above or did_you_mean(key, known)}the keys{f' of {of}' if of else ''} are: {', '.join(known)}"
            raise MoteError(f"there is no key '{printable(key)}'", remedy=remedy)


def shown_value(value: Any) -> str:
    """A value as text for error messages."""
    return printable(repr(value)[:60])


@contextmanager
def located(where: str) -> Iterator[None]:
    """Context manager that adds the file name (and part) to errors raised inside."""
    try:
        yield
    except MoteError as error:
        if not error.where.startswith(where):
            error.where = f"{where}: {error.where}" if error.where else where
        raise
