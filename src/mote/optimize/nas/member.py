"""A model of the front of a search, with its accuracies, costs and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mote.base.notebook import card, sizes
from mote.optimize.nas.costs.network_costs import NetworkCosts
from mote.optimize.nas.family import MODEL


@dataclass(frozen=True)
class SearchMember:
    """A model of the front."""

    name: str
    """Its name, and that of its folder."""
    family: str
    """The space, or the kind of model, that it was chosen from."""
    description: str
    """The choice in a few words."""
    choice: Mapping[str, Any]
    """The choice, by the name of a decision."""
    validation: float
    """Accuracy of the quantized model on held-out data; of a regression the coefficient of determination."""
    test: float
    """Accuracy of the quantized model on the test data, which nothing was chosen by."""
    costs: NetworkCosts
    """Costs of the model as it is compiled for the target."""
    files: Mapping[str, bytes] = field(repr=False)
    """The model files by name: `model.tflite` (quantized), `model.onnx` (float)."""
    model: str = MODEL
    """The file that is compiled."""
    steps: str = ""
    """Preprocessing of raw samples, behind which the model takes them; empty: as they are."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further options of `mote.compile`."""

    @property
    def data(self) -> bytes:
        """The model that is compiled."""
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
        """The member as JSON types, without the bytes of its files."""
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
    """The columns of HEAD for a member."""
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
    """The time of an inference in milliseconds."""
    return None if costs.latency is None else round(costs.latency * 1e3, 3)


def microjoules(costs: NetworkCosts) -> float | None:
    """The energy of an inference in microjoules."""
    return None if costs.energy is None else round(costs.energy * 1e6, 3)
