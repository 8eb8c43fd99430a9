"""Training within a budget of RAM: where that does not hold all activations that gradients read, the fewest of them
that it takes are computed again (gradient checkpointing)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from mote.base.errors import RamError
from mote.base.progress import Say, silent
from mote.compiler.passes.training.recompute import recomputable
from mote.compiler.passes.training.spec import ChosenLayers, Spec
from mote.compiler.settings import Settings
from mote.compiler.training.with_training import with_training
from mote.ir.graph import Graph

BY_HAND = ", or --train ...:recompute=N, which computes N activations again instead of keeping them"
"""The remedy for a step of training that RAM does not hold, where no number of activations was tried."""
Made = TypeVar("Made")


def within_ram(graph: Graph, settings: Settings, attempt: Callable[[Settings], Made], say: Say = silent) -> Made:
    """The result of an attempt with the settings; where RAM does not hold that, with those by which the fewest
    activations are computed again, from the first number on that can save what is missing: a plan saves no more than
    their bytes. A number of them that is stated is not changed."""
    try:
        return attempt(settings)
    except RamError as error:
        spec, errors = chosen_layers(settings.train), [error]
        if spec is None or spec.recompute is not None:
            raise
    missing, saved = errors[0].missing, 0
    sizes = [t.nbytes for t in recomputable(with_training(graph, spec, settings.train_data))]
    for count, saved in enumerate(accumulate(sizes), 1):
        if saved >= missing:
            tried = replace(settings, train=replace(spec, recompute=count))
            say(f"training: the plan of {tried.train}")
            try:
                return attempt(tried)
            except RamError as error:
                errors.append(error)
    best = min(errors, key=lambda error: error.missing)
    least = best.least if saved >= missing else best.least - saved
    raise RamError(least, best.limit, where=best.where, remedy=best.remedy.removesuffix(BY_HAND))


def chosen_layers(spec: Spec | None) -> ChosenLayers | None:
    """The training of layers by gradients, if it is that."""
    return spec if isinstance(spec, ChosenLayers) else None
