"""The result of `mote.search`: a front of trained models with their accuracies and costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mote.compiler.settings import Settings
from mote.nas.costs.network_costs import CostLimits, NetworkCosts
from mote.nas.family import MODEL
from mote.notebook import card, picture, sizes, table
from mote.pictures.trade import Panel, TradeDot, trade


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


@dataclass(frozen=True)
class SearchResult:
    """The front of a search: no other trained model is better in accuracy, RAM, flash and cycles at once."""

    data: str
    """The training data."""
    test: str
    """The test data."""
    target: str
    """The target's name."""
    task: str
    """The kind of task: image, spectrogram, series or table."""
    metric: str
    """The name of accuracies: accuracy, or R2 of a regression."""
    limits: CostLimits
    """The most that a model may cost."""
    members: tuple[SearchMember, ...]
    """The front, from the most accurate model on held-out data to the least."""
    dominated: tuple[SearchMember, ...]
    """Models that were trained to the end, but are worse than another in all respects."""
    families: tuple[str, ...]
    """Names of the spaces, and of other kinds of models, that were searched."""
    trials: int
    """Candidates whose accuracy was measured."""
    costed: int
    """Choices whose costs were computed."""
    epochs: int
    """Epochs that members were trained for."""
    seed: int
    """The seed of data splits, choices and weights."""
    seconds: float
    """Time that the search took."""
    settings: Settings = field(repr=False)
    """The settings that members are compiled with."""
    notes: tuple[str, ...] = ()
    """Remarks, such as finalists that did not fit in the end."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{m.name} {m.test:.1%}" for m in self.members)
        return f"<SearchResult of {self.data!r} for {self.target}: {shown}>"

    @property
    def best(self) -> SearchMember:
        """The most accurate model on held-out data."""
        return self.members[0]

    def __getitem__(self, name: str) -> SearchMember:
        """A model by its name."""
        return {m.name: m for m in (*self.members, *self.dominated)}[name]

    def json(self) -> dict[str, Any]:
        """The result as JSON types."""
        return {
            "data": self.data,
            "test": self.test,
            "target": self.target,
            "task": self.task,
            "metric": self.metric,
            "limits": {name: value for name, value in vars(self.limits).items() if value is not None},
            "families": list(self.families),
            "trials": self.trials,
            "costed": self.costed,
            "epochs": self.epochs,
            "seed": self.seed,
            "seconds": self.seconds,
            "members": [m.json() for m in self.members],
            "dominated": [m.json() for m in self.dominated],
            "notes": list(self.notes),
        }

    def svg(self) -> str:
        """Test accuracy over RAM, flash, cycles and, where the target has a model of it, energy."""
        every = (*self.members, *self.dominated)
        panels = [
            self._panel("RAM in bytes", {m.name: m.costs.ram for m in every}),
            self._panel("flash in bytes", {m.name: m.costs.flash for m in every}),
            self._panel("cycles", {m.name: m.costs.cycles for m in every}),
        ]
        if all(m.costs.latency is not None for m in every):
            panels.append(self._panel("time in us", {m.name: round((m.costs.latency or 0) * 1e6) for m in every}))
        if all(m.costs.energy is not None for m in every):
            panels.append(self._panel("energy in nJ", {m.name: round((m.costs.energy or 0) * 1e9) for m in every}))
        return trade(panels, f"{self.data} for {self.target}", f"test {self.metric}")

    def _panel(self, title: str, costs: Mapping[str, int]) -> Panel:
        chosen = {m.name for m in self.members}
        return Panel(
            title,
            [
                TradeDot(cost, self[name].test, f"{name}: {self[name].test:.2%}, {cost:,} {title}", name in chosen)
                for name, cost in costs.items()
            ],
        )

    def _repr_html_(self) -> str:
        title = f"{self.data} for {self.target}"
        facts = {"models": len(self.members), "trials": self.trials, "seconds": round(self.seconds)}
        drawn = picture(self.svg(), f"{title}: test {self.metric} against costs")
        return card(title, facts, drawn, table(HEAD, [row(m) for m in self.members], left=1), notes=self.notes)

    def write(self, folder: str | Path, *, force: bool = False) -> list[str]:
        """Writes the models, C projects, `search.json` and `report.html` to a folder, all at once. Replaces what an
        earlier search wrote there and keeps other files; refuses to overwrite those, unless `force` is set; returns
        those that were overwritten."""
        from mote.nas.writing import write_result

        return write_result(self, str(folder), force=force)


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
