"""Tables of a project file: values of the right type, files relative to the project, errors that name the key."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.frontends.data.dataset import Dataset, dataset

T = TypeVar("T")
_CODE = re.compile(r"(?P<before>^|,)(?P<file>[^,():]+\.py):")
"""A file with a function of the user's among steps of preprocessing."""


@dataclass(frozen=True)
class DataSource:
    """Samples that a project names: a file or folder, and how it is read."""

    path: str
    inputs: str = ""
    labels: str = ""
    preprocess: str | None = None

    def read(self, *, labelled: bool = False) -> Dataset:
        return dataset(self.path, inputs=self.inputs, labels=self.labels, preprocess=self.preprocess, labelled=labelled)


@dataclass(frozen=True)
class Table:
    """A table of a project file: `where` names the file and the table, `base` is the folder of the file."""

    values: Mapping[str, Any]
    where: str
    base: Path

    def check_keys(self, known: Collection[str]) -> None:
        """Refuses keys that nobody reads."""
        for key in self.values:
            if key not in known:
                remedy = f"{did_you_mean(key, known)}the keys are: {', '.join(sorted(known))}"
                raise MoteError(f"there is no key '{printable(key)}'", where=self.where, remedy=remedy)

    def table(self, key: str) -> Table:
        """The table inside this one; an empty one where there is none."""
        value = self.values.get(key, {})
        if not isinstance(value, Mapping):
            raise self._wrong(key, value, "a table")
        return Table(value, self.named(key), self.base)

    def named(self, key: str) -> str:
        return f"{self.where}: {printable(key)}"

    def text(self, key: str, default: str = "") -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, value, "a string")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Strings, of which one may stand alone."""
        value = self.values.get(key, ())
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple) or not all(isinstance(text, str) for text in listed):
            raise self._wrong(key, value, "a string or a list of strings")
        return tuple(dict.fromkeys(listed))

    def pairs(self, key: str) -> tuple[str, ...]:
        """KEY=VALUE texts, from a table or a list."""
        value = self.values.get(key, ())
        return tuple(f"{k}={v}" for k, v in value.items()) if isinstance(value, Mapping) else self.texts(key)

    def flag(self, key: str, default: bool = False) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def whole(self, key: str, default: int) -> int:
        value = self.values.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._wrong(key, value, "a whole number")
        return value

    def real(self, key: str, default: float) -> float:
        value = self.values.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self._wrong(key, value, "a number")
        return float(value)

    def read(self, key: str, parse: Callable[[Any], T]) -> T | None:
        """A value in a form of its own; None where the key is absent."""
        if key not in self.values:
            return None
        with naming_key(self.named(key)):
            return parse(self.values[key])

    def path(self, key: str) -> str:
        """A path relative to the project file; empty where the key is absent."""
        return self.located(self.text(key))

    def located(self, path: str) -> str:
        return str(self.base / path) if path else ""

    def samples(self, key: str) -> DataSource | None:
        """Data, from a path or a table with the options of `mote.dataset`."""
        if key not in self.values:
            return None
        if isinstance(self.values[key], str):
            return DataSource(self.path(key))
        inner = self.table(key)
        inner.check_keys(("data", "inputs", "labels", "preprocess"))
        labels = inner.text("labels")
        steps = inner.text("preprocess")
        path = inner.path("data")
        if not path:
            raise MoteError("names no data", where=inner.where, remedy='add data = "FILE"')
        return DataSource(
            path,
            ",".join(inner.texts("inputs")),
            self.located(labels) if labels.endswith(".json") else labels,
            _CODE.sub(lambda m: f"{m['before']}{self.located(m['file'].strip())}:", steps) or None,
        )

    def _wrong(self, key: str, value: object, what: str) -> MoteError:
        return MoteError(f"{value!r} is not {what}", where=self.named(key))


@contextmanager
def naming_key(where: str) -> Iterator[None]:
    """Errors of options name the place in the project file as well."""
    try:
        yield
    except MoteError as error:
        said = error.where.removeprefix("option ")
        error.where = where if not said or where.endswith(f": {said}") else f"{where}: {error.where}"
        raise
