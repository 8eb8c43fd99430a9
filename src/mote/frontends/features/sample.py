"""One sample of data on its way through preprocessing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mote.base.errors import MoteError
from mote.ir.graph.tensor import Array

WHERE = "option preprocess"
BRIGHTEST = 255


@dataclass(frozen=True, eq=False)
class Sample:
    """An image [height, width, channels], a sound [samples] or [samples, channels], or any other array."""

    values: Array
    name: str = "sample"
    """The name of the sample in messages."""
    rate: int = 0
    """Samples a second, of a sound."""
    first: float = 0.0
    period: float = 0.0
    """The second at which the first row along axis 0 has ended, and the seconds from there to the end of the next."""
    is_image: bool = False
    """It has pixels from 0 to 255."""

    @property
    def real(self) -> Array:
        return self.values.astype(np.float64)

    @property
    def channels(self) -> int:
        """Values that element-wise steps may have a parameter for each of."""
        return self.values.shape[-1] if self.values.ndim else 1

    def with_values(self, values: Array) -> Sample:
        """Other values for the same rows."""
        return replace(self, values=values)

    def as_long(self, values: Array) -> Sample:
        """Rows that nobody says the times of: as evenly as they can be over the time that these take."""
        if not self.period or not values.ndim or len(values) == len(self.values):
            return self.with_values(values)
        period = len(self.values) * self.period / max(1, len(values))
        return replace(self, values=values, first=period, period=period)

    def mapped(self, factor: Array | float = 1.0, offset: Array | float = 0.0) -> Sample:
        """value * factor + offset, element-wise."""
        return self.with_values(self.real * factor + offset)

    def clipped(self, low: float, high: float) -> Sample:
        """Nothing below or above."""
        return self.with_values(np.clip(self.real, low, high))

    def sound(self) -> Array:
        """[samples, channels]."""
        if self.values.ndim not in (1, 2) or not self.values.size:
            there = "x".join(map(str, self.values.shape)) or "one number"
            raise MoteError(f"{self.name} is {there}, no sound", where=WHERE, remedy="give samples x channels")
        return self.real.reshape(len(self.values), -1)

    def image(self) -> Array:
        """[height, width, channels]."""
        values = self.values[..., None] if self.values.ndim == 2 else self.values
        if values.ndim != 3 or not values.size:
            there = "x".join(map(str, self.values.shape)) or "one number"
            raise MoteError(f"{self.name} is {there}, no image", where=WHERE, remedy="give height x width x channels")
        return values

    def pixels(self) -> Array:
        """[height, width, channels] of uint8."""
        values = self.image()
        if values.dtype == np.uint8:
            return values
        rounded = np.rint(values.astype(np.float64))
        scaled = values.max() <= 1 and not np.array_equal(rounded, values)
        if scaled or not (rounded.min() >= 0 and rounded.max() <= BRIGHTEST):
            raise MoteError(
                f"{self.name} has values from {values.min():g} to {values.max():g}, and pixels are from 0 to 255",
                where=WHERE,
                remedy="store images as bytes, and scale them behind steps on images",
            )
        return rounded.astype(np.uint8)

    def mono(self) -> Sample:
        """The mean of the channels of a sound."""
        return self.with_values(self.sound().mean(1))

    def over_peak(self) -> Sample:
        """A sound divided by the largest of its samples."""
        sound = self.mono().values
        largest = sound.max(initial=0)
        return self.with_values(sound / largest if largest > 0 else sound)

    def cut(self, samples: int) -> Sample:
        """A sound of so many samples: zeros behind it, or nothing behind them."""
        sound = self.sound()[:samples]
        padded = np.pad(sound, ((0, samples - len(sound)), (0, 0)))
        return self.with_values(padded.reshape(samples, *self.values.shape[1:]))
