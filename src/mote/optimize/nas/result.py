"""Result of `mote.search`: the Pareto front of trained models with their accuracies and costs."""

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
    """Pareto front of a search: no other trained model is better in accuracy, RAM, flash and cycles at once."""

    TITLE = "{data} for {target}"
    ROWS = COLUMNS
    NOTES = "notes"
    JSON = (
        "data, test, target, task, metric, limits, families, around?, trials, costed, epochs, seed, spent, preprocess?,"
        " options, members, dominated, notes"
    )

    data: str
    """Name of the training data."""
    test: str
    """Name of the test data."""
    target: str
    """Name of the target."""
    task: str
    """Kind of task: image, spectrogram, series or table."""
    metric: str
    """Name of the accuracy measure: accuracy, or R2 for a regression."""
    limits: CostLimits
    """Limits on a model's costs."""
    members: tuple[SearchMember, ...]
    """The front by falling validation accuracy; after a search around a model, that model comes first."""
    dominated: tuple[SearchMember, ...]
    """Fully trained models that another one beats in all objectives."""
    families: tuple[str, ...]
    """Names of the search spaces and model kinds that were searched."""
    trials: int
    """Number of candidates whose accuracy was measured."""
    costed: int
    """Number of choices whose costs were computed."""
    epochs: int
    """Training epochs of the members."""
    seed: int
    """Random seed of data splits, choices and weights."""
    spent: Spending
    """Time, CPU seconds and energy of the search; of a resumed search, since it was resumed."""
    settings: Settings = field(repr=False)
    """Settings that members are compiled with."""
    around: str = ""
    """File of the float model that the search started from; empty for none."""
    preprocess: str = ""
    """Preprocessing steps with which data was read, before those of a member."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Additional options of the search, named as in `mote search`."""
    notes: tuple[str, ...] = ()
    """Notes, such as finalists that did not fit."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{m.name} {m.test:.1%}" for m in self.members)
        return f"<SearchResult of {self.data!r} for {self.target}: {shown}>"

    @property
    def best(self) -> SearchMember:
        """The member with the best validation accuracy."""
        return max(self.members, key=lambda member: (member.validation, -member.costs.cycles))

    def __getitem__(self, name: str) -> SearchMember:
        """The member or dominated model with this name."""
        return {m.name: m for m in (*self.members, *self.dominated)}[name]

    def svg(self) -> str:
        """SVG plots of test accuracy over RAM, flash, cycles and, if the target has a model of them, time and
        energy."""
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
        """Writes models, C projects, `search.json` and `report.html` to a folder in one step. Replaces files of an
        earlier search and keeps others; refuses to overwrite files it did not write unless `force` is set, and returns
        those that it overwrote."""
        files: dict[str, str | bytes] = {}
        for member in self.members:
            files |= member_files(member, self.settings)
        facts = {**self.json(), "command": self.command(str(folder))}
        files["search.json"] = json.dumps(facts, indent=2) + "\n"
        files["report.html"] = self.report(str(folder))
        return write_folder(str(folder), files, force=force)

    def report(self, folder: str = "best") -> str:
        """The HTML report as one file; its commands refer to models in `folder`."""
        limits = ", ".join(f"{name} {value:,}" for name, value in self.json()["limits"].items())
        paragraphs = [
            f"{self.task} task, {self.metric} on {self.test}, which nothing was chosen by: held-out data chose.",
            f"Limits: {limits or 'those of the target'}. Spaces: {', '.join(self.families)}.",
            f"{self.costed:,} choices were planned for the target, {self.trials:,} of those that fit were scored;"
            f" models were trained for {self.epochs} epochs, seed {self.seed}, in {self.spent}.",
            *self.notes,
        ]
        commands = [self.command(folder)]
        for member in self.members:
            commands += member_commands(member, folder, self._command_options)
        footnote = f"The first {len(self.members)} are the front; the others are worse in all respects."
        return report_page(
            f"Search: {self.data} for {self.target}",
            paragraphs,
            picture(self.svg(), f"test {self.metric} against costs"),
            table(COLUMNS.head, [*COLUMNS.rows(self), *replace(COLUMNS, items="dominated").rows(self)]),
            commands,
            footnote if self.dominated else "",
        )

    def command(self, folder: str = "best") -> str:
        """The `mote search` command that repeats this search."""
        return join(["mote", "search", *option_words(self._command_options), "-o", folder])

    @property
    def _command_options(self) -> dict[str, Any]:
        """Options of the command that repeats the search: data, target, limits, and all that differ from their
        defaults."""
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
