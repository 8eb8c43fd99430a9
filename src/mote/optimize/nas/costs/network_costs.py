"""Costs of a network on a target, and the limits that they must not exceed."""

from __future__ import annotations

from dataclasses import dataclass

from mote.base.results import Record


@dataclass(frozen=True)
class NetworkCosts(Record):
    """Costs of an int8 model, as `mote compile` plans it for the target."""

    ram: int
    """Bytes of the tensor arena and of other variables."""
    flash: int
    """Bytes of code and constants."""
    cycles: int
    """Modelled cycles of an inference."""
    latency: float | None = None
    """Seconds of an inference at the clock of the part; None where the target has no clock."""
    energy: float | None = None
    """Joules of an inference; None where the target has no energy model."""

    @property
    def milliseconds(self) -> float | None:
        """The time of an inference in milliseconds."""
        return None if self.latency is None else round(self.latency * 1e3, 3)

    @property
    def microjoules(self) -> float | None:
        """The energy of an inference in microjoules."""
        return None if self.energy is None else round(self.energy * 1e6, 3)


@dataclass(frozen=True)
class CostLimits:
    """Upper limits of a network's costs; None is no limit."""

    ram: int | None = None
    flash: int | None = None
    cycles: int | None = None
    latency: float | None = None
    """Seconds of an inference."""


@dataclass(frozen=True)
class DoesNotFit:
    """Result for a network that exceeds a limit or that the compiler rejects."""

    reason: str
