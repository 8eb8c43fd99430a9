"""The options of `mote.compile` and the functions that compile, as users write them, for type checkers and editors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from mote.hardware.targets import Target


class CommonOptions(TypedDict, total=False):
    """Keywords of all functions that compile: fields of Settings, with the shorthands of the command line
    (`ram="24K"`)."""

    target: str | Path | Target
    trust_target: bool
    point: str | None
    shapes: Mapping[str, Sequence[int]] | Sequence[str]
    edges: str
    features: str
    outputs: str | Sequence[str]
    signature: str
    constants: Mapping[str, Any] | Sequence[str]
    io: str
    numerics: str
    shrink: bool
    stream: int | None
    hop: int
    causal: bool
    train: str | Sequence[str]
    train_data: Any
    preprocess: str
    postprocess: str
    optimize: str
    ram: int | str | Mapping[str, int | str] | None
    flash: int | str | None
    latency: float | str | None
    cycles: int | None
    least_ram: bool
    least_flash: bool
    input: str
    red_zones: bool
    step: str
    recompute: float
    backend: str | Sequence[str]
    cores: int
    barrier: int
    place_code: str
    place_constants: str
    flags: str
    pins: str | Path
    encrypt: str
    aligned: bool
    name: str
    single_file: bool
    caller_arena: bool
    instances: bool
    cpp: bool
    check_flash: bool


class PackOptions(CommonOptions, total=False):
    """Keywords of `mote.pack` beside its own."""

    kernels: Mapping[str, str] | Sequence[str]


class CompileOptions(PackOptions, total=False):
    """Keywords of `mote.compile`."""

    labels: str | Path | Sequence[str]
