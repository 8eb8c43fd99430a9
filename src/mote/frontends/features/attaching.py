"""Preprocessing before a model: one graph from raw samples to the model's outputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.features.building import applied, surveyed
from mote.frontends.features.images import IMAGE_STEPS
from mote.frontends.features.pipeline import Preprocessing, PreprocessingStep, Takes, preprocessing
from mote.frontends.features.sample import WHERE
from mote.frontends.features.sensor import Sensor
from mote.frontends.features.signal import ROWS, Signal, SignalBuilder, SignalKind
from mote.frontends.features.steps import channels_first
from mote.ir.graph import Graph, State, Tensor
from mote.ir.graph.rows import row_count
from mote.ir.ops.control.state import SlidingWindow

LONGEST_ROW = 512
"""Samples of a row where no step has windows."""


@dataclass(frozen=True, eq=False)
class FrontEnd:
    """Preprocessing before a model."""

    graph: Graph
    """From raw samples, or a camera's lines, to the model's input."""
    whole: Graph
    """From raw samples, or a camera's lines, to the model's outputs."""
    sensor: Sensor
    samples: int
    """New raw samples of an inference; lines of an image."""

    @property
    def raw(self) -> Tensor:
        return self.graph.tensors[self.graph.inputs[0]]

    @property
    def period(self) -> float | None:
        """Seconds from one inference to the next, where the sensor has a rate."""
        return self.samples / self.sensor.rate if self.sensor.kind is SignalKind.SAMPLES and self.sensor.rate else None


def attached(model: Graph, steps: str | Preprocessing) -> FrontEnd:
    """A model behind its preprocessing."""
    stated = preprocessing(steps)
    if len(model.inputs) != 1:
        raise MoteError(f"the model has {len(model.inputs)} inputs, and preprocessing makes one", where=WHERE)
    target = model.tensors[model.inputs[0]]
    functions = _compiled(stated)
    sensor = stated.sensor
    if sensor.kind is SignalKind.SAMPLES:
        sensor = replace(sensor, rate=stated.rate)
    goes_on = target.newest is not None or bool(model.states)
    slide = surveyed(functions, sensor, streaming=goes_on).builder.slide
    streaming = goes_on or bool(slide)
    survey = surveyed(functions, sensor, streaming=streaming)
    rows = _rows(survey, target)
    fresh = slide or rows
    samples = _samples(survey, fresh, streaming)
    unit = _unit(survey, samples)
    builder = SignalBuilder(model.fresh_id(), streaming=streaming)
    signal = applied(functions, sensor.signal(builder, samples // unit, unit))
    if signal.kind is SignalKind.FEATURES and signal.rows != fresh:
        raise MoteError(
            f"length={survey.builder.length} gives {signal.rows} rows of features, and the model takes {fresh}",
            where=WHERE,
            remedy=f"{_samples(replace(survey, builder=SignalBuilder()), fresh, streaming)} samples give as many",
        )
    waits = -(-builder.looks_back // samples) + -(-(rows - fresh) // fresh)
    _finish(builder, signal, target, fresh, rows)
    raw = builder.tensors[builder.first]
    front = Graph("preprocessing", builder.tensors, tuple(builder.ops), (raw.id,), (target.id,), tuple(builder.states))
    whole = replace(
        model,
        tensors={**builder.tensors, **model.tensors},
        ops=(*builder.ops, *model.ops),
        inputs=(raw.id,),
        states=(*builder.states, *model.states),
        warm_up=max(model.warm_up, 1) + waits if waits or model.warm_up else 0,
    )
    return FrontEnd(front.verify(), whole.verify(), sensor, samples)


def _compiled(stated: Preprocessing) -> tuple[PreprocessingStep, ...]:
    """The steps that add operators; refuses those that no device can run, or for another sensor."""
    if not any(step.takes in (Takes.SENSOR, Takes.SIGNAL) for step in stated.steps):
        raise MoteError(
            f"'{stated}' does not say what is measured",
            where=WHERE,
            remedy="begin with the sensor: audio(16000), motion(100) or camera(320x240)",
        )
    for step in stated.steps:
        if step.function is channels_first:
            raise MoteError(
                f"'{step.text}' is for data: on a device images have channels last", where=WHERE, remedy="leave it out"
            )
        if step.takes is Takes.SAMPLE:
            raise MoteError(
                f"'{step.text}' runs in Python only", where=WHERE, remedy="leave it out, or use steps that are compiled"
            )
        if step.function in IMAGE_STEPS and stated.sensor.kind is not SignalKind.IMAGE:
            raise MoteError(
                f"'{step.text}' takes images, and there is no camera",
                where=WHERE,
                remedy="begin with it: camera(320x240,rgb565)",
            )
    return stated.operators


def _rows(signal: Signal, target: Tensor) -> int:
    """Rows of features, or pixels of lines, that make the model's input."""
    made = prod(signal.tensor.shape[1:]) if signal.kind is SignalKind.IMAGE else signal.channels
    fits = target.size == made if signal.kind is SignalKind.IMAGE else target.size % made == 0
    if not fits:
        shape = "x".join(map(str, target.shape))
        given = signal.tensor.shape[1:] if signal.kind is SignalKind.IMAGE else (signal.channels,)
        raise MoteError(
            f"its steps give {signal.kind} of {'x'.join(map(str, given))}, of which the model's {shape} cannot be made",
            where=WHERE,
            remedy="state the steps, and their parameters, that the model was trained with",
        )
    return target.size // made if signal.kind is not SignalKind.IMAGE else row_count(target.shape)


def _samples(signal: Signal, rows: int, streaming: bool) -> int:
    """New raw samples of an inference."""
    if signal.kind is SignalKind.IMAGE:
        return signal.builder.tensors[signal.builder.first].shape[ROWS]
    if streaming:
        return rows * signal.period
    return signal.builder.length or signal.span + (rows - 1) * signal.period


def _unit(signal: Signal, samples: int) -> int:
    """Samples of a row: what windows, hops and the clip are multiples of."""
    if signal.kind is SignalKind.IMAGE:
        return samples
    if signal.builder.unit:
        return gcd(signal.builder.unit, samples)
    return max(n for n in range(1, min(samples, LONGEST_ROW) + 1) if samples % n == 0 and n % signal.period == 0)


def _finish(builder: SignalBuilder, signal: Signal, target: Tensor, fresh: int, rows: int) -> None:
    """The model's input, of which `fresh` rows are new with each inference."""
    if fresh == rows:
        signal.into(target)
        return
    if row_count(target.shape) != rows or not 0 < fresh < rows:
        raise MoteError(
            f"slide={fresh}: the model's input of {'x'.join(map(str, target.shape))} has {rows} rows of features",
            where=WHERE,
            remedy="slide by fewer rows than the window has",
        )
    shape = tuple(fresh if axis == ROWS else n for axis, n in enumerate(target.shape))
    new = builder.tensor("new rows", shape, target.dtype, target.quant)
    signal.into(new)
    before = builder.tensor("window", target.shape, target.dtype, target.quant)
    builder.tensors[target.id] = target
    silence = np.full(target.shape, target.zero_point, target.dtype.numpy)
    builder.states.append(State(before.id, target.id, silence))
    builder.ops.append(SlidingWindow(inputs=(before.id, new.id), outputs=(target.id,), name="window", axis=ROWS))
