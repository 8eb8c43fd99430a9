"""What a search for precisions has found, as data: layers, points, the front, and pictures of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mote.compress.quantize.post_training import Quantized
from mote.metrics.score import HIGHER
from mote.report import trade
from mote.search.choices import Choice

AXES = ("instructions", "flash", "ram")
MIXED = "mixed"
DIGITS = 9
"""Of what is lost: the difference of two shares of samples is rounded in the last of a float's 16."""


@dataclass(frozen=True)
class Sensitivity:
    """What is lost when one layer alone has a precision, and all others compute with real numbers."""

    precision: str
    noise: float | None
    """Decibels of signal to noise at the model's output; None where nothing is lost."""
    value: float
    """The metric, on a sample of the labelled data."""


@dataclass(frozen=True)
class MixedLayer:
    """A layer with weights, and what stands behind it up to the next."""

    index: int
    """Its number in the report of `mote quantize`."""
    name: str
    op: str
    precision: str
    """What it got."""
    sensitivities: tuple[Sensitivity, ...]


@dataclass(frozen=True)
class MixedPoint:
    """Precisions of all layers, and what comes of them."""

    precisions: Choice
    value: float
    """The metric on the data of the search."""
    lost: float
    """How much worse than the model of real numbers: of shares the difference, of distances the part."""
    kept: bool
    """Whether the guard is kept, as far as it was tried."""
    instructions: int
    """By the planner's estimate, in the unit of the target's costs."""
    flash: int
    ram: int
    noise: float | None = None
    """Decibels of signal to noise, against the float model; None where nothing differs."""
    measured: Mapping[str, Any] | None = None
    """Instructions, flash and RAM on the emulated target."""

    @property
    def name(self) -> str:
        """What all layers have, or that they differ."""
        return self.precisions[0] if len(set(self.precisions)) == 1 else MIXED

    def cost(self, axis: str) -> int:
        found = getattr(self, axis) if self.measured is None else self.measured[axis]
        return int(found)


@dataclass(frozen=True)
class Guarded:
    """A score beside that of the model of real numbers."""

    where: str
    samples: int
    value: float
    reference: float
    lost: float


@dataclass(frozen=True, eq=False)
class Mixed:
    """What a search for precisions has found."""

    model: str
    target: str
    unit: str
    """Of the estimates of instructions: the target's costs are in cycles or instructions."""
    cheapest: str
    metric: str
    allowed: float
    """How much may be lost."""
    guard: float
    """The worst value of the metric that may be, on the data of the search."""
    test: Guarded
    """The choice on all labelled data, by which it was chosen."""
    validation: Guarded | None
    """The choice on data that the search has not seen."""
    chosen: MixedPoint
    layers: tuple[MixedLayer, ...]
    points: tuple[MixedPoint, ...]
    """The front: none is worse than another in metric, instructions, flash and RAM at once."""
    dominated: tuple[MixedPoint, ...]
    evaluations: int
    """Models that were scored, without the probes of single layers."""
    tools: str
    """By which points were measured; empty where none was."""
    quantized: Quantized
    warnings: tuple[str, ...]

    def json(self) -> dict[str, Any]:
        found = {
            name: getattr(self, name) for name in ("model", "target", "unit", "cheapest", "metric", "allowed", "guard")
        }
        return found | {
            "test": asdict(self.test),
            "validation": None if self.validation is None else asdict(self.validation),
            "chosen": asdict(self.chosen),
            "layers": [asdict(layer) for layer in self.layers],
            "points": [asdict(point) for point in self.points],
            "dominated": [asdict(point) for point in self.dominated],
            "evaluations": self.evaluations,
            "tools": self.tools or None,
            "warnings": list(self.warnings),
            "quantized": self.quantized.json(),
        }

    def svg(self) -> str:
        """The metric over instructions, flash and RAM."""
        every = (*self.points, *self.dominated)
        panels = [
            trade.Panel(
                f"instructions ({self.unit}, estimated)" if axis == "instructions" and not self.tools else axis,
                [
                    trade.Dot(p.cost(axis), p.value, _tip(p), p == self.chosen)
                    for p in every
                    if p.measured is not None or not self.tools
                ],
            )
            for axis in AXES
        ]
        return trade.trade(panels, f"{Path(self.model).name} for {self.target}", self.metric, self.guard)


def _tip(point: MixedPoint) -> str:
    return f"{point.name}: {point.value:.4g}\n" + ", ".join(point.precisions)


def loss(result: Mapping[str, Any], reference: Mapping[str, Any]) -> float:
    """How much worse a score is than that of real numbers: the difference of shares; of distances, of which less is
    better, by how much it is larger."""
    value, exact = result["value"], reference["value"]
    if reference["better"] == HIGHER:
        return round(float(exact - value), DIGITS)
    return round(float(value / exact - 1), DIGITS) if exact else float(value > 0)
