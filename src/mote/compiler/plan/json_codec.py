"""Immutable data as JSON and back: dataclasses, enums, tuples, mappings, frozen sets, NumPy arrays.

Shared objects (a kernel that many steps call, an array) are written once, to a table, and are shared again after
reading. Only classes of this package are read, by module and name.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np

from mote.base.documents import parse_json

TYPE, REFERENCE = "$type", "$ref"
"""Keys of JSON objects that are not plain mappings: a type's name, or an index in the table."""
PACKAGE = "mote."
MOST_NESTED = 256
"""Depth limit of the document."""


class SerialError(Exception):
    """Raised for text that `dump` does not write."""


def dump(value: object) -> str:
    """Serializes a value to JSON."""
    writer = _Writer()
    root = writer.encode(value)
    return json.dumps({"objects": writer.table, "root": root}, separators=(",", ":"))


def load(text: str) -> object:
    """Deserializes JSON."""
    try:
        document = parse_json(text, MOST_NESTED)
        return _Reader(document["objects"]).decode(document["root"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ImportError) as error:
        raise SerialError(f"this was not written by Mote ({error})") from error


def same(a: object, b: object) -> bool:
    """Whether two values are deeply equal, including types and arrays."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray | np.generic) and isinstance(b, np.ndarray | np.generic):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return a == b


class _Writer:
    def __init__(self) -> None:
        self.table: list[Any] = []
        self.places: dict[int, int] = {}
        """Table indices by `id()`; the objects stay alive while they are written."""

    def encode(self, value: object) -> Any:
        if isinstance(value, Enum):
            return {TYPE: _name(value), "value": value.value}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, tuple):
            return [self.encode(x) for x in value]
        if isinstance(value, frozenset):
            return {TYPE: "frozenset", "items": [self.encode(x) for x in sorted(value)]}
        if isinstance(value, Mapping):
            return {TYPE: "map", "items": [[self.encode(k), self.encode(v)] for k, v in value.items()]}
        if isinstance(value, np.generic):
            return {TYPE: "scalar", **_bytes(np.asarray(value))}
        return self._shared(value)

    def _shared(self, value: object) -> dict[str, int]:
        """Arrays and dataclasses, each written once."""
        if id(value) not in self.places:
            if isinstance(value, np.ndarray):
                entry = {TYPE: "array", **_bytes(value)}
            elif is_dataclass(value):
                entry = {TYPE: _name(value)} | {f.name: self.encode(getattr(value, f.name)) for f in fields(value)}
            else:
                raise TypeError(f"{type(value).__name__} is no plain data")
            self.places[id(value)] = len(self.table)
            self.table.append(entry)
        return {REFERENCE: self.places[id(value)]}


class _Reader:
    def __init__(self, table: list[Any]) -> None:
        self.objects: list[object] = []
        for entry in table:
            self.objects.append(self.decode(entry))

    def decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(self.decode(x) for x in value)
        if not isinstance(value, dict):
            return value
        if REFERENCE in value:
            return self.objects[value[REFERENCE]]
        kind = value[TYPE]
        if kind == "frozenset":
            return frozenset(self.decode(x) for x in value["items"])
        if kind == "map":
            return {self.decode(k): self.decode(v) for k, v in value["items"]}
        if kind == "array":
            return _array(value)
        if kind == "scalar":
            return _array(value)[()]
        cls = _class(kind)
        if issubclass(cls, Enum):
            return cls(value["value"])
        return cls(**{name: self.decode(field) for name, field in value.items() if name != TYPE})


def _bytes(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "data": b64encode(np.ascontiguousarray(array).tobytes()).decode(),
    }


def _array(value: dict[str, Any]) -> np.ndarray[Any, Any]:
    flat = np.frombuffer(b64decode(value["data"]), np.dtype(value["dtype"]))
    return flat.reshape(value["shape"])


def _name(value: object) -> str:
    cls = type(value)
    return f"{cls.__module__}:{cls.__qualname__}"


def _class(name: str) -> type[Any]:
    """The dataclass or enum of this package with a name."""
    module, _, cls = name.partition(":")
    if not module.startswith(PACKAGE):
        raise ValueError(f"'{name}' is no type of Mote")
    named = getattr(import_module(module), cls)
    if not (isinstance(named, type) and (is_dataclass(named) or issubclass(named, Enum))):
        raise ValueError(f"'{name}' is no plain data")
    return named
