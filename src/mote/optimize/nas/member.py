"""A finished model of a search, with its accuracies, costs and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mote.base.notebook import card, sizes
from mote.optimize.nas.costs.network_costs import NetworkCosts
from mote.optimize.nas.family import MODEL


@dataclass(frozen=True)
class SearchMember:
    """A finished model of a search result."""

    name: str
    """Model name; its output folder has the same name."""
    family: str
    """Name of the search space or kind of model that it was chosen from."""
    description: str
    """One-line summary of the choice."""
    choice: Mapping[str, Any]
    """The choice: values by decision name."""
    validation: float
    """Accuracy of the quantized model on validation data; R2 for a regression."""
    test: float
    """Accuracy of the quantized model on test data, which took no part in the selection."""
    costs: NetworkCosts
    """Costs of the model compiled for the target."""
    files: Mapping[str, bytes] = field(repr=False)
    """Model file contents by name: `model.tflite` (quantized), `model.onnx` (float)."""
    model: str = MODEL
    """Name of the file that is compiled."""
    steps: str = ""
    """Preprocessing steps from raw samples to the model's input; empty for none."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Additional options of `mote.compile`."""

    @property
    def data(self) -> bytes:
        """Contents of the file that is compiled."""
        return self.files[self.model]

    def __repr__(self) -> str:
        return (
            f"<SearchMember {self.name!r}: test {self.test:.2%}, RAM {self.costs.ram:,} bytes, flash"
            f" {self.costs.flash:,} bytes, {self.costs.cycles:,} cycles>"
        )

    def _repr_html_(self) -> str:
        facts = {
            "test": f"{self.test:.2%}",
            "validation": f"{self.validation:.2%}",
            "RAM": sizes(self.costs.ram),
            "flash": sizes(self.costs.flash),
            "cycles": self.costs.cycles,
            "ms": milliseconds(self.costs),
            "uJ": microjoules(self.costs),
        }
        return card(self.name, facts, notes=[f"{self.family}: {self.description}"])

    def json(self) -> dict[str, Any]:
        """The member as JSON types, without file contents."""
        return {
            "name": self.name,
            "family": self.family,
            "description": self.description,
            "choice": dict(self.choice),
            "validation": self.validation,
            "test": self.test,
            "costs": self.costs.json(),
            "model": self.model,
            "files": sorted(self.files),
            "steps": self.steps or None,
            "options": dict(self.options),
        }


HEAD = ("model", "test", "validation", "RAM", "flash", "cycles", "ms", "uJ", "choice")


def row(member: SearchMember) -> tuple[object, ...]:
    """Table row of a member, with the columns of HEAD."""
    costs = member.costs
    return (
        member.name,
        f"{member.test:.2%}",
        f"{member.validation:.2%}",
        costs.ram,
        costs.flash,
        costs.cycles,
        milliseconds(costs),
        microjoules(costs),
        member.description,
    )


def milliseconds(costs: NetworkCosts) -> float | None:
    """Latency of an inference in milliseconds."""
    return None if costs.latency is None else round(costs.latency * 1e3, 3)


def microjoules(costs: NetworkCosts) -> float | None:
    """Energy of an inference in microjoules."""
    return None if costs.energy is None else round(costs.energy * 1e6, 3)
