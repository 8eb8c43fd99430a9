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
"""Decimal places of an accuracy drop, so that equal drops compare equal despite float rounding."""


@dataclass(frozen=True)
class Sensitivity:
    """Loss of the model when one layer alone has a precision and all others stay float."""

    precision: str
    """The precision of the layer."""
    noise: float | None
    """Signal-to-noise ratio at the model's output in dB; None without any noise."""
    value: float
    """Value of the metric on a part of the labelled data."""


@dataclass(frozen=True)
class MixedLayer:
    """A layer with weights, together with the weightless operators that follow it."""

    index: int
    """Layer number in the report of `mote quantize`."""
    name: str
    """The name of the layer."""
    op: str
    """Operator kind."""
    precision: str
    """The precision that the search chose."""
    sensitivities: tuple[Sensitivity, ...]
    """Loss in each precision."""
    short: str = ""
    """The layer's short name, the same in all reports."""


@dataclass(frozen=True)
class MixedPoint:
    """Precisions of all layers, with score and costs of the model."""

    precisions: Choice
    """Precision of each layer."""
    value: float
    """Value of the metric on the data used in the search."""
    lost: float
    """Accuracy drop against the float model: the difference of shares, or the relative increase of distances."""
    kept: bool
    """Whether the accuracy drop is allowed, as far as it was evaluated."""
    instructions: int
    """Estimated cost of an inference in the target's unit (cycles or instructions)."""
    flash: int
    """Bytes of flash."""
    ram: int
    """Bytes of RAM."""
    noise: float | None = None
    """Signal-to-noise ratio in dB against the float model; None if equal."""
    measured: Mapping[str, Any] | None = None
    """Measured instructions, flash and RAM on the emulated target; None if not run."""
    context: str = ""
    """The confidence interval of an accuracy and the share of the largest class, as a text."""

    @property
    def name(self) -> str:
        """The precision if all layers share one, else "mixed"."""
        return self.precisions[0] if len(set(self.precisions)) == 1 else MIXED

    def cost(self, axis: str) -> int:
        value = getattr(self, axis) if self.measured is None else self.measured[axis]
        return int(value)


@dataclass(frozen=True)
class Guarded:
    """A model's score compared with the float model's."""

    where: str
    """Name of the data."""
    samples: int
    """Number of scored samples."""
    value: float
    """Score of the quantized model."""
    reference: float
    """Score of the float model."""
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
    """Model file name, or a description of the model object."""
    target: str
    """The target's name."""
    unit: str
    """Unit of estimated costs: cycles or instructions, depending on the target."""
    cheapest: str
    """The cost that was minimized: instructions, flash or ram."""
    metric: str
    """Name of the accuracy metric."""
    allowed: float
    """The allowed accuracy drop."""
    guard: float
    """Worst allowed value of the metric on the data used in the search."""
    test: Guarded
    """Score of the chosen model on all labelled data, which had to meet the accuracy limit."""
    validation: Guarded | None
    """Score of the chosen model on held-out data; None without such data."""
    chosen: MixedPoint
    """The chosen point."""
    layers: tuple[MixedLayer, ...]
    """The layers with their sensitivities."""
    points: tuple[MixedPoint, ...]
    """Pareto front over metric, instructions, flash and RAM."""
    dominated: tuple[MixedPoint, ...]
    """Points off the Pareto front."""
    evaluations: int
    """Number of scored models, excluding single-layer probes."""
    tools: str
    """Emulator and compiler that measured the points; empty if none was measured."""
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
    """Accuracy drop against the float model: the difference of values where higher is better, the relative increase
    where lower is better."""
    value, exact = result["value"], reference["value"]
    if reference["better"] == HIGHER:
        return round(float(exact - value), DIGITS)
    return round(float(value / exact - 1), DIGITS) if exact else float(value > 0)
