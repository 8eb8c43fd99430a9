"""Pin files: the kernels and settings that tuning chose for a model on a target, in TOML, for `mote compile --pins
FILE`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mote.base.documents import read_toml
from mote.base.errors import MoteError
from mote.base.files import write_file
from mote.base.text import did_you_mean, printable
from mote.compiler.offload.backends import external
from mote.frontends import Source

FORMAT = 1
HEAD = b"# Pins of a model"
"""The first bytes of every pin file, so that no file of another kind is overwritten."""
SETTINGS = ("optimize", "flags", "place_code", "place_constants", "ram", "backend")
"""Settings that tuning chooses, or that kernels were tuned with."""
RETUNE = "tune the model again: `mote tune MODEL --target TARGET -o FILE`"
_KEYS = {"format": int, "model": str, "target": str, "mote": str, "measured": str} | dict.fromkeys(SETTINGS, str)
_TYPES: dict[str, type] = {**_KEYS, "ram": int, "kernels": dict, "gained": dict}


@dataclass(frozen=True)
class PinsFile:
    """The contents of a pin file."""

    model: str
    """The SHA-256 of the model's file."""
    target: str
    kernels: Mapping[str, str] = field(default_factory=dict)
    """The pinned kernels, by the number of their layer."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The tuned settings that differ from their defaults."""
    gained: Mapping[str, int] = field(default_factory=dict)
    """Cycles, RAM and constants before and after tuning."""
    measured: str = ""
    """The tools that measured the candidates."""
    version: str = ""
    """The version of Mote that tuned the model."""

    def text(self, names: Mapping[str, str]) -> str:
        """The text of the file. `names`: names of layers by number, for comments."""
        lines = [
            f"{HEAD.decode()} for one target, by `mote tune`; `mote compile --target TARGET --pins FILE` takes it.",
            f"format = {FORMAT}",
            f'model = "{self.model}"',
            f"target = {_quoted(self.target)}",
            f"mote = {_quoted(self.version)}",
            f"measured = {_quoted(self.measured)}",
            *(f"{name} = {_written(self.settings[name])}" for name in SETTINGS if name in self.settings),
            "",
            "[gained]",
            *(f"{name} = {value}" for name, value in self.gained.items()),
            "",
            "[kernels]",
        ]
        for layer, kernel in self.kernels.items():
            lines.append(f"{_quoted(layer)} = {_quoted(kernel)}  # {printable(names.get(layer, ''))}".rstrip(" #"))
        return "\n".join(lines) + "\n"

    def write(self, path: str | Path, names: Mapping[str, str]) -> None:
        write_file(str(path), self.text(names).encode(), HEAD)


def read_pins(path: str | Path) -> PinsFile:
    """Reads a pin file."""
    where = str(path)
    data = read_toml(path, reason="is no file of pins", remedy=RETUNE)
    for name, value in data.items():
        if name not in _TYPES:
            raise MoteError(
                f"has no key '{printable(name)}'", where=where, remedy=f"{did_you_mean(name, _TYPES)}{RETUNE}"
            )
        if type(value) is not _TYPES[name]:
            raise MoteError(f"'{name}' is not of type {_TYPES[name].__name__}", where=where, remedy=RETUNE)
    for name in ("format", "model", "target"):
        if name not in data:
            raise MoteError(f"lacks '{name}'", where=where, remedy=RETUNE)
    if data["format"] != FORMAT:
        raise MoteError(f"is of format {data['format']}, not {FORMAT}", where=where, remedy=RETUNE)
    kernels, gained = data.get("kernels", {}), data.get("gained", {})
    if not all(isinstance(kernel, str) for kernel in kernels.values()):
        raise MoteError("a kernel is not a name", where=f"{where}: [kernels]", remedy=RETUNE)
    if not all(type(value) is int for value in gained.values()):
        raise MoteError("a number is not an integer", where=f"{where}: [gained]", remedy=RETUNE)
    settings = {name: data[name] for name in SETTINGS if name in data}
    measured, version = data.get("measured", ""), data.get("mote", "")
    return PinsFile(data["model"], data["target"], kernels, settings, gained, measured, version)


def with_pins(options: Mapping[str, Any], path: str | Path, target: str, usual: Mapping[str, Any]) -> dict[str, Any]:
    """Options combined with those of a pin file. Options that differ from both their default (`usual`) and the file are
    refused; kernels of single layers override those of the file."""
    pins, others = read_pins(path), dict(options)
    if pins.target != target:
        raise MoteError(
            f"it was tuned for '{pins.target}', not for '{target}'",
            where=str(path),
            remedy=f"compile for that target, or tune for this one: `mote tune MODEL --target {target}`",
        )
    for name, text in pins.settings.items():
        value, given = text, others.get(name)
        if name == "backend":
            value, given = tuple(text.split(",")), external(given or ())
        if given not in (None, usual[name], value):
            raise MoteError(
                f"'{given}' was given, but {path} was tuned with '{value}'",
                where=f"option {name}",
                remedy="omit it, or tune the model with it",
            )
        others[name] = value
    return others | {"kernels": {**pins.kernels, **others.get("kernels", {})}, "pins": pins}


def model_digest(source: Source) -> str:
    """The SHA-256 of a model's file, by which a pin file identifies the model."""
    return hashlib.sha256(source.data).hexdigest()


def check_model(source: Source, pins: PinsFile | None) -> None:
    """Refuses a model other than the one that the pins were tuned for."""
    if pins is not None and pins.model != model_digest(source):
        raise MoteError(
            "the pins are those of another model: its file has changed, or it is another one",
            where=source.where,
            remedy=RETUNE,
        )


def _written(value: str | int) -> str:
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    """A TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
