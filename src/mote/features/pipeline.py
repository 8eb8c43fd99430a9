"""Preprocessing of samples, as the user states it: named steps with parameters.

`scale=1/255,mean(0.5,0.4,0.3),channels-first` is three steps; `name=value` is short for `name(value)`. A Python file
and a function in it, `mine.py:prepare`, is a step as well: it takes the array of a sample and returns another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from inspect import Parameter, signature
from itertools import takewhile
from pathlib import Path
from runpy import run_path
from typing import Any, TypeVar, get_type_hints

import numpy as np

from mote.errors import MoteError
from mote.features.building import built, evaluated
from mote.features.sample import WHERE, Sample
from mote.features.sensor import Sensor
from mote.features.signal import Signal
from mote.features.steps import STEPS
from mote.graph import Graph
from mote.text import did_you_mean

Argument = float | str
Function = Callable[[Any], Any]
T = TypeVar("T")
_STEP = re.compile(r"(?P<name>[A-Za-z][\w-]*)(?:=(?P<value>[^()=]+)|\((?P<list>[^()]*)\))?")
_CODE = re.compile(r"(?P<file>.+\.py):(?P<function>[A-Za-z_]\w*)")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?(/\d+\.?\d*)?", re.IGNORECASE)


class Takes(Enum):
    """What the function of a step is given."""

    SENSOR = Sensor
    SAMPLE = Sample
    SIGNAL = Signal
    BOTH = None
    """A sample or a signal."""


@dataclass(frozen=True)
class PreprocessingStep:
    """One step: what it is called, what it does, and with which parameters."""

    text: str
    function: Callable[..., Any]
    values: tuple[Argument, ...] = ()
    options: Mapping[str, Argument] = field(default_factory=dict)
    takes: Takes = Takes.SAMPLE

    def __call__(self, given: T) -> T:
        made: T = self.function(given, *self.values, **self.options)
        return made


@dataclass(frozen=True)
class Preprocessing:
    """Steps, one after another. Sounds and images are integers, and steps become operators on them, as on a device;
    element-wise steps behind them, and steps on other data, compute in float64. The result is rounded once, to
    float32."""

    steps: tuple[PreprocessingStep, ...] = ()
    _built: dict[Any, tuple[Signal, Graph | None]] = field(default_factory=dict, compare=False, repr=False)
    """The operators for sources that were met."""

    def __str__(self) -> str:
        return ",".join(step.text for step in self.steps)

    @property
    def sensor(self) -> Sensor:
        """The sensor that the steps name."""
        sensor = Sensor()
        for step in self.steps:
            sensor = step(sensor) if step.takes is Takes.SENSOR else sensor
        return sensor

    def __call__(self, sample: Sample) -> Sample:
        steps = [step for step in self.steps if step.takes is not Takes.SENSOR]
        integers = len(steps) < len(self.steps) or sample.is_image or bool(sample.rate)
        while steps:
            run = list(takewhile(lambda step: step.takes in (Takes.BOTH, Takes.SIGNAL), steps))
            if any(step.takes is Takes.SIGNAL for step in run) or (run == steps and integers):
                sample = self._computed(run, sample)
            else:
                run = steps[:1]
                sample = run[0](sample)
            integers = False
            steps = steps[len(run) :]
        return sample.with_values(sample.values.astype(np.float32)) if sample.values.dtype == np.float64 else sample

    def _computed(self, steps: list[PreprocessingStep], sample: Sample) -> Sample:
        """The sample after steps that are operators: these are evaluated in NumPy."""
        sensor = self.sensor.of(sample)
        values = sensor.integers(sample)
        key = tuple(step.text for step in steps), sensor.kind, sensor.rate, values.shape
        if key not in self._built:
            self._built[key] = built(steps, sensor, len(values))
        signal, graph = self._built[key]
        return evaluated(signal, graph, values, sample)


def preprocessing(stated: str | Preprocessing | Function | None) -> Preprocessing:
    """The steps that a text states; a function of the user's is one step."""
    if stated is None or isinstance(stated, Preprocessing):
        return stated or Preprocessing()
    if isinstance(stated, str):
        return Preprocessing(tuple(_step(text) for text in _parts(stated)))
    return Preprocessing((_users(stated, getattr(stated, "__name__", "function")),))


def takes(function: Callable[..., Any]) -> Takes:
    """What a step's function is given, by the type of its first parameter."""
    first = get_type_hints(function)[next(iter(signature(function).parameters))]
    return next((kind for kind in Takes if kind.value is first), Takes.BOTH)


def _parts(text: str) -> list[str]:
    """The parts between the commas outside of parentheses."""
    parts = re.findall(r"(?:[^,()]|\([^()]*\))+", text)
    if ",".join(parts) != text.strip().removesuffix(",") and text.strip():
        raise MoteError(
            f"'{text}' cannot be read", where=WHERE, remedy="write steps with commas between: resize=32x32,scale=1/255"
        )
    return [part.strip() for part in parts]


def _step(text: str) -> PreprocessingStep:
    if code := _CODE.fullmatch(text):
        return _users(_loaded(code["file"], code["function"]), text)
    match = _STEP.fullmatch(text)
    if match is None:
        raise MoteError(f"'{text}' is no step", where=WHERE, remedy="write a step as name, name=value or name(a,b=c)")
    name = match["name"]
    if name not in STEPS:
        remedy = f"{did_you_mean(name, STEPS)}use one of {', '.join(STEPS)}, or file.py:function"
        raise MoteError(f"'{name}' is no step", where=WHERE, remedy=remedy)
    given = [match["value"]] if match["value"] else [part for part in (match["list"] or "").split(",") if part.strip()]
    values = [_argument(part.strip()) for part in given if "=" not in part]
    options = {key.strip(): _argument(value.strip()) for key, _, value in (p.partition("=") for p in given if "=" in p)}
    return _bound(text, STEPS[name], values, options)


def _argument(text: str) -> Argument:
    """A number, also as a fraction, or a word."""
    if _NUMBER.fullmatch(text):
        above, _, below = text.partition("/")
        if below and not float(below):
            raise MoteError(f"'{text}' divides by zero", where=WHERE, remedy="give another number")
        return float(above) / float(below or 1)
    return text


def _bound(
    text: str, function: Callable[..., Any], values: list[Argument], options: dict[str, Argument]
) -> PreprocessingStep:
    """The step, if the function has parameters of these names and types."""
    known = list(signature(function).parameters.values())[1:]
    types = get_type_hints(function)
    try:
        signature(function).bind(None, *values, **options)
    except TypeError as error:
        listed = ", ".join(p.name if p.default is Parameter.empty else f"{p.name}={p.default}" for p in known)
        raise MoteError(
            f"'{text}': {error}", where=WHERE, remedy=f"it takes {listed}" if listed else "it takes no parameters"
        ) from None
    positional = [known[min(i, len(known) - 1)].name for i in range(len(values))]
    made = [_typed(text, name, value, types[name]) for name, value in zip(positional, values, strict=True)]
    given = {key: _typed(text, key, value, types[key]) for key, value in options.items()}
    return PreprocessingStep(text, function, tuple(made), given, takes(function))


def _typed(text: str, name: str, value: Argument, wanted: type) -> Argument:
    if wanted is str:
        return value if isinstance(value, str) else f"{value:g}"
    if isinstance(value, str) or not np.isfinite(value) or (wanted is int and value != int(value)):
        kind = "a whole number" if wanted is int else "a number"
        raise MoteError(f"'{text}': {name} is '{value}', not {kind}", where=WHERE, remedy=f"give {kind}")
    return int(value) if wanted is int else value


def _loaded(file: str, function: str) -> Function:
    """A function of a Python file of the user's."""
    if not Path(file).is_file():
        raise MoteError("there is no such file", where=f"{WHERE} {file}", remedy="name the file of your function")
    try:
        loaded = run_path(file).get(function)
    except Exception as error:
        raise MoteError(f"cannot be run ({type(error).__name__}: {error})", where=f"{WHERE} {file}") from None
    if not callable(loaded):
        raise MoteError(f"has no function '{function}'", where=f"{WHERE} {file}", remedy="define it there")
    users: Function = loaded
    return users


def _users(function: Function, text: str) -> PreprocessingStep:
    """A function of the user's as a step."""

    def called(sample: Sample) -> Sample:
        try:
            values = np.asarray(function(sample.values))
        except Exception as error:
            reason = f"fails on {sample.name} ({type(error).__name__}: {error})"
            raise MoteError(reason, where=f"{WHERE} {text}", remedy="let it take and return an array") from None
        return sample.as_long(values)

    return PreprocessingStep(text, called)
