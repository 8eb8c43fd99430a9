"""Training within a budget of RAM: where that does not hold all activations that gradients read, the fewest of them
that it takes are computed again (gradient checkpointing)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from mote.compiler.settings import Settings
from mote.compiler.training.with_training import recomputing, with_training
from mote.errors import RamError
from mote.graph import Graph
from mote.passes.training.recompute import recomputable
from mote.passes.training.spec import ChosenLayers, parsed
from mote.progress import Say, silent

Made = TypeVar("Made")


def within_ram(graph: Graph, settings: Settings, attempt: Callable[[Settings], Made], say: Say = silent) -> Made:
    """The result of an attempt with the settings; where RAM does not hold that, with those by which the fewest
    activations are computed again. A number of them that is stated is not changed."""
    try:
        return attempt(settings)
    except RamError as error:
        errors = [error]
    for tried in _recomputing(graph, settings, errors[0]):
        say(f"training: the plan of {tried.train}")
        try:
            return attempt(tried)
        except RamError as error:
            errors.append(error)
    raise min(errors, key=lambda error: error.least)


def _recomputing(graph: Graph, settings: Settings, missed: RamError) -> Iterator[Settings]:
    """The settings with one more activation computed again each time, from the first time on that this can save what
    is missing: a plan saves no more than their bytes."""
    spec = parsed(settings.train) if settings.train else None
    if not isinstance(spec, ChosenLayers) or spec.recompute is not None:
        return
    sizes = [t.nbytes for t in recomputable(with_training(graph, settings.train, settings.train_data))]
    if sum(sizes) < missed.missing:
        raise RamError(missed.least - sum(sizes), missed.limit, where=missed.where, remedy=missed.remedy)
    for count, saved in enumerate(accumulate(sizes), 1):
        if saved >= missed.missing:
            yield replace(settings, train=recomputing(spec, count))
