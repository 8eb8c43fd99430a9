"""Where a signal begins: what a sensor gives, and how samples of data stand for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.features.sample import WHERE, Sample
from mote.frontends.features.signal import Signal, SignalBuilder, SignalKind, raw
from mote.ir.graph.tensor import Array, Shape

FULL_SCALE = 1 << 15


@dataclass(frozen=True)
class Sensor:
    """The raw input of a pipeline: int16 samples of some channels, or lines of a camera."""

    kind: SignalKind = SignalKind.SAMPLES
    """Samples or an image."""
    rate: int = 0
    """Samples a second; 0: not known yet."""
    channels: int = 1
    fraction: int = 15
    """Bits behind the binary point of samples."""
    scale: float = FULL_SCALE
    """Integers that a sample of data of 1.0 stands for."""
    shape: Shape = ()
    """Height, width and channels of an image, or height, bytes of a line and 1."""
    unpack: Callable[[Signal], Signal] | None = None
    """Adds the operators that make pixels of a camera's lines."""
    packed: Callable[[Array], Array] | None = None
    """A camera's lines that show an image of data."""

    def signal(self, builder: SignalBuilder, rows: int, unit: int) -> Signal:
        """The signal before the first step: of `rows` rows of `unit` samples, or of an image."""
        shape = (1, *self.shape) if self.kind is SignalKind.IMAGE else (1, rows, unit, self.channels)
        made = raw(builder, self.kind, shape, rate=self.rate, fraction=self.fraction)
        return made if self.unpack is None else self.unpack(made)

    def of(self, sample: Sample) -> Sensor:
        """The sensor that could have given a sample of data."""
        if self.kind is SignalKind.IMAGE or sample.is_image:
            if self.packed is not None:
                return self
            return replace(self, kind=SignalKind.IMAGE, shape=sample.pixels().shape, fraction=0)
        channels = sample.sound().shape[1]
        if self.rate and sample.rate and self.rate != sample.rate:
            raise MoteError(
                f"{sample.name} has {sample.rate} samples a second, and the steps are for {self.rate}",
                where=WHERE,
                remedy="resample the sounds, or state their rate",
            )
        return replace(self, rate=self.rate or sample.rate, channels=channels)

    def integers(self, sample: Sample) -> Array:
        """The sample as the sensor gives it: [samples, channels] of int16, or an image of uint8."""
        if self.kind is SignalKind.IMAGE:
            return sample.pixels() if self.packed is None else self.packed(sample.pixels())
        values = sample.sound()
        if sample.values.dtype.kind == "f":
            values = np.rint(values * self.scale)
        return np.clip(values, -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def audio(sensor: Sensor, rate: int = 16000, channels: int = 1) -> Sensor:
    """Sound of 16 bits, from -1 to 1."""
    return replace(
        sensor, kind=SignalKind.SAMPLES, rate=_positive("rate", rate), channels=_positive("channels", channels)
    )


def motion(sensor: Sensor, rate: int = 100, channels: int = 3, range: float = FULL_SCALE) -> Sensor:
    """Samples of 16 bits of a sensor with some channels. Its values stay integers; float data from -range to range
    stands for them."""
    if not range > 0:
        raise MoteError(f"a range of {range:g} cannot be", where=WHERE, remedy="give the largest value of the sensor")
    made = replace(
        sensor, kind=SignalKind.SAMPLES, rate=_positive("rate", rate), channels=_positive("channels", channels)
    )
    return replace(made, fraction=0, scale=FULL_SCALE / range)


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise MoteError(f"{name}={value} cannot be", where=WHERE, remedy="give a positive number")
    return value
