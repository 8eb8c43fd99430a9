"""The result of a mixed-precision search as data: layers, points, the Pareto front, and plots of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mote.base.notebook import sizes, table
from mote.base.results import ItemTable, Result
from mote.bench.metrics.score import HIGHER
from mote.bench.pictures import trade
from mote.optimize.compress.quantize.post_training import Quantized
from mote.optimize.search.choices import Choice

AXES = ("instructions", "flash", "ram")
MIXED = "mixed"
DIGITS = 9
"""Decimal places kept of an accuracy drop: the difference of two shares of samples is rounded in the last of a float's
16."""


@dataclass(frozen=True)
class Sensitivity:
    """The loss when one layer alone has a precision and all others stay float."""

    precision: str
    """The precision of the layer."""
    noise: float | None
    """Signal-to-noise ratio at the model's output in dB; None where nothing is lost."""
    value: float
    """The metric on a sample of the labelled data."""


@dataclass(frozen=True)
class MixedLayer:
    """A layer with weights, and the operators without weights that follow it."""

    index: int
    """The layer's number in the report of `mote quantize`."""
    name: str
    """The name of the layer."""
    op: str
    """The operator."""
    precision: str
    """The precision that the search chose."""
    sensitivities: tuple[Sensitivity, ...]
    """The loss with each precision."""
    short: str = ""
    """The layer's short name, the same in all reports."""


@dataclass(frozen=True)
class MixedPoint:
    """A choice of precisions for all layers, with its score and costs."""

    precisions: Choice
    """The precision of each layer."""
    value: float
    """The metric on the data of the search."""
    lost: float
    """Accuracy drop against the float model: the difference of shares, or the relative increase of distances."""
    kept: bool
    """Whether the accuracy constraint is met, as far as it was evaluated."""
    instructions: int
    """The planner's estimate, in the unit of the target's costs."""
    flash: int
    """Bytes of flash."""
    ram: int
    """Bytes of RAM."""
    noise: float | None = None
    """Signal-to-noise ratio in dB against the float model; None where nothing differs."""
    measured: Mapping[str, Any] | None = None
    """Instructions, flash and RAM on the emulated target."""
    context: str = ""
    """The confidence interval of an accuracy and the share of the largest class, as a text."""

    @property
    def name(self) -> str:
        """The precision that all layers have, or "mixed"."""
        return self.precisions[0] if len(set(self.precisions)) == 1 else MIXED

    def cost(self, axis: str) -> int:
        value = getattr(self, axis) if self.measured is None else self.measured[axis]
        return int(value)


@dataclass(frozen=True)
class Guarded:
    """A score next to that of the float model."""

    where: str
    """The data."""
    samples: int
    """Samples that were scored."""
    value: float
    """The score."""
    reference: float
    """The score of the float model."""
    lost: float
    """Accuracy drop against the float model."""
    context: str = ""
    """The confidence interval of an accuracy and the share of the largest class, as a text."""


@dataclass(frozen=True, eq=False)
class Mixed(Result):
    """The result of a mixed-precision search."""

    TITLE = "{model} for {target}"
    ROWS = ItemTable("layers", "#=index, op, name, precision", left=4, title="layers")
    NOTES = "warnings"
    JSON = (
        "model, target, unit, cheapest, metric, allowed, guard, test, validation, chosen, layers, points, dominated,"
        " evaluations, tools?, warnings, quantized"
    )

    model: str
    """The model's file, or what its object is called."""
    target: str
    """The target's name."""
    unit: str
    """Unit of the estimated costs: the target's costs are in cycles or instructions."""
    cheapest: str
    """The cost that was minimised."""
    metric: str
    """The metric of the accuracy."""
    allowed: float
    """The allowed accuracy drop."""
    guard: float
    """The worst value of the metric that is allowed on the data of the search."""
    test: Guarded
    """Scores of the choice on all labelled data, which decided."""
    validation: Guarded | None
    """Scores of the choice on held-out data."""
    chosen: MixedPoint
    """The choice of the search."""
    layers: tuple[MixedLayer, ...]
    """The layers with their sensitivities."""
    points: tuple[MixedPoint, ...]
    """The Pareto front over metric, instructions, flash and RAM."""
    dominated: tuple[MixedPoint, ...]
    """Points that another one beats."""
    evaluations: int
    """Models that were scored, without the probes of single layers."""
    tools: str
    """The tools that measured the points; empty where none was measured."""
    quantized: Quantized
    """The quantized model."""
    warnings: tuple[str, ...]
    """Warnings about the model and the data."""

    def __repr__(self) -> str:
        chosen = self.chosen
        return (
            f"<Mixed {self.model!r} for {self.target}: {self.metric} {self.test.value:.4g} (float"
            f" {self.test.reference:.4g}), {self.cheapest} {chosen.cost(self.cheapest):,}>"
        )

    def svg(self) -> str:
        """Plots the metric over instructions, flash and RAM."""
        every = (*self.points, *self.dominated)
        panels = [
            trade.Panel(
                f"instructions ({self.unit}, estimated)" if axis == "instructions" and not self.tools else axis,
                [
                    trade.TradeDot(p.cost(axis), p.value, _tip(p), p == self.chosen)
                    for p in every
                    if p.measured is not None or not self.tools
                ],
            )
            for axis in AXES
        ]
        return trade.trade(panels, f"{Path(self.model).name} for {self.target}", self.metric, self.guard)

    def _facts(self) -> dict[str, object]:
        return {
            self.metric: self.test.value,
            "for comparison": self.test.context or None,
            "float model": self.test.reference,
            "flash": sizes(self.chosen.cost("flash")),
            "RAM": sizes(self.chosen.cost("ram")),
            "models scored": self.evaluations,
        }

    def _parts(self) -> list[str]:
        rows = [
            (f"{point.name}{', chosen' if point is self.chosen else ''}", point.value, *map(point.cost, AXES))
            for point in self.points
        ]
        return [table(("point", self.metric, *AXES), rows), *super()._parts()]


def _tip(point: MixedPoint) -> str:
    return f"{point.name}: {point.value:.4g}\n" + ", ".join(point.precisions)


def loss(result: Mapping[str, Any], reference: Mapping[str, Any]) -> float:
    """Accuracy drop of a score against the float model: the difference of shares; for distances (lower is better) the
    relative increase."""
    value, exact = result["value"], reference["value"]
    if reference["better"] == HIGHER:
        return round(float(exact - value), DIGITS)
    return round(float(value / exact - 1), DIGITS) if exact else float(value > 0)
