"""Gradient checkpointing: if the RAM does not hold all activations that gradients read, as few as possible are
recomputed in the backward pass."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from mote.base.deferred import deferred
from mote.base.errors import BudgetError, RamError
from mote.compiler.fitting.fit import BuiltBudget, Replan
from mote.compiler.fitting.reserve import Reserve
from mote.compiler.passes.training.spec import ChosenLayers, Spec
from mote.compiler.settings import Settings
from mote.ir.graph import Graph

if TYPE_CHECKING:
    from mote.compiler.passes.training import recompute
    from mote.compiler.training import with_training
else:
    recompute = deferred("mote.compiler.passes.training.recompute")
    with_training = deferred("mote.compiler.training.with_training")

BY_HAND = ", or --train ...:recompute=N, which computes N activations again instead of keeping them"
"""Remedy for a training step that exceeds the RAM, if no recomputed activations were tried."""
Result = TypeVar("Result")


class RecomputedActivations(BuiltBudget[Result]):
    """Recomputes as few activations as needed for a training step to fit the RAM, starting with the first number whose
    bytes cover what is missing. A number that the user states is not changed."""

    def __init__(self, graph: Graph, settings: Settings) -> None:
        spec = chosen_layers(settings.train)
        self.graph, self.settings = graph, settings
        self.spec = None if spec is None or spec.recompute is not None else spec
        self.errors: list[RamError] = []

    def refused(self, error: BudgetError, reserve: Reserve) -> Result | Replan | None:
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
        """Bytes of each activation that can be recomputed."""
        assert self.spec is not None
        learning = with_training.with_training(self.graph, self.spec, self.settings.train_data)
        return [t.nbytes for t in recompute.recomputable(learning)]


def with_recomputed(settings: Settings, count: int) -> Settings:
    """The settings with `count` recomputed activations; unchanged if it is 0 or the user states a number."""
    spec = chosen_layers(settings.train)
    if spec is None or spec.recompute is not None or not count:
        return settings
    return replace(settings, train=replace(spec, recompute=count))


def chosen_layers(spec: Spec | None) -> ChosenLayers | None:
    """The specification of training by gradients; None if the model learns otherwise or not at all."""
    return spec if isinstance(spec, ChosenLayers) else None
