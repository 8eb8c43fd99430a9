"""A finished model of a search, with its accuracies, costs and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mote.base.results import ItemTable, Result
from mote.optimize.nas.costs.network_costs import NetworkCosts
from mote.optimize.nas.family import MODEL


@dataclass(frozen=True, repr=False)
class SearchMember(Result):
    """A finished model of a search result."""

    LINE = "{name!r}: test {test:.2%}, RAM {costs.ram:,} bytes, flash {costs.flash:,} bytes, {costs.cycles:,} cycles"
    TITLE = "{name}"
    FACTS = (
        "test:.2%, validation:.2%, RAM=costs.ram:size, flash=costs.flash:size, cycles=costs.cycles,"
        " ms=costs.milliseconds, uJ=costs.microjoules"
    )
    JSON = "name, family, description, choice, validation, test, costs, model, files:sorted, steps?, options"

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

    def _notes(self) -> list[str]:
        return [f"{self.family}: {self.description}"]


COLUMNS = ItemTable(
    "members",
    "model=name, test:.2%, validation:.2%, RAM=costs.ram, flash=costs.flash, cycles=costs.cycles,"
    " ms=costs.milliseconds, uJ=costs.microjoules, choice=description",
)
"""The columns of a table of members."""
