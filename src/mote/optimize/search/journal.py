"""A journal file of results, from which an interrupted search continues.

Each line is JSON: a result with a key, the digest of everything it depends on. The file is append-only, one write per
line; a kill leaves at most one incomplete line, which is skipped and computed again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, fields, is_dataclass
from enum import Enum
from hashlib import sha256
from inspect import unwrap
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from mote.base.documents import DocumentError, parse_json
from mote.base.errors import MoteError
from mote.base.files import read_file, write_file
from mote.base.stopping import undisturbed
from mote.base.text import printable
from mote.version import __version__

HEAD = b'{"journal": "of a search by Mote", "format": 1}\n'
"""First line of every journal, so that other files are not appended to by mistake."""


_NUMBERS: dict[Any, tuple[type, ...]] = {int: (int,), float: (float, int)}
"""JSON types accepted for numeric types."""


class Journal:
    """Results by key, from this search and earlier ones with the same file."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        if not Path(path).exists():
            write_file(self.path, HEAD, HEAD)
        text = read_file(path)
        if not text.startswith(HEAD):
            raise MoteError(
                "is not a journal of a search", where=self.path, remedy="name a new file, or one that a search has made"
            )
        self._results = dict(_results(text))
        self._torn = not text.endswith(b"\n")

    def __contains__(self, key: str) -> bool:
        return key in self._results

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, key: str) -> Any:
        return self._results[key]

    def read(self, key: str, form: Any = Any) -> Any:
        """Result of a key, parsed as type `form` (see `restored`)."""
        try:
            return restored(self._results[key], form)
        except (TypeError, ValueError):
            raise MoteError(
                f"holds a result that no search writes: {printable(json.dumps(self._results[key])[:80])}",
                where=self.path,
                remedy=f'delete its line, which has "key": "{printable(key[:12])}...", or name a new file',
            ) from None

    def add(self, key: str, name: str, value: Any) -> Any:
        """Appends a result (JSON or dataclass); returns it as a later search would read it."""
        kept = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        line = json.dumps({"key": key, "name": name, "result": kept}).encode() + b"\n"
        self._append(b"\n" + line if self._torn else line)
        self._torn = False
        self._results[key] = json.loads(line)["result"]
        return self._results[key]

    def _append(self, line: bytes) -> None:
        try:
            with undisturbed():
                opened = os.open(self.path, os.O_WRONLY | os.O_APPEND)
                try:
                    if os.write(opened, line) != len(line):
                        raise OSError(None, "the disk is full")
                    os.fsync(opened)
                finally:
                    os.close(opened)
        except OSError as error:
            raise MoteError(
                f"cannot be written ({error.strerror})",
                where=self.path,
                remedy="what it holds is kept: make room, and start the search again with the same journal",
            ) from None


def restored(value: Any, form: Any) -> Any:
    """Parses JSON as a type: None, bool, int, float, str, dict[str, X], a TypedDict, a dataclass, or a union of these;
    other types are not checked. Raises TypeError or ValueError on a mismatch."""
    if isinstance(form, UnionType):
        for one in get_args(form):
            with suppress(TypeError, ValueError):
                return restored(value, one)
        raise TypeError
    if is_typeddict(form) or is_dataclass(form):
        hints = get_type_hints(form)
        if not isinstance(value, dict) or value.keys() != hints.keys():
            raise TypeError
        attributes = {name: restored(value[name], hint) for name, hint in hints.items()}
        return form(**attributes)
    if get_origin(form) is dict:
        if not isinstance(value, dict):
            raise TypeError
        return {name: restored(element, get_args(form)[1]) for name, element in value.items()}
    if form in _NUMBERS or form in (None, NoneType, bool, str):
        kinds = _NUMBERS.get(form, (NoneType if form is None else form,))
        if type(value) not in kinds:
            raise TypeError
        return form(value) if form in _NUMBERS else value
    return value


def returned(function: Callable[..., Any]) -> Any:
    """Annotated return type of a function; Any without one."""
    try:
        return get_type_hints(unwrap(function)).get("return", Any)
    except (NameError, TypeError):
        return Any


def _results(text: bytes) -> Iterator[tuple[str, Any]]:
    """(key, result) of all complete lines after the header."""
    for line in text.splitlines()[1:]:
        try:
            entry = parse_json(line)
        except DocumentError:  # torn: it does not end in a brace, or has another line behind it
            continue
        if isinstance(entry, dict) and isinstance(entry.get("key"), str) and "result" in entry:
            yield entry["key"], entry["result"]


def digest(*parts: Any) -> str:
    """Hash of all parts and Mote's version; parts are bytes, text, numbers, arrays, None, and sequences, mappings, sets
    and dataclasses of them."""
    hashed = sha256()
    for piece in _pieces((__version__, *parts)):
        hashed.update(b"%d:" % len(piece))
        hashed.update(piece)
    return hashed.hexdigest()


def _pieces(part: Any) -> Iterator[bytes]:
    """Unambiguous byte encoding of a value, for hashing."""
    if isinstance(part, Enum):
        part = part.value
    if isinstance(part, bytes):
        yield from (b"bytes", part)
    elif part is None or isinstance(part, bool | int | float | str | np.generic | Path):
        yield from (type(part).__name__.encode(), str(part).encode() if not isinstance(part, float) else _float(part))
    elif isinstance(part, np.ndarray):
        yield from (b"array", str((part.dtype.str, part.shape)).encode(), np.ascontiguousarray(part).tobytes())
    elif is_dataclass(part) and not isinstance(part, type):
        yield from (b"dataclass", type(part).__name__.encode())
        yield from _pieces({f.name: getattr(part, f.name) for f in fields(part) if f.compare})
    elif isinstance(part, Mapping):
        yield from (b"mapping", b"%d" % len(part))
        for key in sorted(part, key=str):
            yield from (*_pieces(key), *_pieces(part[key]))
    elif isinstance(part, set | frozenset):
        yield from (b"set", *_pieces(sorted(part, key=str)))
    elif isinstance(part, tuple | list):
        yield from (b"sequence", b"%d" % len(part))
        for element in part:
            yield from _pieces(element)
    else:
        raise TypeError(f"{type(part).__name__} has no digest")


def _float(value: float) -> bytes:
    """Exact encoding of a float, as its printed form may be rounded."""
    return value.hex().encode()
