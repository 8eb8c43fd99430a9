"""The result of `mote.search`: a front of trained models with their accuracies and costs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import join
from typing import Any

from mote.base.files import write_folder
from mote.base.notebook import picture, table
from mote.base.results import Result
from mote.bench.pictures.trade import Panel, TradeDot, trade
from mote.compiler.settings import Settings
from mote.optimize.nas.costs.network_costs import CostLimits
from mote.optimize.nas.member import COLUMNS, SearchMember
from mote.optimize.nas.spending import Spending
from mote.optimize.nas.writing import member_commands, member_files, option_words, report_page


@dataclass(frozen=True)
class SearchResult(Result):
    """The front of a search: no other trained model is better in accuracy, RAM, flash and cycles at once."""

    TITLE = "{data} for {target}"
    ROWS = COLUMNS
    NOTES = "notes"
    JSON = (
        "data, test, target, task, metric, limits, families, around?, trials, costed, epochs, seed, spent, preprocess?,"
        " options, members, dominated, notes"
    )

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
    """The front, from the most accurate model on held-out data to the least; before it the model that was searched
    around."""
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
    spent: Spending
    """Time, processor seconds and energy that the search took; of one that was resumed, since then."""
    settings: Settings = field(repr=False)
    """The settings that members are compiled with."""
    around: str = ""
    """The float model that was searched around; empty: none."""
    preprocess: str = ""
    """The steps that data was read with, which come before those of a member."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further options that the search was given, by the names that `mote search` has for them."""
    notes: tuple[str, ...] = ()
    """Remarks, such as finalists that did not fit in the end."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{m.name} {m.test:.1%}" for m in self.members)
        return f"<SearchResult of {self.data!r} for {self.target}: {shown}>"

    @property
    def best(self) -> SearchMember:
        """The most accurate model on held-out data."""
        return max(self.members, key=lambda member: (member.validation, -member.costs.cycles))

    def __getitem__(self, name: str) -> SearchMember:
        """A model by its name."""
        return {m.name: m for m in (*self.members, *self.dominated)}[name]

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

    def write(self, folder: str | Path, *, force: bool = False) -> list[str]:
        """Writes the models, C projects, `search.json` and `report.html` to a folder, all at once. Replaces what an
        earlier search wrote there and keeps other files; refuses to overwrite those, unless `force` is set; returns
        those that were overwritten."""
        files: dict[str, str | bytes] = {}
        for member in self.members:
            files |= member_files(member, self.settings)
        facts = {**self.json(), "command": self.command(str(folder))}
        files["search.json"] = json.dumps(facts, indent=2) + "\n"
        files["report.html"] = self.report(str(folder))
        return write_folder(str(folder), files, force=force)

    def report(self, folder: str = "best") -> str:
        """The report as one HTML file, with commands for the models in a folder."""
        limits = ", ".join(f"{name} {value:,}" for name, value in self.json()["limits"].items())
        said = [
            f"{self.task} task, {self.metric} on {self.test}, which nothing was chosen by: held-out data chose.",
            f"Limits: {limits or 'those of the target'}. Spaces: {', '.join(self.families)}.",
            f"{self.costed:,} choices were planned for the target, {self.trials:,} of those that fit were scored;"
            f" models were trained for {self.epochs} epochs, seed {self.seed}, in {self.spent}.",
            *self.notes,
        ]
        commands = [self.command(folder)]
        for member in self.members:
            commands += member_commands(member, folder, self._told)
        beside = f"The first {len(self.members)} are the front; the others are worse in all respects."
        return report_page(
            f"Search: {self.data} for {self.target}",
            said,
            picture(self.svg(), f"test {self.metric} against costs"),
            table(COLUMNS.head, [*COLUMNS.rows(self), *replace(COLUMNS, items="dominated").rows(self)]),
            commands,
            beside if self.dominated else "",
        )

    def command(self, folder: str = "best") -> str:
        """The command that searches so again."""
        return join(["mote", "search", *option_words(self._told), "-o", folder])

    @property
    def _told(self) -> dict[str, Any]:
        """Options of the command: data and target, limits, and all else that is not the default."""
        limits = {name: value for name, value in vars(self.limits).items() if value is not None}
        if self.limits.latency is not None:
            limits["latency"] = f"{self.limits.latency * 1e6:g}us"
        return {
            "from": self.around,
            "data": self.data,
            "test": self.test,
            "target": self.target,
            "preprocess": self.preprocess,
            **limits,
            "seed": self.seed,
            "epochs": self.epochs,
            **self.options,
        }

    def _facts(self) -> dict[str, object]:
        return {"models": len(self.members), "trials": self.trials, "seconds": round(self.spent.seconds)}

    def _parts(self) -> list[str]:
        title = f"{self.data} for {self.target}: test {self.metric} against costs"
        return [picture(self.svg(), title), *super()._parts()]

    def json(self) -> dict[str, Any]:
        """The result as JSON types."""
        limits = {name: value for name, value in vars(self.limits).items() if value is not None}
        return super().json() | {"limits": limits, "command": self.command()}
