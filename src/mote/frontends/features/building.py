"""Steps as a graph of operators: for one sample of data, or before a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mote.frontends.features.sample import Sample
from mote.frontends.features.sensor import Sensor
from mote.frontends.features.signal import Signal, SignalBuilder, SignalKind
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array

PLENTY = 256 * 720720
"""Samples of a row of a signal of any length: all numbers up to 16 divide it, and many powers of two."""
ROWS = 8


def surveyed(steps: Sequence[Callable[[Any], Any]], sensor: Sensor, *, streaming: bool = False) -> Signal:
    """The signal after the steps, of samples of any length: its builder knows the units, its span and period how many
    samples it takes."""
    return applied(steps, sensor.signal(SignalBuilder(streaming=streaming, surveying=True), ROWS, PLENTY))


def built(steps: Sequence[Callable[[Any], Any]], sensor: Sensor, samples: int) -> tuple[Signal, Graph | None]:
    """The signal after the steps for a clip of so many samples, and the graph that computes it; None where it has no
    operators."""
    builder = SignalBuilder()
    if sensor.kind is SignalKind.IMAGE:
        signal = applied(steps, sensor.signal(builder, 0, 0))
    else:
        survey = surveyed(steps, sensor)
        samples = survey.builder.length or samples
        if survey.kind is SignalKind.FEATURES and samples < survey.span:
            raise survey.refuse(
                f"it has {samples:,} samples, and a frame takes {survey.span:,}", "make it longer: length=SAMPLES"
            )
        unit = survey.builder.unit or max(samples - samples % survey.period, survey.period)
        signal = applied(steps, sensor.signal(builder, max(samples // unit, 1), unit))
    return signal, clip_graph(signal) if builder.ops else None


def row_by_row(steps: Sequence[Callable[[Any], Any]], sensor: Sensor) -> tuple[Signal, Graph]:
    """The signal after the steps of a stream, one row of features at a time, and the graph that computes it."""
    survey = surveyed(steps, sensor, streaming=True)
    unit = survey.builder.unit or survey.period
    builder = SignalBuilder(streaming=True)
    signal = applied(steps, sensor.signal(builder, survey.period // unit, unit))
    return signal, clip_graph(signal)


def clip_graph(signal: Signal) -> Graph:
    """The graph from the raw input to a signal."""
    first = signal.builder.tensors[signal.builder.first]
    return signal.builder.graph(first, signal.tensor, "preprocessing")


def applied(steps: Sequence[Callable[[Any], Any]], signal: Signal) -> Signal:
    for step in steps:
        signal = step(signal)
    return signal.settled()


def evaluated(signal: Signal, graph: Graph | None, integers: Array, sample: Sample) -> Sample:
    """The real values that a signal has for the integers of a sensor, and the times of its rows."""
    raw = signal.builder.tensors[signal.builder.first]
    if signal.kind is SignalKind.IMAGE or raw.shape[1] * raw.shape[2] == len(integers):
        given = integers
    else:
        given = _fitted(integers, raw.shape[1] * raw.shape[2])
    given = given.reshape(raw.shape)
    values = given if graph is None else graph.evaluate({raw.id: given})[signal.tensor.id]
    real = signal.line(_as_data(signal, values))
    first = sample.first + (signal.span - 1) * sample.period
    return replace(sample, values=real, is_image=False, first=first, period=signal.period * sample.period)


def _fitted(samples: Array, count: int) -> Array:
    """So many samples: zeros behind them, or nothing."""
    made = samples[:count]
    if len(made) == count:
        return made
    fitted: Array = samples.copy()
    fitted.resize((count, samples.shape[1]), refcheck=False)
    return fitted


def _as_data(signal: Signal, values: Array) -> Array:
    """Values in the shape that data has: samples in order, features by rows, an image."""
    if signal.kind is SignalKind.FEATURES:
        return values.reshape(signal.rows, -1)
    if signal.kind is SignalKind.IMAGE:
        return values.reshape(values.shape[1:])
    samples = values.reshape(-1, values.shape[-1])
    return samples[:, 0] if samples.shape[1] == 1 else samples
