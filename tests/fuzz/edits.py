"""Edits of a model through the schema. An edit changes one field of one table, by what the field is said to hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from mote.frontends.tflite.file import schema
from mote.frontends.tflite.file.schema import ENUMS, FieldKind, Fields
from tests.fuzz.document import Table, kind_of

Place = tuple[str, Fields, Table]
"""The kind of a table (the field that holds it), its fields, and the table."""

SMALL = (-2, -1, 0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 64)
LARGE = (127, 128, 255, 256, 1000, 4096, 32767, 32768, 65536, 1 << 20, 1 << 24, (1 << 30) + 1)
EXTREME = (-(1 << 31), -65536, -129, (1 << 31) - 2, (1 << 31) - 1)
REALS = (0.0, -0.0, 1e-45, 1e-38, 1e-20, 1e-6, 0.001, 0.003, 0.05, 0.5, 1.0, 2.5, 500.0, 1e6, 1e20, 3e38)
ODD_REALS = (-1.0, float("inf"), float("-inf"), float("nan"))
NAMES = ("", "x", "*/ int x; /*", '"\\n%s%n', "ÄÖ\u2028\x00", "main", "x" * 300)
LIMITS = {
    FieldKind.BOOL: (0, 1),
    FieldKind.INT8: (-128, 127),
    FieldKind.UINT8: (0, 255),
    FieldKind.INT32: (-(1 << 31), (1 << 31) - 1),
    FieldKind.UINT32: (0, (1 << 32) - 1),
    FieldKind.UINT64: (0, (1 << 64) - 1),
    **dict.fromkeys(ENUMS, (-128, 127)),
}
LONGEST = 1 << 16
"""Bytes that a buffer may grow to."""


def edit(rng: Random, model: Table) -> str:
    """Change the model in one place; what was changed. Kinds of tables are as likely as others, however many tables
    of the kind there are."""
    places: dict[str, list[Place]] = {}
    for place in _places("model", schema.MODEL, model):
        places.setdefault(place[0], []).append(place)
    kind, fields, table = rng.choice(places[rng.choice(sorted(places))])
    name = rng.choice(list(fields))
    if name not in table:
        table[name] = _fresh(rng, fields[name].kind)
    elif rng.random() < 0.05:
        del table[name]
    else:
        table[name] = CHANGES.get(fields[name].kind, _number)(rng, fields[name].kind, table[name])
    return f"{kind}.{name}"


def _places(kind: str, fields: Fields, table: Table) -> Iterator[Place]:
    """All tables that have fields."""
    if fields:
        yield kind, fields, table
    for name, field in fields.items():
        if name in table and field.kind in (FieldKind.TABLE, FieldKind.TABLES):
            for child in table[name] if field.kind is FieldKind.TABLES else [table[name]]:
                yield from _places(name, kind_of(name, table), child)


def _fresh(rng: Random, kind: FieldKind) -> Any:
    """Something for a field that a table does not have."""
    empty: dict[FieldKind, Any] = {FieldKind.TABLE: {}, FieldKind.STRING: "", FieldKind.BYTES: b""}
    if kind in empty or kind is FieldKind.TABLES:
        return empty.get(kind, [])
    return (
        _vector(rng, kind, [])
        if kind in (FieldKind.INT32S, FieldKind.INT64S, FieldKind.FLOAT32S)
        else _number(rng, kind, 0)
    )


def _number(rng: Random, kind: FieldKind, old: Any) -> Any:
    if kind is FieldKind.FLOAT32:
        return _real(rng, old)
    if kind in ENUMS and rng.random() < 0.8:
        return rng.choice(list(ENUMS[kind].values()))
    low, high = LIMITS[kind]
    return min(max(_integer(rng, old), low), high)


def _integer(rng: Random, old: int) -> int:
    near = (old + rng.choice((-1, 1)), old * 2, old // 2)
    return rng.choice(rng.choices((near, SMALL, LARGE, EXTREME), (4, 4, 1, 1))[0])


def _real(rng: Random, old: float) -> float:
    near = (old * 2, old / 3, old * rng.uniform(0.5, 2.0), old * 10.0 ** rng.randint(-6, 6))
    found = float(rng.choice(rng.choices((near, REALS, ODD_REALS), (6, 3, 1))[0]))
    return found if abs(found) < 3.4e38 or found in ODD_REALS else 3e38


def _vector(rng: Random, kind: FieldKind, old: list[Any]) -> list[Any]:
    """One element more, one less, two in each other's place, or one changed."""
    element = FieldKind.FLOAT32 if kind is FieldKind.FLOAT32S else FieldKind.INT32
    new = list(old)
    way = rng.choices(("change", "insert", "delete", "swap", "repeat"), (6, 1, 1, 1, 1))[0]
    at = rng.randrange(len(new)) if new else 0
    if way == "insert" or not new:
        new.insert(at, _number(rng, element, 0))
    elif way == "delete":
        del new[at]
    elif way == "swap":
        other = rng.randrange(len(new))
        new[at], new[other] = new[other], new[at]
    else:
        new[at] = _number(rng, element, new[at]) if way == "change" else rng.choice(new)
    return new


def _bytes(rng: Random, kind: FieldKind, old: bytes) -> bytes:
    """A buffer cut, grown, or with some elements of its own or extreme ones."""
    new = bytearray(old)
    way = rng.choice(("cut", "grow", "noise", "word", "fill"))
    at = rng.randrange(len(new)) if new else 0
    if way == "cut":
        del new[at:]
    elif way == "grow" and len(new) < LONGEST:
        new += rng.randbytes(rng.choice((1, 4, len(new) or 4)))
    elif way == "fill":
        new[:] = bytes([rng.choice((0, 1, 127, 128, 255))]) * len(new)
    elif way == "word" and len(new) >= 4:
        at -= at % 4
        new[at : at + 4] = (_integer(rng, 0) & 0xFFFFFFFF).to_bytes(4, "little")
    elif new:
        new[at : at + 4] = rng.randbytes(len(new[at : at + 4]))
    return bytes(new)


def _tables(rng: Random, kind: FieldKind, old: list[Table]) -> list[Table]:
    """A table twice, gone, or in another's place."""
    new = list(old)
    if not new:
        return [{}]
    at, other = rng.randrange(len(new)), rng.randrange(len(new))
    way = rng.choice(("duplicate", "remove", "swap", "replace"))
    if way == "duplicate":
        new.insert(other, copied(new[at]))
    elif way == "remove":
        del new[at]
    elif way == "swap":
        new[at], new[other] = new[other], new[at]
    else:
        new[at] = copied(new[other])
    return new


def _table(rng: Random, kind: FieldKind, old: Table) -> Table:
    return {}


def _text(rng: Random, kind: FieldKind, old: str) -> str:
    return rng.choice(NAMES)


def copied(value: Any) -> Any:
    """A copy whose tables and lists can be edited by themselves."""
    if isinstance(value, dict):
        return {name: copied(child) for name, child in value.items()}
    return [copied(child) for child in value] if isinstance(value, list) else value


CHANGES: dict[FieldKind, Callable[[Random, FieldKind, Any], Any]] = {
    FieldKind.STRING: _text,
    FieldKind.BYTES: _bytes,
    FieldKind.TABLE: _table,
    FieldKind.TABLES: _tables,
    **dict.fromkeys((FieldKind.INT32S, FieldKind.INT64S, FieldKind.FLOAT32S), _vector),
}
