"""One sample on its way through preprocessing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mote.graph.tensor import Array


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

    def with_values(self, values: Array) -> Sample:
        """Other values for the same rows."""
        return replace(self, values=values)

    def framed(self, values: Array, frame: int, hop: int) -> Sample:
        """Rows that are each made from `frame` of these, `hop` rows apart."""
        first = self.first + (frame - 1) * self.period
        return replace(self, values=values, first=first, period=hop * self.period)

    def as_long(self, values: Array) -> Sample:
        """Rows that nobody says the times of: as evenly as they can be over the time that these take."""
        if not self.period or not values.ndim or len(values) == len(self.values):
            return self.with_values(values)
        period = len(self.values) * self.period / max(1, len(values))
        return replace(self, values=values, first=period, period=period)
