"""Training within a budget of RAM: where that does not hold all activations that gradients read, the fewest of them
that it takes are computed again (gradient checkpointing)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from mote.compiler.settings import Settings
from mote.compiler.training import with_training
from mote.errors import RamError
from mote.graph import Graph
from mote.passes.training.recompute import recomputable
from mote.passes.training.spec import ChosenLayers, parsed, stated
from mote.progress import Say, silent

Made = TypeVar("Made")


def within_ram(graph: Graph, settings: Settings, attempt: Callable[[Settings], Made], say: Say = silent) -> Made:
    """What an attempt makes of the settings; where that does not fit in RAM, of those by which the fewest activations
    are computed again. A number of them that is stated is not changed."""
    try:
        return attempt(settings)
    except RamError:
        for other in _recomputing(graph, settings):
            say(f"training: the plan of {other.train}")
            with suppress(RamError):
                return attempt(other)
        raise


def _recomputing(graph: Graph, settings: Settings) -> Iterator[Settings]:
    """The settings with one more activation computed again each time."""
    spec = parsed(settings.train) if settings.train else None
    if isinstance(spec, ChosenLayers) and not spec.recompute:
        most = len(recomputable(with_training(graph, settings.train, settings.train_data)))
        for count in range(1, most + 1):
            yield replace(settings, train=stated(spec.items, replace(spec, recompute=count)))
