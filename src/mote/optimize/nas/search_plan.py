"""What a search tries and how much of it, as keywords of `mote.search` and as a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.compiler.given import CompileOptions
from mote.optimize.compress.quantize.types.precision import Precision
from mote.optimize.nas.named_spaces import GivenSpace
from mote.optimize.nas.network_family import AUTO, STRATEGIES
from mote.optimize.nas.spaces.options import PRECISIONS

EPOCHS = 30
FINALISTS = 6
"""Candidates that are trained to the end."""

TOLD = (
    *("validate", "space", "task", "precision", "strategy", "teacher", "trials", "finalists", "minutes", "augment"),
    *("device", "optimize", "workers", "scheduler"),
)
"""Options in the command of a result, beside those of its report."""


class SearchOptions(CompileOptions, total=False):
    """Keywords of `mote.search`: those of a compilation, and the fields of `SearchPlan`."""

    space: GivenSpace | Sequence[GivenSpace]
    task: str
    precision: str | Sequence[str]
    strategy: str
    teacher: GivenSpace | None
    augment: str
    device: str
    epochs: int
    trials: int | None
    finalists: int
    minutes: float | None
    seed: int
    journal: str | Path | None
    workers: int
    scheduler: str


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """What a search tries, and how much of it."""

    space: GivenSpace | Sequence[GivenSpace] = ()
    task: str = ""
    precision: str | Sequence[str] = ()
    strategy: str = AUTO
    teacher: GivenSpace | None = None
    augment: str = ""
    device: str = "auto"
    epochs: int = EPOCHS
    trials: int | None = None
    """Candidates to score; None: as many as suit the space."""
    finalists: int = FINALISTS
    minutes: float | None = None
    """Minutes after which nothing new is begun; None: any number."""
    seed: int = 0
    journal: str | Path | None = None
    workers: int = 0
    scheduler: str = ""

    def __post_init__(self) -> None:
        for name, value in (("epochs", self.epochs), ("trials", self.trials), ("finalists", self.finalists)):
            if value is not None and value < 1:
                raise MoteError(f"{value} is less than 1", where=f"option {name}", remedy="give a larger number")
        if self.minutes is not None and self.minutes <= 0:
            raise MoteError("there is nothing to spend", where="option minutes", remedy="give a larger number")
        if self.strategy not in STRATEGIES:
            remedy = f"{did_you_mean(self.strategy, STRATEGIES)}use {', '.join(STRATEGIES)}"
            raise MoteError(f"'{printable(self.strategy)}' is no strategy", where="option strategy", remedy=remedy)

    @property
    def spaces(self) -> list[GivenSpace]:
        """The spaces that are named."""
        return [self.space] if isinstance(self.space, GivenSpace) else list(self.space)

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """The precisions that are named."""
        return chosen_precisions(self.precision)

    def told(self, validate: str, optimize: str) -> dict[str, Any]:
        """Options that differ from their defaults, in the order in which the command of a result states them, with
        those about validation and the target."""
        usual = vars(SearchPlan()) | {"space": [], "precision": "", "teacher": "", "optimize": "balanced"}
        stated = vars(self) | {"validate": validate, "optimize": optimize}
        stated |= {"space": list(map(named, self.spaces)), "precision": ",".join(self.precisions)}
        stated |= {"teacher": named(self.teacher)}
        return {name: stated[name] for name in TOLD if stated[name] not in (usual.get(name), "")}


def named(space: GivenSpace | None) -> str:
    """The name or file of a space."""
    return "" if space is None else str(space) if isinstance(space, str | Path) else space.name


def chosen_precisions(given: str | Sequence[str]) -> tuple[Precision, ...]:
    """The precisions that are named, with commas in between or one by one."""
    names = given.split(",") if isinstance(given, str) and given else given
    for name in names:
        if name not in PRECISIONS:
            known = [precision.value for precision in PRECISIONS]
            remedy = f"{did_you_mean(name, known)}use {', '.join(known)}"
            raise MoteError(
                f"'{printable(name)}' is no precision of a network", where="option precision", remedy=remedy
            )
    return tuple(Precision(name) for name in names)
