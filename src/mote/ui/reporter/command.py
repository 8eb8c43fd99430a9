"""The command line that compiles a model as its settings say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from mote.compiler.compiled import Compiled
from mote.compiler.settings import Settings
from mote.frontends.data.dataset_type import Dataset

PLANNED = {"target", "ram", "flash", "latency", "cycles", "least_ram", "least_flash", "constants"}
"""Settings that a point of the front stands for, the target, and values of constant inputs, which may be arrays."""
INTERNAL = {"fixed", "ram_code", "other_code", "ram_constants", "all_in_ram", "low"}
OPTIONS = {"shapes": "shape", "kernels": "kernel"}
"""Options that have other names than their settings."""


def compile_command(compiled: Compiled) -> list[str]:
    """`mote compile` with every option that differs from its default, but for budgets and the folder."""
    settings = compiled.settings
    words = ["mote", "compile", compiled.path, "--target", settings.target.name]
    implied = {"name": Path(compiled.path).stem}
    for field in fields(Settings):
        value = getattr(settings, field.name)
        if field.name not in PLANNED | INTERNAL and value not in (_default(field), implied.get(field.name)):
            words += _words(field.name, value)
    return words


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _words(name: str, value: Any) -> Iterator[str]:
    option = f"--{OPTIONS.get(name, name).replace('_', '-')}"
    if isinstance(value, Dataset):
        yield from (option, value.where)
    elif name == "shrink":
        yield "--no-shrink"
    elif value is True:
        yield option
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (option, f"{key}={','.join(map(str, item)) if isinstance(item, tuple) else item}")
    elif isinstance(value, tuple):
        for item in value:
            yield from (option, str(item))
    else:
        yield from (option, str(value))
