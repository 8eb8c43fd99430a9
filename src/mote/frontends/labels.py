"""Class labels as texts hold them: lines, a column of CSV, a JSON list, or a dict from indices of an exporter."""

from __future__ import annotations

import ast
import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mote.base.documents import DocumentError, parse_json
from mote.base.errors import MoteError
from mote.base.files import read_file
from mote.frontends.model import Model
from mote.ir.graph import Tensor

MOST_LABELS = 1 << 14
"""Most labels of an output."""
MOST_LABEL = 500
"""Most characters of a label."""
MOST_BYTES = 1 << 20
"""Most bytes of a text with labels."""
FORMS = "give one label a line, a JSON list, or a CSV file with one column"
_HEADS = frozenset({"label", "labels", "class", "classes", "class_name", "name", "names"})
"""First lines of a CSV file that are no label."""


class LabelsError(MoteError):
    """A text that is no list of labels."""


def read_labels(path: str) -> tuple[str, ...]:
    """The labels in a file of the user's."""
    data = read_file(path)
    if len(data) > MOST_BYTES:
        raise MoteError(f"has more than {MOST_BYTES:,} bytes", where=path, remedy=FORMS)
    try:
        text = data.decode("utf-8-sig")
        return column(text) if path.lower().endswith(".csv") else listed(text)
    except UnicodeDecodeError:
        raise MoteError("is not text in UTF-8", where=path, remedy=FORMS) from None
    except LabelsError as error:
        raise MoteError(error.reason, where=path, remedy=FORMS) from None


def listed(text: str) -> tuple[str, ...]:
    """The labels of a text: a list or dict where it begins with a bracket, lines elsewhere."""
    return _checked(_literal(text) if text.lstrip()[:1] in ("[", "{") else lines(text))


def lines(text: str) -> tuple[str, ...]:
    """Labels one a line, without empty lines at the end."""
    return tuple(line.strip() for line in text.rstrip().splitlines())


def column(text: str) -> tuple[str, ...]:
    """The labels in the only column of a CSV file, which may have a head."""
    try:
        rows = [row for row in csv.reader(text.rstrip().splitlines()) if row]
    except csv.Error as error:
        raise LabelsError(f"is no CSV ({error})") from None
    if wide := next((row for row in rows if len(row) > 1), None):
        raise LabelsError(f"has {len(wide)} columns")
    names = tuple(row[0].strip() for row in rows)
    return _checked(names[1:] if names and names[0].lower() in _HEADS else names)


def _literal(text: str) -> tuple[str, ...]:
    """The labels of a list, or of a dict from indices, in JSON or as Python prints it."""
    value = _parsed(text)
    if isinstance(value, Mapping):
        by_index = {str(key): name for key, name in value.items()}
        missing = [i for i in range(len(by_index)) if str(i) not in by_index]
        if missing:
            raise LabelsError(f"has {len(by_index)} labels, of which none has the index {missing[0]}")
        value = [by_index[str(i)] for i in range(len(by_index))]
    if not isinstance(value, Sequence) or not all(isinstance(name, str | int | float) for name in value):
        raise LabelsError("is not a list of labels")
    return tuple(map(str, value))


def _parsed(text: str) -> Any:
    try:
        return parse_json(text)
    except DocumentError:
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        raise LabelsError("is neither JSON nor a list of labels") from None


def _checked(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise LabelsError("has no labels")
    if longest := next((name for name in names if len(name) > MOST_LABEL), ""):
        raise LabelsError(f"has a label of {len(longest):,} characters, more than {MOST_LABEL}")
    if len(names) > MOST_LABELS:
        raise LabelsError(f"has {len(names):,} labels, more than {MOST_LABELS:,}")
    return names


def classes(t: Tensor) -> int:
    """The number of classes that an output tells apart; 0 where that is unknown."""
    return len(t.labels) or (t.channels if t.size == t.channels > 1 else 0)


def labelled(model: Model, names: tuple[str, ...], said: str) -> Model:
    """The model with labels that its file has for no particular output; `said` is where. They are of the first output
    with as many classes, else of the first one, unless it has another number of them, which is a warning."""
    counts = {i: classes(model.tensors[i]) for i in model.outputs}
    output = next((i for i, count in counts.items() if count == len(names)), model.outputs[0])
    if counts[output] not in (0, len(names)):
        reason = f"{said} has {len(names)} labels, which are ignored: the output has {counts[output]} classes"
        return replace(model, warnings=(*model.warnings, reason))
    tensors = {**model.tensors, output: replace(model.tensors[output], labels=names)}
    return replace(model, tensors=tensors)
