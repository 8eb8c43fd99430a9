"""Fits a target's energy model to measured layer energies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mote.hardware.targets as targets
from mote.base.documents import read_json
from mote.base.errors import MoteError, explaining
from mote.base.files import write_file
from mote.base.results import ItemTable, Result
from mote.bench.measure.energy.capture import Reals
from mote.bench.measure.least_squares import non_negative
from mote.bench.measure.profiler.result import Profile
from mote.hardware.targets.energy import CLASSES, EnergyModel
from mote.hardware.targets.extending import extending_file

SMALL = 0.02
"""Damping of relative errors for small layers, as a share of the largest layer's energy."""
FOLDS = 12
"""Number of cross-validation folds of the layers."""
DIGITS = 4
BUSY = ("multiply", "memory", "other")
GROUPINGS: tuple[tuple[tuple[str, ...], ...], ...] = (
    ((*BUSY, "wait"),),
    (BUSY, ("wait",)),
    (BUSY, ("wait",), ("flash_byte",)),
    (("multiply",), ("memory",), ("other",), ("wait",)),
    (("multiply",), ("memory",), ("other",), ("wait",), ("flash_byte",)),
)
"""Groupings of kinds of work that share a coefficient, from the coarsest model to the finest."""
BEGINS = "# Energy fitted by `mote fit-energy`"
_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class EnergyPoint:
    """Measured energy and work of a layer, or of layers measured together."""

    model: str
    """Model file name."""
    layers: str
    """Layer numbers."""
    work: Mapping[str, float]
    """Cycles and bytes by kind of work."""
    seconds: float
    """Measured seconds."""
    microjoules: float
    """Measured microjoules."""
    predicted: float = 0.0
    """Microjoules predicted by a fit to other layers."""

    @property
    def error(self) -> float:
        """Relative error of the prediction."""
        return self.predicted / self.microjoules - 1


@dataclass(frozen=True, repr=False)
class EnergyFit(Result):
    """A fitted energy model with its cross-validated errors."""

    LINE = "of {target}: {points!n} layers, error {error:.1%}"
    TITLE = "energy of {target}"
    FACTS = "layers=points!n, error:.1%, worst:.1%"
    ROWS = ItemTable(
        "points", "layers, model, measured µJ=microjoules:.4g, predicted µJ=predicted:.4g, error=error:+.1%", left=2
    )

    target: str
    """Name of the target."""
    model: EnergyModel
    """The energy model: static power, and energy per kind of work."""
    captures: int
    """Number of captures used."""
    error: float
    """Mean relative prediction error, weighted by energy."""
    worst: float
    """Largest relative prediction error among layers above 1/50 of the largest."""
    points: tuple[EnergyPoint, ...]
    """The layers used."""

    def toml(self, extends: str = "") -> str:
        """Text of a target file that extends the target by this model."""
        told = asdict(self.model)
        lines = [
            f"{BEGINS} to {len(self.points)} layers: mean error {self.error:.1%}, worst {self.worst:.1%}.",
            f"extends = {json.dumps(extends or self.target)}",
            "",
            "[energy]",
            *(f"{key} = {json.dumps(value)}" for key, value in told.items() if value != 0.0),
        ]
        return "\n".join(lines) + "\n"

    def write(self, path: str | Path) -> str:
        """Writes the target file."""
        file, extends = extending_file(path, self.target)
        write_file(str(file), self.toml(extends).encode(), BEGINS.encode())
        return str(file)

    def _notes(self) -> list[str]:
        return [self.toml()]


@explaining()
def fit_energy(profiles: Sequence[Profile | str | Path], target: str | None = None) -> EnergyFit:
    """Fit the energy model of a target to profiles with meter captures: static power, and energy per cycle of each kind
    and per byte read from flash.

    `profiles` are results of `mote.profile(..., capture=...)`, or files of `mote profile --capture FILE --json`, all of
    one target. Cross-validation selects the model, from one coefficient for all cycles to one per kind of work; static
    power is separated if clocks differ, and taken from the captures' idle time if that was subtracted. `target` is the
    target's file or name, if not that of the profiles."""
    told = [_profile_data(each) for each in profiles]
    names = list(dict.fromkeys(name for name, _, _ in told))
    if len(names) > 1 and target is None:
        raise MoteError(f"profiles are of {len(names)} targets: {', '.join(names)}", remedy="fit one at a time")
    if not told:
        raise MoteError("there are no profiles", remedy="give results of mote profile --capture FILE --json")
    name = target or names[0]
    targets.load(name)
    points = [point for _, _, each in told for point in each]
    idle = {milliwatts for _, milliwatts, each in told for _ in each}
    if len({milliwatts is None for milliwatts in idle}) > 1:
        raise MoteError(
            "idle power is subtracted from some captures and not from others",
            remedy="give --subtract-idle for all profiles or for none",
        )
    fixed = float(np.mean([milliwatts for milliwatts in idle if milliwatts is not None])) if None not in idle else 0.0
    return _fitted(name, points, fixed, len(told))


def _fitted(name: str, points: Sequence[EnergyPoint], static_mw: float, captures: int) -> EnergyFit:
    if len(points) < 2:
        raise MoteError(
            f"{len(points)} layer(s) with measured energy are too few to fit a model to",
            remedy="give captures with marks, of models with several layers",
        )
    energies = np.array([p.microjoules for p in points])
    if np.any(energies <= 0):
        raise MoteError("a layer has no energy", remedy="its capture may have an offset: calibrate the meter")
    rates = [sum(p.work[kind] for kind in (*BUSY, "wait")) / p.seconds for p in points if p.seconds > 0]
    clocks = len(rates) == len(points) and max(rates) > 1.3 * min(rates) and static_mw == 0.0
    tried = []
    for grouping in GROUPINGS:
        for static in (False, True) if clocks else (False,):
            if len(points) <= len(grouping) + static:
                continue
            predicted = np.zeros(len(points))
            for fold in range(min(FOLDS, len(points))):
                out = np.arange(len(points), dtype=np.int64) % FOLDS == fold
                kept = [p for p, left in zip(points, out, strict=True) if not left]
                predicted[out] = _amounts(
                    [p for p, left in zip(points, out, strict=True) if left], grouping, static
                ) @ (_coefficients(kept, grouping, static))
            tried.append((float(np.abs(predicted - energies).sum() / energies.sum()), grouping, static, predicted))
    error, grouping, static, predicted = min(tried, key=lambda each: each[0])
    coefficients = _coefficients(points, grouping, static)
    each = zip(grouping, coefficients, strict=False)
    values = {f"{kind}_pj": _rounded(1e6 * value) for kinds, value in each for kind in kinds}
    power = _rounded(1e-3 * coefficients[-1]) if static else _rounded(static_mw)
    large = energies > SMALL * energies.max()
    models = sorted({Path(p.model).name for p in points})
    source = f"{captures} capture(s) of {', '.join(models)}: {len(points)} layers"
    return EnergyFit(
        name,
        EnergyModel(static_mw=power, **values, error=_rounded(error), source=source),
        captures,
        error,
        float(np.abs(predicted / energies - 1)[large].max()),
        tuple(
            EnergyPoint(p.model, p.layers, p.work, p.seconds, p.microjoules, float(value))
            for p, value in zip(points, predicted, strict=True)
        ),
    )


def _amounts(points: Sequence[EnergyPoint], grouping: Sequence[Sequence[str]], static: bool) -> Reals:
    return np.array(
        [[sum(p.work[kind] for kind in kinds) for kinds in grouping] + [p.seconds] * static for p in points]
    )


def _coefficients(points: Sequence[EnergyPoint], grouping: Sequence[Sequence[str]], static: bool) -> Reals:
    """Fitted microjoules per unit of each kind of work, and static microwatts."""
    energies = np.array([p.microjoules for p in points])
    weight = 1 / (energies + SMALL * energies.max())
    return non_negative(_amounts(points, grouping, static) * weight[:, None], energies * weight)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


ProfileData = tuple[str, float | None, list[EnergyPoint]]
"""Data of a profile: target, subtracted idle milliwatts, and layers."""


def _profile_data(given: Profile | str | Path) -> ProfileData:
    """Data of a profile, from an object or a JSON file."""
    if isinstance(given, Profile):
        return _read(given.model, given.json())
    where = str(given)
    remedy = "write it with mote profile MODEL --capture FILE --json > FILE.json"
    told = read_json(where, reason="is not JSON", remedy=remedy, most=_MOST_BYTES)
    try:
        return _read(where, told)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError):
        raise MoteError("is not a profile", where=where, remedy=remedy) from None


def _read(where: str, told: Mapping[str, Any]) -> ProfileData:
    measured = told["measured"]
    if not measured or not measured["layers"]:
        raise MoteError(
            "has no measured energy of layers", where=where, remedy="profile it with --capture FILE that has marks"
        )
    works = {layer["number"]: _work(layer) for layer in told["layers"]}
    points = []
    for each in measured["layers"]:
        parts = [works[number] for number in each["layers"]]
        work = {kind: sum(part[kind] for part in parts) for kind in CLASSES}
        numbers = "+".join(map(str, each["layers"]))
        seconds, microjoules = (_finite(each[key]) for key in ("seconds", "microjoules"))
        points.append(EnergyPoint(str(told["model"]), numbers, work, seconds, microjoules))
    idle = _finite(measured["idle_milliwatts"]) if measured["idle_subtracted"] else None
    return str(told["target"]), idle, points


def _work(layer: Mapping[str, Any]) -> dict[str, float]:
    """Cycles and bytes of a layer by kind of work; undistinguished cycles count as other."""
    waits = _finite(layer["waits"]["code"]) + _finite(layer["waits"]["constants"])
    mix = layer["mix"] or {"multiply": 0, "memory": 0, "other": layer["cycles"] - waits}
    return {
        **{kind: _finite(mix[kind]) for kind in BUSY},
        "wait": waits,
        "flash_byte": _finite(layer["waits"]["fetched"]),
    }


def _finite(value: Any) -> float:
    number = float(value)
    if not np.isfinite(number):
        raise ValueError
    return number
