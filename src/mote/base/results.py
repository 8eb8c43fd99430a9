"""The base of the values that functions return: each declares what it shows once, for text, HTML and JSON.

A declaration lists values, separated by ", ". Each is `label=attribute.of.attribute`; without a label it has the name
of the attribute. Behind the attribute `!n` counts its items, `?` leaves out an empty value, and `:format` is a format
of Python or of `FORMATS`. A value is None, which is not shown, where one of its attributes is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar, NamedTuple

from mote.base.notebook import card, folded, sizes, table

FORMATS: Mapping[str, Callable[[Any], object]] = {
    "hex": bytes.hex,
    "list": ", ".join,
    "size": sizes,
    "sorted": lambda items: sorted(set(items)),
}
"""Formats beside those of Python, by name; `sorted` is for JSON, and drops repeated items."""


def _attribute(value: Any, path: str) -> Any:
    """The attribute at the end of a path: of a mapping the value of that name, of a sequence those of all items."""
    name, _, rest = path.partition(".")
    if value is None or not name:
        return value
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [_attribute(item, path) for item in value]
    return _attribute(value.get(name) if isinstance(value, Mapping) else getattr(value, name), rest)


class _Template(Formatter):
    """Fills `{attribute.of.attribute}` of a template with the attributes of a record."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        return _attribute(args[0], field_name), field_name

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return len(value) if conversion == "n" else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> Any:
        return FORMATS[format_spec](value) if format_spec in FORMATS else super().format_field(value, format_spec)


_TEMPLATE = _Template()


def filled(template: str, record: object) -> str:
    """A template such as "{model!r} on {target}: {layers!n} layers" with the attributes of a record."""
    return _TEMPLATE.vformat(template, (record,), {})


class _Declared(NamedTuple):
    """A value that is declared."""

    label: str
    path: str
    counted: bool
    stated: bool
    format: str

    def of(self, record: object) -> Any:
        """The value of a record."""
        value = _attribute(record, self.path)
        if self.counted and value is not None:
            value = len(value)
        if value is None or (self.stated and not value):
            return None
        return _TEMPLATE.format_field(value, self.format) if self.format else value


@cache
def _declared(text: str) -> tuple[_Declared, ...]:
    found = []
    for part in text.split(", ") if text else ():
        match = re.fullmatch(r"(?:(.*)=)?([\w.]+)(!n)?(\?)?(?::(.+))?", part)
        assert match, f"no declaration of a value: {part}"
        label, path, counted, stated, form = match.groups()
        found.append(_Declared(path if label is None else label, path, bool(counted), bool(stated), form or ""))
    return tuple(found)


def shown(record: object, declaration: str) -> dict[str, Any]:
    """The values of a record that are declared, by their labels."""
    return {value.label: value.of(record) for value in _declared(declaration)}


@dataclass(frozen=True)
class ItemTable:
    """A table with a row for each item of an attribute; its first `left` columns are texts. In a notebook it is folded
    below the `title`, if it has one."""

    items: str
    declaration: str
    left: int = 1
    title: str = ""

    @property
    def head(self) -> tuple[str, ...]:
        """The heads of the columns."""
        return tuple(value.label for value in _declared(self.declaration))

    def rows(self, record: object) -> list[tuple[object, ...]]:
        """A row for each item."""
        items = _attribute(record, self.items)
        return [tuple(value.of(item) for value in _declared(self.declaration)) for item in items]

    def html(self, record: object) -> str:
        """The table of a notebook."""
        part = table(self.head, self.rows(record), left=self.left)
        return folded(filled(self.title, record), part) if self.title else part


def plain(value: Any) -> Any:
    """A value in JSON types: dataclasses by their fields, bytes in hexadecimal, numbers that are not finite as text."""
    if isinstance(value, Record):
        return value.json()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, Path) or (isinstance(value, float) and not isfinite(value)):
        return str(value)
    return value.hex() if isinstance(value, bytes) else value


def as_json(record: object, declaration: str) -> dict[str, Any]:
    """The values of a record that are declared, in JSON types; those labelled `ram.arena`, `ram.static` are inside of
    `ram`."""
    result: dict[str, Any] = {}
    for label, value in shown(record, declaration).items():
        *outer, name = label.split(".")
        within = result
        for key in outer:
            within = within.setdefault(key, {})
        within[name] = plain(value)
    return result


class Record:
    """A dataclass that has a form in JSON types."""

    JSON: ClassVar[str] = "*"
    """The values of the JSON; `*` stands for all fields."""

    def json(self) -> dict[str, Any]:
        """The values as JSON types."""
        record: Any = self
        return as_json(self, self.JSON.replace("*", ", ".join(field.name for field in fields(record))))


class Result(Record):
    """A dataclass that is a line of text, a card in a notebook, and JSON, by what it declares."""

    LINE: ClassVar[str] = ""
    """The template of its line of text, for classes with `repr=False`."""
    TITLE: ClassVar[str] = "{model} on {target}"
    """The template of the title of its card."""
    FACTS: ClassVar[str] = ""
    """The values below the title; a label may be a template, too."""
    ROWS: ClassVar[ItemTable | None] = None
    """The table of the card."""
    NOTES: ClassVar[str] = ""
    """The notes of the card: texts, and sequences of texts."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {filled(self.LINE, self)}>"

    def _repr_html_(self) -> str:
        return card(filled(self.TITLE, self), self._facts(), *self._parts(), notes=self._notes())

    def _facts(self) -> dict[str, object]:
        return {filled(label, self): value for label, value in shown(self, self.FACTS).items()}

    def _parts(self) -> list[str]:
        """The tables and pictures of the card, as HTML."""
        return [self.ROWS.html(self)] if self.ROWS else []

    def _notes(self) -> list[str]:
        notes = filter(None, shown(self, self.NOTES).values())
        return [text for note in notes for text in ([note] if isinstance(note, str) else note)]
