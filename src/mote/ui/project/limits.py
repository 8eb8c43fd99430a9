"""The table `check` of a model: limits on what is measured, data for the accuracy, and how it is verified."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from numbers import Real
from typing import Any

from mote.base.errors import MoteError
from mote.bench.evaluation.runners import THRESHOLD
from mote.compiler.options.parsing import seconds
from mote.hardware.targets.values import parse_size
from mote.ui.project.tables import DataSource, Table

BYTES, COUNT, SECONDS, JOULES, SCORE, LOSS = "bytes", "", "s", "J", "score", "loss"
"""Units of limits."""
JOULES_PER = {"nJ": 1e-9, "uJ": 1e-6, "µJ": 1e-6, "mJ": 1e-3, "J": 1.0}


@dataclass(frozen=True)
class Measure:
    """A quantity that may have a limit."""

    title: str
    unit: str
    about: str


RUN = {
    "ram": Measure("RAM", BYTES, "tensor arena, static variables, code in RAM and the most stack of a run"),
    "arena": Measure("arena", BYTES, "the tensor arena alone"),
    "stack": Measure("stack", BYTES, "the most stack that any run takes, from the machine code"),
    "flash": Measure("flash", BYTES, "constants and code"),
    "instructions": Measure("instructions", COUNT, "executed instructions of an inference (on AVR: cycles)"),
}
"""Limits on what `mote run` measures."""
PROFILE = {
    "cycles": Measure("cycles", COUNT, "cycles of an inference, with wait states"),
    "latency": Measure("latency", SECONDS, "time of an inference at the part's clock"),
    "energy": Measure("energy", JOULES, "energy of an inference, where the part's current is known"),
}
"""Limits on what `mote profile` measures."""
SCORES = {
    "accuracy": Measure("accuracy", SCORE, "least metric on `data`; the most for rmse and mae"),
    "drop": Measure("drop", LOSS, "most that the metric may be worse than that of `against`"),
}
"""Limits on what `mote evaluate` measures."""
MEASURES: Mapping[str, Measure] = {**RUN, **PROFILE, **SCORES}
OTHER_KEYS = {
    "data": "labelled samples for accuracy and drop: a path, or a table with data, inputs, labels, preprocess",
    "metric": "top1, topK, auc, rmse, mae or events; by default what suits outputs and labels",
    "against": "the model that drop compares with; by default the float model that `quantize` started from",
    "sample": "samples of the data that run on the emulated core as well; default 8",
    "event": "for a recording: index of the class to detect; default 0",
    "threshold": "for a recording: detection threshold",
    "verify": "compare every tensor with the reference: true (default), false, or a number of inputs",
    "exact": "floats must be equal bit for bit, too; default false: within rounding",
    "compiler": "C compiler: gcc or zig",
    "emulator": "the emulator: by default the first that is installed",
}
KEYS = (*MEASURES, *OTHER_KEYS)


@dataclass(frozen=True)
class ModelChecks:
    """Limits of a model, and how they are measured."""

    limits: Mapping[str, float] = field(default_factory=dict)
    """Limits by key of `MEASURES`: bytes, seconds, joules, or the metric's own unit."""
    data: DataSource | None = None
    metric: str | None = None
    against: str = ""
    sample: int = 8
    event: int = 0
    threshold: float = THRESHOLD
    verify: int | None = None
    """Inputs of the comparison with the reference; None: as many as `mote verify` takes, 0: no comparison."""
    exact: bool = False
    tools: Mapping[str, str | None] = field(default_factory=dict)
    """The compiler and the emulator."""


def read_checks(table: Table, float_model: str) -> ModelChecks:
    """The checks of a table; `float_model` is what a drop of accuracy is measured against by default."""
    table.check_keys(KEYS)
    limits = {key: _limit(key, table) for key in MEASURES if key in table.values}
    data, against = table.samples("data"), table.path("against")
    scores = [key for key in SCORES if key in limits]
    if scores and data is None:
        raise MoteError("there is no data to measure it on", where=table.named(scores[0]), remedy='add data = "FILE"')
    if "drop" in limits and not (against or float_model):
        raise MoteError(
            "there is no model to compare with", where=table.named("drop"), remedy='add against = "FLOAT MODEL"'
        )
    return ModelChecks(
        limits,
        data,
        table.text("metric") or None,
        against or float_model,
        table.whole("sample", ModelChecks.sample),
        table.whole("event", ModelChecks.event),
        table.real("threshold", ModelChecks.threshold),
        _inputs(table),
        table.flag("exact"),
        {tool: table.text(tool) or None for tool in ("compiler", "emulator")},
    )


def _inputs(table: Table) -> int | None:
    value = table.values.get("verify", True)
    return (None if value else 0) if isinstance(value, bool) else table.whole("verify", 0)


def _limit(key: str, table: Table) -> float:
    unit = MEASURES[key].unit
    if unit == COUNT:
        return table.whole(key, 0)
    limit = table.read(key, _PARSERS[unit])
    assert limit is not None
    return limit


def _joules(value: Any) -> float:
    """An energy in joules or with a unit: "12uJ"."""
    if isinstance(value, Real) and not isinstance(value, bool):
        joules = float(value)
    else:
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([nuµm]?J)", str(value))
        joules = float(match[1]) * JOULES_PER[match[2]] if match else 0.0
    if not 0 < joules < inf:
        raise MoteError(f"'{value}' is not an energy", remedy="write it like 12uJ, 0.5mJ or 1J")
    return joules


def _score(value: Any) -> float:
    """A metric as a number, or a share as a percentage: 0.97 or "97%"."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?%", value) if isinstance(value, str) else None
    number = float(match[1]) / 100 if match else value
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 <= number < inf:
        raise MoteError(f"{value!r} is not a value of a metric", remedy='write it like 0.97 or "97%"')
    return float(number)


_PARSERS: Mapping[str, Callable[[Any], float]] = {
    BYTES: parse_size,
    SECONDS: partial(seconds, "latency"),
    JOULES: _joules,
    SCORE: _score,
    LOSS: _score,
}
