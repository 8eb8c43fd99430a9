"""Parsers of option values as users write them: sizes, times, names and samples, with errors for invalid ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mote.base.deferred import deferred
from mote.base.errors import MoteError
from mote.base.option import Notation
from mote.compiler.passes.training.spec import Spec, parsed
from mote.compiler.pins_file import PinsFile
from mote.frontends.data.dataset import dataset
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.labels import read_labels
from mote.frontends.reading import names, wrong_value
from mote.hardware.targets import Target, parse_size

if TYPE_CHECKING:
    from mote.compiler.plan.selection import pins
else:
    pins = deferred("mote.compiler.plan.selection.pins")

MINIMUM = "min"
"""`ram="min"`, `flash="min"`: the least RAM or flash, at any cost in speed."""
DEFAULT, LEAST, FASTEST = "default", "least", "fastest"
SMALL, SMALLEST = "small", "smallest"
"""Names of the plans with little flash, and with the least flash."""
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
"""Seconds per unit of time."""
UNLIMITED = 1 << 30
"""A RAM budget larger than any plan. Unlike no budget, it does not ask for the least RAM when the input comes row by
row."""


def point_settings(name: str) -> dict[str, Any]:
    """The settings for the name of a plan, as `mote explore` prints it: `default`, `least`, `fastest`, `small`,
    `smallest`, or a RAM budget, called `ram-BYTES` if the plan takes exactly that and `within-BYTES` if it takes
    less."""
    budget = re.fullmatch(r"(?:ram|within)-([0-9]{1,12})", name, re.ASCII) if isinstance(name, str) else None
    if budget:
        return {"ram": int(budget[1])}
    if name == DEFAULT:
        return {}
    if name == LEAST:
        return {"least_ram": True}
    if name == FASTEST:
        return {"optimize": "speed", "ram": UNLIMITED}
    if name in (SMALL, SMALLEST):
        return {"optimize": "size", "least_flash": name == SMALLEST}
    raise MoteError(
        f"'{name}' is not the name of a point",
        where="option point",
        remedy=f"use {DEFAULT}, {LEAST}, {FASTEST}, {SMALL}, {SMALLEST}, ram-BYTES or within-BYTES; `mote explore`"
        " lists those of a model",
    )


def ram_by_memory(ram: Any) -> dict[str, int]:
    """The size of each memory in a RAM budget such as "sram=200K,psram=2M"; empty if the budget is a single number."""
    if isinstance(ram, Mapping):
        return {str(name): _size("ram", size) for name, size in ram.items()}
    if not isinstance(ram, str) or "=" not in ram:
        return {}
    pairs = [part.strip().rpartition("=") for part in ram.split(",")]
    if not all(name and size for name, _, size in pairs) or len({name for name, *_ in pairs}) < len(pairs):
        raise MoteError(f"'{ram}' is not NAME=BYTES,...", where="option ram", remedy="write it like sram=200K,psram=2M")
    return {name: _size("ram", size) for name, _, size in pairs}


def _size_or_none(option: str, value: Any) -> int | None:
    return None if value is None else _size(option, value)


def _size(option: str, value: Any) -> int:
    try:
        return parse_size(value)
    except MoteError as error:
        remedy = f'{error.remedy}, or "{MINIMUM}" for the least'
        raise MoteError(error.reason, where=f"option {option}", remedy=remedy) from None


def _seconds_or_none(option: str, value: Any) -> float | None:
    return None if value is None else seconds(option, value)


def seconds(option: str, value: Any) -> float:
    """Parses a time in seconds or with a unit: "20ms"."""
    if isinstance(value, Real) and not isinstance(value, bool):
        taken = float(value)
    else:
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(us|ms|s)", str(value), re.ASCII)
        taken = float(match[1]) * SECONDS[match[2]] if match else 0.0
    if not 0 < taken < inf:
        raise MoteError(
            f"'{value}' is not a time", where=f"option {option}", remedy="write it like 20ms, 800us or 1.5s"
        )
    return taken


def _kernels(option: str, kernels: Any) -> dict[str, str]:
    """Parses pinned kernels: a mapping of layers to kernels, or strings LAYER=KERNEL."""
    if isinstance(kernels, Mapping):
        return {str(layer): str(pins.Pin.parse(str(kernel))) for layer, kernel in kernels.items()}
    if isinstance(kernels, str) or not isinstance(kernels, Iterable):
        raise wrong_value(option, kernels, 'a mapping {layer: kernel} or a list of "LAYER=NAME"')
    return dict(map(_pin, kernels))


def _pin(text: Any) -> tuple[str, str]:
    """Parses LAYER=KERNEL. A layer's name may contain an equals sign, a kernel's only in brackets."""
    match = re.fullmatch(r"(.+)=([^=\[\]]+(?:\[[^\[\]]*\])?(?:/[^=\[\]]*)?)", str(text))
    if match is None:
        raise MoteError(
            f"'{text}' is not LAYER=NAME or LAYER=NAME[knob=value,...]",
            where="option kernel",
            remedy="`mote plan` lists both",
        )
    return match[1], str(pins.Pin.parse(match[2]))


def _backends(option: str, given: Any) -> tuple[str, ...]:
    """Parses backends: a list of names, or text with commas between them."""
    texts = [part.strip() for text in names(option, given) for part in text.split(",")]
    if not all(texts):
        raise MoteError("a name is empty", where=f"option {option}", remedy="write it like mote,cmsis-nn")
    return tuple(dict.fromkeys(texts))


def _labels(option: str, labels: Any) -> tuple[str, ...]:
    """Parses class names: a sequence, or the file that holds them."""
    return read_labels(str(labels)) if isinstance(labels, str | Path) else names(option, labels or ())


def _target(option: str, target: Any) -> str | Path | Target:
    if not isinstance(target, str | Path | Target):
        raise MoteError(f"{target!r} is not a target", where=f"option {option}", remedy="`mote targets` lists names")
    return target


def _file(option: str, path: Any) -> str | Path | None:
    if path is not None and not isinstance(path, str | Path):
        raise wrong_value(option, path, "a file")
    return path


def _training(option: str, items: Any) -> Spec | None:
    """Parses what learns on the device, from one text or several; None if they are empty."""
    if items is None or isinstance(items, Spec):
        return items
    text = ",".join(names(option, items))
    return parsed(text) if text else None


def _samples(option: str, data: Any) -> Dataset | None:
    """Loads samples with labels by `mote.dataset` from a file, a folder or an object. Settings hold the data, so that a
    changed file means changed settings."""
    if data is None or (isinstance(data, str) and not data):
        return None
    try:
        return dataset(data, labelled=True)
    except MoteError as error:
        file = f" {error.where}" if isinstance(data, str | Path) else ""
        raise MoteError(error.reason, where=f"option {option}{file}", remedy=error.remedy) from None


def check_types(settings: Any) -> None:
    """Refuses settings of the wrong type."""
    for f in fields(settings):
        fits, what = _TYPES[f.type]
        value = getattr(settings, f.name)
        if not fits(value):
            raise wrong_value(f.name, value, what)


def check_at_least(option: str, value: Any, least: int) -> None:
    """Refuses values that are not integers of at least `least`."""
    if not _is_integer(value) or value < least:
        raise wrong_value(option, value, f"an integer of at least {least}")


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


_TYPES: dict[Any, tuple[Callable[[Any], bool], str]] = {
    "Target": (lambda v: isinstance(v, Target), "a target"),
    "bool": (lambda v: isinstance(v, bool), "True or False"),
    "str": (lambda v: isinstance(v, str), "a string"),
    "Spec | None": (lambda v: v is None or isinstance(v, Spec), "a training"),
    "Dataset | None": (lambda v: v is None or isinstance(v, Dataset), "samples"),
    "int": (_is_integer, "an integer"),
    "int | None": (lambda v: v is None or _is_integer(v), "an integer"),
    "float | None": (lambda v: v is None or (isinstance(v, Real) and not isinstance(v, bool)), "a number"),
    "float": (lambda v: isinstance(v, Real) and not isinstance(v, bool), "a number"),
    "PinsFile | None": (lambda v: v is None or isinstance(v, PinsFile), "a file of pins"),
    "Mapping[str, tuple[int, ...]]": (lambda v: isinstance(v, Mapping), "a mapping {input: shape}"),
    "tuple[str, ...]": (lambda v: isinstance(v, tuple) and all(isinstance(n, str) for n in v), "a tuple of names"),
    "Mapping[str, Any]": (lambda v: isinstance(v, Mapping), "a mapping {input: value}"),
    "Mapping[str, str]": (lambda v: isinstance(v, Mapping), "a mapping {layer: kernel}"),
}
"""By annotation of a settings field: a check of the value's type, and the type's name in errors."""

SIZE = Notation("int | str | None", _size_or_none)
MEMORY = Notation("int | str | Mapping[str, int | str] | None", _size_or_none)
"""A RAM budget in bytes. Sizes per memory become limits of the target instead (`ram_by_memory`)."""
TIME = Notation("float | str | None", _seconds_or_none)
BACKENDS = Notation("str | Sequence[str]", _backends)
TRAINING = Notation("str | Sequence[str] | None", _training)
SAMPLES = Notation("Any", _samples)
LABELS = Notation("str | Path | Sequence[str]", _labels)
KERNELS = Notation("Mapping[str, str] | Sequence[str]", _kernels)
TARGET = Notation("str | Path | Target", _target)
FILE = Notation("str | Path | None", _file)
