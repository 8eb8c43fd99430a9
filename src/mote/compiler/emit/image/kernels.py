"""Kernel records: the interfaces of kernels, by which images and runtimes match. A runtime links a fixed set of
kernels; an image names those it needs.

A record describes how a kernel is called, its parameters in order, and its macro instances. It is derived from
`Packed`, without the values of parameters.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mote.compiler.emit.image import format
from mote.compiler.kernels.contract import ALIGNMENT, Call, Fixed, Instance, Packed
from mote.compiler.kernels.structs import Field, kernel_fields


@dataclass(frozen=True)
class KernelRecord:
    """The interface of a kernel."""

    name: str
    headers: tuple[str, ...]
    """Names of the kernel's headers, `mote_<header>.h` in the library."""
    call: Call
    operands: int
    """Number of operands of the kernel's main function."""
    scratch: bool
    """Whether the kernel's functions take working memory."""
    fields: tuple[Field, ...]
    row: str = ""
    rows: str = ""
    row_index: bool = False
    moves: bool = False
    alignment: int = ALIGNMENT
    instances: tuple[Instance, ...] = ()
    fails: bool = False
    """Whether the kernel runs on an accelerator, which may fail."""

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(f"mote_{header}.h" for header in self.headers)

    @cached_property
    def signature(self) -> str:
        """The text that identifies a kernel: its name and parameters, with a star after pointers."""
        return f"{self.name}({','.join(map(str, self.fields))})"

    @cached_property
    def id(self) -> int:
        return zlib.crc32(self.signature.encode())

    @property
    def assembly(self) -> bool:
        """Whether it has assembly that is specialized for one shape."""
        return any(instance.code for instance in self.instances)

    def covers(self, other: KernelRecord) -> bool:
        """Whether this kernel can replace another one: it has at least the same functions and instances."""
        more = replace(self, row=other.row and self.row, rows=other.rows and self.rows, instances=other.instances)
        same = replace(more, row_index=more.row_index and bool(more.row)) == other
        return same and set(other.instances) <= set(self.instances)

    def joined(self, other: KernelRecord) -> KernelRecord:
        """A record that covers two variants of a kernel: not every shape uses all of its functions."""
        union = replace(
            self,
            row=self.row or other.row,
            rows=self.rows or other.rows,
            row_index=self.row_index or other.row_index,
            instances=tuple(dict.fromkeys((*self.instances, *other.instances))),
        )
        defined = [(instance.macro, instance.arguments[0]) for instance in union.instances]
        if not (union.covers(self) and union.covers(other)) or len(set(defined)) < len(defined):
            raise ValueError(f"two kernels have the name {self.name}")
        return union

    def to_json(self) -> dict[str, Any]:
        """The record as JSON for a manifest; defaults are omitted."""
        fields: dict[str, Any] = {
            "name": self.name,
            "id": f"{self.id:08x}",
            "headers": self.headers,
            "call": str(self.call),
            "operands": self.operands,
            "scratch": self.scratch,
            "row": self.row,
            "rows": self.rows,
            "row_index": self.row_index,
            "moves": self.moves,
            "fails": self.fails,
            "alignment": self.alignment,
            "instances": [_instance_json(instance) for instance in self.instances],
            "fields": [f"{f.path} {f.ctype or '*'}" for f in self.fields],
        }
        return {key: value for key, value in fields.items() if value not in ("", False, [])}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> KernelRecord:
        """Parses a record of a manifest; raises TypeError, KeyError or ValueError if it is invalid."""
        return KernelRecord(
            _text(data["name"]),
            _texts(data["headers"]),
            Call(data["call"]),
            int(data.get("operands", 0)),
            bool(data.get("scratch", False)),
            tuple(_field(text) for text in _texts(data.get("fields", []))),
            _text(data.get("row", "")),
            _text(data.get("rows", "")),
            bool(data.get("row_index", False)),
            bool(data.get("moves", False)),
            int(data["alignment"]),
            tuple(_instance(given) for given in data.get("instances", ())),
            bool(data.get("fails", False)),
        )


def _instance_json(instance: Instance) -> dict[str, Any]:
    fields = {"macro": instance.macro, "arguments": list(instance.arguments), "code": list(instance.code)}
    return {key: value for key, value in {**fields, "facts": list(instance.facts)}.items() if value}


def _instance(data: Mapping[str, Any]) -> Instance:
    arguments, facts = (tuple(data.get(key, ())) for key in ("arguments", "facts"))
    if not all(isinstance(value, int | str) for value in (*arguments, *facts)):
        raise TypeError("an argument of a kernel is no number")
    return Instance(_text(data["macro"]), arguments, _texts(data.get("code", [])), facts)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is no text")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        raise TypeError(f"{type(values).__name__} is no list of texts")
    return tuple(map(_text, values))


def _field(text: str) -> Field:
    path, ctype = text.split()
    return Field(path, "" if ctype == "*" else ctype)


def record(packed: Packed) -> KernelRecord:
    """The record of a packed kernel."""
    fields = kernel_fields(packed)
    return KernelRecord(
        packed.name,
        packed.headers,
        packed.entry.call,
        len(packed.entry.operands),
        packed.needs.scratch is not None,
        fields,
        packed.entry.row,
        packed.entry.rows,
        packed.entry.row_index and bool(packed.entry.row),
        packed.entry.moves,
        packed.needs.alignment,
        packed.instances,
        packed.entry.fails,
    )


def merged(records: Iterable[KernelRecord]) -> list[KernelRecord]:
    """One record per kernel, sorted by id."""
    by_id: dict[int, KernelRecord] = {}
    for one in records:
        by_id[one.id] = one.joined(by_id[one.id]) if one.id in by_id else one
    return [by_id[key] for key in sorted(by_id)]


def image_alignment(kernels: Iterable[KernelRecord]) -> int:
    """Alignment in bytes of an image with these kernels, and of the arenas passed to it."""
    return max((format.ALIGNMENT, *(k.alignment for k in kernels)))


ANY = Fixed(lambda packed: "its code would be that of one model" if packed.price.written else "")
"""The set of all kernels except those with code specialized for one model."""
