"""Costs of a network on a target, and the limits that they must not exceed."""

from __future__ import annotations

from dataclasses import dataclass

from mote.base.results import Result


@dataclass(frozen=True)
class NetworkCosts(Result):
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
