"""The command line that compiles a model as its settings say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mote.base.option import OptionRow
from mote.compiler.compiled import Compiled
from mote.compiler.settings import TABLE, changed_options
from mote.frontends.data.dataset_type import Dataset

PLANNED = {"target", "ram", "flash", "latency", "cycles", "least_ram", "least_flash", "constants", "pins"}
"""Settings that a point of the front stands for, the target, values of constant inputs, which may be arrays, and the
file whose kernels are stated one by one."""


def compile_command(compiled: Compiled) -> list[str]:
    """`mote compile` with every option that differs from its default, but for budgets and the folder."""
    settings = compiled.settings
    words = ["mote", "compile", compiled.path, "--target", settings.target.name]
    for name, value in changed_options(settings, PLANNED).items():
        if name != "name" or value != Path(compiled.path).stem:
            words += _words(TABLE[name], value)
    return words


def _words(row: OptionRow, value: Any) -> Iterator[str]:
    values = value if isinstance(value, tuple) else [value]
    if isinstance(value, Dataset):
        values = [value.where]
    elif isinstance(value, Mapping):
        values = [f"{key}={','.join(map(str, x)) if isinstance(x, tuple) else x}" for key, x in value.items()]
    for one in values:
        yield from (f"--{row.key}",) if row.is_flag else (f"--{row.key}", str(one))
