"""`mote ops`: supported operators, with their types, kernels and ways of execution.

The list is recorded from the layers that the tests compile and compare with LiteRT (`benchmarks/operators.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import mote.hardware.targets as targets

RECORD = files("mote.ui.api") / "operators.json"
APART = {"CUSTOM(ethos-u)": "on an Ethos-U"}
"""Operators that no core computes, and what does."""
LISTED = 6
"""Types that are listed; of more only their number."""


@cache
def _cores() -> tuple[targets.Target, ...]:
    """The cores among the targets."""
    return tuple(t for t in map(targets.load, targets.names()) if t.name == t.cpu)


@dataclass(frozen=True)
class OperatorForm:
    """An operator with given element types. `tuned`: kernels that need features of a core, with these features."""

    types: str
    portable: tuple[str, ...]
    tuned: Mapping[str, tuple[str, ...]]
    rows: bool
    streams: bool
    in_place: bool

    @property
    def how(self) -> tuple[object, ...]:
        """The key by which forms are grouped."""
        return (bool(self.portable), tuple(self.tuned), self.rows, self.streams, self.in_place)

    @property
    def cores(self) -> list[str]:
        """The cores with the features of a tuned kernel."""
        return [t.name for t in _cores() if any(set(needed.split("+")) <= t.features for needed in self.tuned)]


@dataclass(frozen=True)
class Operator:
    name: str
    forms: tuple[OperatorForm, ...]


@cache
def operators() -> tuple[Operator, ...]:
    """All operators, sorted by name."""
    record: dict[str, dict[str, dict[str, Any]]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return tuple(
        Operator(name, tuple(OperatorForm(types, **how) for types, how in sorted(forms.items())))
        for name, forms in sorted(record.items())
    )


HEAD = ("operator", "types", "tuned for", "by rows", "streaming", "in place")


def rows(listed: Iterable[Operator]) -> list[Sequence[str]]:
    """A row for each operator and each way that some of its types are computed in."""
    return [line for operator in listed for line in _lines(operator)]


def _lines(operator: Operator) -> list[Sequence[str]]:
    groups: dict[tuple[object, ...], list[OperatorForm]] = {}
    for form in operator.forms:
        groups.setdefault(form.how, []).append(form)
    return [
        (
            operator.name,
            _listed([form.types for form in group]),
            ", ".join(group[0].cores) if group[0].portable else APART.get(operator.name, "at compile time"),
            *(_yes(flag) for flag in (group[0].rows, group[0].streams, group[0].in_place)),
        )
        for group in groups.values()
    ]


def _listed(types: Sequence[str]) -> str:
    more = len(types) - LISTED
    return ", ".join(types) if more <= 0 else f"{', '.join(types[:LISTED])} and {more} more"


def _yes(flag: object) -> str:
    return "yes" if flag else ""


def markdown(listed: Iterable[Operator]) -> str:
    """The list as a Markdown table."""
    lines = [HEAD, ["---"] * len(HEAD), *rows(listed)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
