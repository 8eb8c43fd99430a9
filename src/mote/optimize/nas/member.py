"""A model of the front of a search, with its accuracies, costs and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mote.base.results import ItemTable, Result
from mote.optimize.nas.costs.network_costs import NetworkCosts
from mote.optimize.nas.family import MODEL


@dataclass(frozen=True, repr=False)
class SearchMember(Result):
    """A model of the front."""

    LINE = "{name!r}: test {test:.2%}, RAM {costs.ram:,} bytes, flash {costs.flash:,} bytes, {costs.cycles:,} cycles"
    TITLE = "{name}"
    FACTS = (
        "test:.2%, validation:.2%, RAM=costs.ram:size, flash=costs.flash:size, cycles=costs.cycles,"
        " ms=costs.milliseconds, uJ=costs.microjoules"
    )
    JSON = "name, family, description, choice, validation, test, costs, model, files:sorted, steps?, options"

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

    def _notes(self) -> list[str]:
        return [f"{self.family}: {self.description}"]


COLUMNS = ItemTable(
    "members",
    "model=name, test:.2%, validation:.2%, RAM=costs.ram, flash=costs.flash, cycles=costs.cycles,"
    " ms=costs.milliseconds, uJ=costs.microjoules, choice=description",
)
"""The columns of a table of members."""
