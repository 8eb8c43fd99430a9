"""Training within a budget of RAM: where that does not hold all activations that gradients read, the fewest of them
that it takes are computed again (gradient checkpointing)."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TypeVar

from mote.base.errors import BudgetError, RamError
from mote.compiler.fitting.fit import BuiltBudget, Replan
from mote.compiler.fitting.reserve import Reserve
from mote.compiler.passes.training.recompute import recomputable
from mote.compiler.passes.training.spec import ChosenLayers, Spec
from mote.compiler.settings import Settings
from mote.compiler.training.with_training import with_training
from mote.ir.graph import Graph

BY_HAND = ", or --train ...:recompute=N, which computes N activations again instead of keeping them"
"""The remedy for a step of training that RAM does not hold, where no number of activations was tried."""
Made = TypeVar("Made")


class RecomputedActivations(BuiltBudget[Made]):
    """The activations of a model that learns, where RAM does not hold all of them: the fewest are computed again, from
    the first number on that can save what is missing, as a plan saves no more than their bytes. A number of them that
    is stated is not changed."""

    def __init__(self, graph: Graph, settings: Settings) -> None:
        spec = chosen_layers(settings.train)
        self.graph, self.settings = graph, settings
        self.spec = None if spec is None or spec.recompute is not None else spec
        self.errors: list[RamError] = []

    def refused(self, error: BudgetError, reserve: Reserve) -> Made | Replan | None:
        if self.spec is None or not isinstance(error, RamError):
            return None
        self.errors.append(error)
        missing, saved = self.errors[0].missing, 0
        for count, saved in enumerate(accumulate(self._sizes), 1):
            if saved >= missing and count > reserve.recomputed:
                tried = replace(self.spec, recompute=count)
                why = f"a step of training lacks {error.missing:,} bytes of RAM, next: {tried}"
                return Replan(replace(reserve, recomputed=count), why)
        best = min(self.errors, key=lambda error: error.missing)
        least = best.least if saved >= missing else best.least - saved
        raise RamError(least, best.limit, where=best.where, remedy=best.remedy.removesuffix(BY_HAND))

    @cached_property
    def _sizes(self) -> list[int]:
        """Bytes of each activation that can be computed again."""
        assert self.spec is not None
        learning = with_training(self.graph, self.spec, self.settings.train_data)
        return [t.nbytes for t in recomputable(learning)]


def with_recomputed(settings: Settings, count: int) -> Settings:
    """The settings by which so many activations are computed again; none: as they are."""
    spec = chosen_layers(settings.train)
    if spec is None or spec.recompute is not None or not count:
        return settings
    return replace(settings, train=replace(spec, recompute=count))


def chosen_layers(spec: Spec | None) -> ChosenLayers | None:
    """The training of layers by gradients, if it is that."""
    return spec if isinstance(spec, ChosenLayers) else None
