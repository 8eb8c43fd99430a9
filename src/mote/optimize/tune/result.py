"""Result of tuning: chosen kernels and gains layer by layer, and the pins file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mote.base.results import ItemTable, Result
from mote.compiler.pins_file import PinsFile
from mote.deploy.boards.interruption import Interruption, interruption_lines
from mote.optimize.tune.trials import LayerTime, TuningTrial


@dataclass(frozen=True)
class TunedLayer:
    """A layer, or layers that one kernel computes before or after tuning."""

    number: str
    """Numbers of the layers."""
    name: str
    """Names of the layers."""
    before: str
    """Kernel without tuning."""
    after: str
    """Kernel after tuning."""
    cycles_before: int
    """Cycles without tuning."""
    cycles_after: int
    """Cycles with the tuned kernel."""


@dataclass(frozen=True, repr=False)
class Tuned(Result):
    """Result of `mote.tune`. Cycles are totals over all layers of one inference, including memory waits."""

    LINE = "{model!r} for {target}: {cycles_before:,} -> {cycles_after:,} cycles"
    TITLE = "{model} tuned for {target}"
    FACTS = (
        "cycles before=cycles_before, cycles after=cycles_after, gain:.2%, RAM before=ram_before:size,"
        " RAM after=ram_after:size, trials"
    )
    ROWS = ItemTable(
        "layers",
        "#=number, layer=name, kernel before=before, kernel after=after, cycles before=cycles_before,"
        " cycles after=cycles_after",
        left=4,
    )
    JSON = "*, gain"

    model: str
    """Model file name, or a description of the model object."""
    target: str
    """Name of the target."""
    tools: str
    """Measurer and compiler, in words."""
    cycles_before: int
    """Cycles without tuning."""
    cycles_after: int
    """Cycles after tuning."""
    ram_before: int
    """RAM bytes without tuning: arena, other variables, code and constants in RAM."""
    ram_after: int
    """RAM bytes after tuning."""
    settings: Mapping[str, Any]
    """Chosen model-wide settings, and those that tuning started from."""
    layers: tuple[TunedLayer, ...]
    """Kernels and cycles of each layer before and after."""
    trials: int
    """Number of models compiled and measured."""
    seconds: float
    """Seconds that tuning took."""
    verified: str
    """Verdict of comparing all tensors with the reference; empty if not compared yet."""
    pins: PinsFile = field(repr=False)
    """The pins file."""
    interruptions: tuple[Interruption, ...] = ()
    """Board resets and losses during tuning, and what was rerun."""

    @property
    def gain(self) -> float:
        """Share of cycles saved."""
        return 1 - self.cycles_after / self.cycles_before if self.cycles_before else 0.0

    def write(self, path: str | Path) -> None:
        """Writes the pins file, to be passed to `compile` as `pins`."""
        self.pins.write(path, dict(pair for layer in self.layers for pair in _names(layer)))

    def _notes(self) -> list[str]:
        return [self.tools, *interruption_lines(self.interruptions)]


def _names(layer: TunedLayer) -> list[tuple[str, str]]:
    return list(zip(layer.number.split("+"), layer.name.split("+"), strict=True))


def tuned_layers(before: TuningTrial, after: TuningTrial, names: Mapping[str, str]) -> tuple[TunedLayer, ...]:
    """Layers of two trials side by side; layers that one of the trials fuses share a row."""
    groups: list[set[str]] = []
    for time in (*before.times, *after.times):
        mine = set(time.layers)
        near = [group for group in groups if group & mine]
        groups = [group for group in groups if not group & mine] + ([mine.union(*near)] if mine else [])
    order = {layer: i for i, layer in enumerate(names)}
    rows = sorted((sorted(group, key=order.__getitem__) for group in groups), key=lambda group: order[group[0]])
    return tuple(
        TunedLayer(
            "+".join(group),
            "+".join(names[layer].replace("+", " ") for layer in group),
            _kernels(before, set(group)),
            _kernels(after, set(group)),
            _cycles(before, set(group)),
            _cycles(after, set(group)),
        )
        for group in rows
    )


def _of(trial: TuningTrial, layers: set[str]) -> list[LayerTime]:
    return [time for time in trial.times if layers & set(time.layers)]


def _cycles(trial: TuningTrial, layers: set[str]) -> int:
    return sum(time.cycles for time in _of(trial, layers))


def _kernels(trial: TuningTrial, layers: set[str]) -> str:
    """Kernels of layers as text, without the default placement of constants in flash."""
    shown = [re.sub(r",?constants=flash", "", time.kernel).replace("[]", "") for time in _of(trial, layers)]
    return " + ".join(dict.fromkeys(shown))
