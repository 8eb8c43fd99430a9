"""The steps of preprocessing: functions of a sample and the parameters that a user may give them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.features.audio import log_mel, mfcc, spectrogram
from mote.frontends.features.filtering import (
    band_pass,
    biquad,
    decimate,
    emphasized,
    fir,
    high_pass,
    low_pass,
    normalize,
    notched,
    remove_dc,
    running_normalize,
)
from mote.frontends.features.images import camera, crop, gray, resize
from mote.frontends.features.micro import micro_front_end
from mote.frontends.features.motion import motion_features
from mote.frontends.features.sample import WHERE, Sample
from mote.frontends.features.sensor import audio, motion
from mote.frontends.features.signal import Signal
from mote.ir.graph.tensor import Array

V = TypeVar("V", Sample, Signal)
"""Steps for both compute samples of data in float64, and become operators in a signal of integers."""
LARGEST = 1 << 28
"""Values that a step may make of one sample."""


def as_real(sample: Sample) -> Sample:
    """Whole numbers as real ones: quantized inputs then get what stands for them, and not themselves."""
    return sample.with_values(sample.real)


def scale(x: V, factor: float) -> V:
    """Multiply."""
    return x.mapped(factor)


def offset(x: V, value: float) -> V:
    """Add."""
    return x.mapped(offset=value)


def mean(x: V, *values: float) -> V:
    """Subtract one number, or one for each channel, which is the last axis."""
    return x.mapped(offset=-_channels("mean", x, values))


def std(x: V, *values: float) -> V:
    """Divide by one number, or one for each channel, which is the last axis."""
    if 0 in values:
        raise MoteError("std=0 divides by zero", where=WHERE, remedy="give the deviation of your data")
    return x.mapped(1 / _channels("std", x, values))


def clip(x: V, low: float, high: float) -> V:
    """Nothing below or above."""
    return x.clipped(low, high)


def shape(sample: Sample, *sizes: int) -> Sample:
    """Reshape; the rows of a recording are reshaped one by one."""
    rows = sample.values.shape[:1] if sample.period else ()
    if prod((*rows, *sizes)) != sample.values.size or min(sizes, default=0) < 1:
        wanted, there = ("x".join(map(str, s)) for s in ((*rows, *sizes), sample.values.shape))
        raise MoteError(f"{sample.name} is {there} and cannot be {wanted}", where=WHERE, remedy="as many values")
    return sample.with_values(sample.values.reshape(*rows, *sizes))


def channels_first(sample: Sample) -> Sample:
    """An image as [channels, height, width]."""
    return sample.with_values(np.ascontiguousarray(sample.image().transpose(2, 0, 1)))


def mono(x: V) -> V:
    """The mean of the channels of a sound."""
    return x.mono()


def peak(x: V) -> V:
    """A sound divided by the largest of its samples."""
    return x.over_peak()


def length(x: V, samples: int) -> V:
    """A sound of so many samples: zeros behind it, or nothing behind them."""
    if not 1 <= samples <= LARGEST:
        raise MoteError(f"length={samples} cannot be", where=WHERE, remedy=f"take from 1 to {LARGEST}")
    return x.cut(samples)


def slide(signal: Signal, rows: int) -> Signal:
    """An inference after every so many new rows of features, over windows that overlap."""
    if rows < 1:
        raise MoteError(f"slide={rows} cannot be", where=WHERE, remedy="give the new rows between two inferences")
    signal.builder.slide = rows
    return signal


def pre_emphasis(x: V, factor: float) -> V:
    """A sound less so much of the sample before each, which makes high tones louder."""
    if isinstance(x, Signal):
        return emphasized(x, factor)
    sound = _sound(x)
    before = np.concatenate([sound[:1] * 0, sound[:-1]])
    return x.with_values(sound - factor * before)


STEPS: dict[str, Callable[..., Any]] = {
    "audio": audio,
    "camera": camera,
    "motion": motion,
    "float": as_real,
    "scale": scale,
    "offset": offset,
    "mean": mean,
    "std": std,
    "clip": clip,
    "shape": shape,
    "gray": gray,
    "resize": resize,
    "crop": crop,
    "channels-first": channels_first,
    "mono": mono,
    "peak": peak,
    "length": length,
    "slide": slide,
    "pre-emphasis": pre_emphasis,
    "fir": fir,
    "biquad": biquad,
    "low-pass": low_pass,
    "high-pass": high_pass,
    "band-pass": band_pass,
    "notch": notched,
    "remove-dc": remove_dc,
    "decimate": decimate,
    "running-normalize": running_normalize,
    "normalize": normalize,
    "spectrogram": spectrogram,
    "log-mel": log_mel,
    "mfcc": mfcc,
    "motion-features": motion_features,
    "micro-frontend": micro_front_end,
}
"""All by name, as docs/improve/data.md lists them."""


def _channels(name: str, x: Sample | Signal, numbers: tuple[float, ...]) -> Array:
    if len(numbers) not in (1, x.channels):
        raise MoteError(
            f"{name} has {len(numbers)} numbers, and {x.name} has {x.channels} channels",
            where=WHERE,
            remedy="give one number, or one for each channel, before channels-first",
        )
    return np.array(numbers, np.float64)


def _sound(sample: Sample) -> Array:
    """[samples], of one channel."""
    return sample.mono().values
