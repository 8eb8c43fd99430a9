"""Preprocessing of samples, as the user states it: named steps with parameters.

`scale=1/255,mean(0.5,0.4,0.3),channels-first` is three steps; `name=value` is short for `name(value)`. A Python file
and a function in it, `mine.py:prepare`, is a step as well: it takes the array of a sample and returns another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from inspect import Parameter, signature
from itertools import takewhile
from pathlib import Path
from runpy import run_path
from typing import Any, TypeVar, get_type_hints

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.features.building import built, evaluated
from mote.frontends.features.filtering import decimate
from mote.frontends.features.images import IMAGE_STEPS
from mote.frontends.features.sample import WHERE, Sample
from mote.frontends.features.sensor import Sensor
from mote.frontends.features.signal import Signal
from mote.frontends.features.stated import Argument, parts, stated
from mote.frontends.features.steps import STEPS, length
from mote.ir.graph import Graph

Function = Callable[[Any], Any]
T = TypeVar("T")
_CODE = re.compile(r"(?P<file>.+\.py):(?P<function>[A-Za-z_]\w*)")
EXAMPLE = "resize=32x32,scale=1/255"
RATE = 16000
"""Samples a second of a microphone, where no step says it."""


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

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters by name, those that nobody stated with their defaults."""
        whole = signature(self.function)
        bound = whole.bind(None, *self.values, **self.options)
        bound.apply_defaults()
        _, *given = bound.arguments.items()
        return {n: list(v) if whole.parameters[n].kind is Parameter.VAR_POSITIONAL else v for n, v in given}


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
    def compiled(self) -> bool:
        """Whether all steps become operators, which can stand before a model."""
        kinds = {step.takes for step in self.steps}
        return Takes.SAMPLE not in kinds and bool(kinds & {Takes.SENSOR, Takes.SIGNAL})

    @property
    def clip(self) -> Preprocessing:
        """The steps that make raw samples as many as a clip has."""
        return Preprocessing(tuple(step for step in self.steps if step.function is length))

    @property
    def sensor(self) -> Sensor:
        """The sensor that the steps name."""
        sensor = Sensor()
        for step in self.steps:
            sensor = step(sensor) if step.takes is Takes.SENSOR else sensor
        return sensor

    @property
    def operators(self) -> tuple[PreprocessingStep, ...]:
        """The steps behind the sensor, which become operators or run in Python."""
        return tuple(step for step in self.steps if step.takes is not Takes.SENSOR)

    @property
    def rate(self) -> int:
        """Raw samples a second: those of the sensor, else as a step states for the samples that decimation before it
        leaves, else 16 kHz."""
        if self.sensor.rate:
            return self.sensor.rate
        decimation = 1
        for step in self.operators:
            given = step.parameters
            if given.get("rate"):
                return decimation * int(given["rate"])
            decimation *= given["factor"] if step.function is decimate else 1
        return RATE

    def __call__(self, sample: Sample) -> Sample:
        steps = self.operators
        named = len(steps) < len(self.steps)
        integers = named or sample.is_image or bool(sample.rate)
        while steps or named:
            run = tuple(takewhile(lambda step: step.takes in (Takes.BOTH, Takes.SIGNAL), steps))
            if named or any(step.takes is Takes.SIGNAL for step in run) or (run == steps and integers):
                sample = self._computed(run, sample)
            else:
                run = steps[:1]
                sample = run[0](sample)
            named = integers = False
            steps = steps[len(run) :]
        return sample.with_values(sample.values.astype(np.float32)) if sample.values.dtype == np.float64 else sample

    def _computed(self, steps: tuple[PreprocessingStep, ...], sample: Sample) -> Sample:
        """The sample after steps that are operators: these are evaluated in NumPy."""
        if any(step.function in IMAGE_STEPS for step in steps):
            sample = replace(sample, is_image=True)
        sensor = self.sensor.of(sample)
        values = sensor.integers(sample)
        key = tuple(step.text for step in steps), sensor.kind, sensor.rate, values.shape
        if key not in self._built:
            self._built[key] = built(steps, sensor, len(values))
        signal, graph = self._built[key]
        return evaluated(signal, graph, values, sample)


def preprocessing(given: str | Preprocessing | Function | None) -> Preprocessing:
    """The steps that a text states; a function of the user's is one step."""
    if given is None or isinstance(given, Preprocessing):
        return given or Preprocessing()
    if isinstance(given, str):
        return Preprocessing(tuple(_step(text) for text in parts(given, WHERE, EXAMPLE)))
    return Preprocessing((_users(given, getattr(given, "__name__", "function")),))


def takes(function: Callable[..., Any]) -> Takes:
    """What a step's function is given, by the type of its first parameter."""
    first = get_type_hints(function)[next(iter(signature(function).parameters))]
    return next((kind for kind in Takes if kind.value is first), Takes.BOTH)


def _step(text: str) -> PreprocessingStep:
    if code := _CODE.fullmatch(text):
        return _users(_loaded(code["file"], code["function"]), text)
    step = stated(text, STEPS, WHERE, ", or file.py:function")
    return PreprocessingStep(text, step.function, step.values, step.options, takes(step.function))


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
