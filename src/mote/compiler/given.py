"""The options of `mote.compile` and the functions that compile, as users write them, for type checkers and
editors: written by benchmarks/option_tables.py from the table of options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from mote.hardware.targets import Target


class ReadKeywords(TypedDict, total=False):
    """Keywords of functions that read a model."""

    shapes: Mapping[str, Sequence[int]] | Sequence[str]
    constants: Mapping[str, Any] | Sequence[str]
    signature: str


class CommonOptions(ReadKeywords, total=False):
    """Keywords of functions that compile, written as for commands: `ram="24K"`."""

    outputs: str | Sequence[str]
    edges: str
    features: str
    name: str
    single_file: bool
    caller_arena: bool
    instances: bool
    cpp: bool
    check_flash: bool
    optimize: str
    ram: int | str | Mapping[str, int | str] | None
    flash: int | str | None
    latency: float | str | None
    cycles: int | None
    least_ram: bool
    least_flash: bool
    backend: str | Sequence[str]
    aligned: bool
    input: str
    step: str
    recompute: float
    cores: int
    barrier: int
    place_code: str
    place_constants: str
    flags: str
    red_zones: bool
    pins: str | Path | None
    preprocess: str
    postprocess: str
    io: str
    numerics: str
    shrink: bool
    train: str | Sequence[str] | None
    train_data: Any
    stream: int | None
    hop: int
    causal: bool
    target: str | Path | Target
    encrypt: str
    trust_target: bool
    point: str | None


class PackOptions(CommonOptions, total=False):
    """Keywords of `mote.pack` in addition to those in its signature."""

    kernels: Mapping[str, str] | Sequence[str]


class CompileOptions(PackOptions, total=False):
    """Keywords of `mote.compile`."""

    labels: str | Path | Sequence[str]
