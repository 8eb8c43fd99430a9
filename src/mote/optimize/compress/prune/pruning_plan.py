"""Options of `mote.prune`, as keyword arguments and as a record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError
from mote.base.extras import require
from mote.compiler.given import ReadKeywords
from mote.compiler.options.parsing import check_at_least
from mote.compiler.settings import Settings, make_settings
from mote.hardware.targets import Target
from mote.optimize.compress.prune.costs import TARGET
from mote.optimize.compress.prune.limits import PruningTarget, limit_of
from mote.optimize.compress.prune.schedule import KINDS

SAMPLES = 256
"""Default number of samples for refitting weights, evenly spaced over the data."""


class PruneOptions(ReadKeywords, total=False):
    """Keyword arguments of `mote.prune`: those for reading the model and the fields of `PruningPlan`."""

    kind: str
    macs: int | str | None
    flash: int | str | None
    cycles: int | str | None
    target: str | Path | Target
    optimize: str
    fine_tune: int
    augment: str
    device: str
    samples: int
    front: bool
    scheduler: str
    workers: int


@dataclass(frozen=True, kw_only=True)
class PruningPlan:
    """Kind of pruning, target cost, and how weights are refitted or fine-tuned."""

    kind: str = "channels"
    macs: int | str | None = None
    flash: int | str | None = None
    cycles: int | str | None = None
    target: str | Path | Target = TARGET
    optimize: str = ""
    fine_tune: int = 0
    """Epochs of fine-tuning."""
    augment: str = ""
    device: str = "auto"
    samples: int = SAMPLES
    front: bool = False
    scheduler: str = ""
    workers: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise MoteError(f"'{self.kind}' is not one of {', '.join(KINDS)}", where="option kind")
        check_at_least("fine_tune", self.fine_tune, 0)
        check_at_least("samples", self.samples, 2)
        if self.fine_tune and self.kind == "clusters":
            raise MoteError(
                "training would give every weight a value of its own again",
                where="option fine_tune",
                remedy="fine-tune before the weights are clustered",
            )
        if self.fine_tune:
            require("torch", extra="torch", what="fine-tuning")
        elif self.augment:
            raise MoteError("is for fine-tuning", where="option augment", remedy="give --fine-tune EPOCHS, too")
        if self.kind == "clusters" and self.limit.unit != "flash":
            reason = "few distinct weights save flash, and nothing else"
            raise MoteError(reason, where=f"option {self.limit.unit}", remedy="give --flash")

    @property
    def limit(self) -> PruningTarget:
        """The pruning target."""
        return limit_of(macs=self.macs, flash=self.flash, cycles=self.cycles)

    def settings(self, **reading: Any) -> Settings:
        """Compiler settings for cost estimates."""
        policy = self.optimize or ("size" if self.kind == "clusters" else "balanced")
        return make_settings(self.target, optimize=policy, **reading)
