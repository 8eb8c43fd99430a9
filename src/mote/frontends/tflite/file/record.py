"""A table of a `.tflite` file with named fields: those that the file omits have the schema's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from mote.frontends.tflite.file.flatbuffer import FlatTable, MalformedError, Vector
from mote.frontends.tflite.file.schema import ENUMS, FieldKind, Fields

SCALARS = {
    FieldKind.BOOL: "B",
    FieldKind.INT8: "b",
    FieldKind.UINT8: "B",
    FieldKind.INT32: "i",
    FieldKind.UINT32: "I",
    FieldKind.UINT64: "Q",
    FieldKind.FLOAT32: "f",
    **dict.fromkeys(ENUMS, "b"),
}
"""Scalar types as `struct` format characters."""


@dataclass(frozen=True)
class TableRecord:
    """The fields of one table; where there is no table, all have their defaults."""

    fields: Fields
    table: FlatTable | None

    def _number(self, name: str) -> int | float:
        field = self.fields[name]
        return (
            field.default if self.table is None else self.table.scalar(field.slot, SCALARS[field.kind], field.default)
        )

    def integer(self, name: str) -> int:
        return int(self._number(name))

    def real(self, name: str) -> float:
        value = float(self._number(name))
        if not isfinite(value):
            raise MalformedError(f"the option {name} is {value}")
        return value

    def flag(self, name: str) -> bool:
        return bool(self._number(name))

    def choice(self, name: str) -> str:
        """The name of an enum value, or `#` and its number where the schema lacks it."""
        number = self.integer(name)
        names = {n: text for text, n in ENUMS[self.fields[name].kind].items()}
        return names.get(number, f"#{number}")

    def integers(self, name: str) -> list[int]:
        return [] if self.table is None else self.table.integers(self.fields[name].slot)

    def string(self, name: str) -> str:
        return "" if self.table is None else self.table.string(self.fields[name].slot)

    def vector(self, name: str) -> Vector | None:
        return None if self.table is None else self.table.vector(self.fields[name].slot)

    def child(self, name: str) -> FlatTable | None:
        return None if self.table is None else self.table.table(self.fields[name].slot)

    def children(self, name: str, fields: Fields) -> list[TableRecord]:
        tables = [] if self.table is None else self.table.tables(self.fields[name].slot)
        return [TableRecord(fields, table) for table in tables]
