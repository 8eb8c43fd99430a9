"""Quick estimates of costs: those of the fastest kernels without a plan of the memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mote.compiler.line import lowering, optimized
from mote.compiler.settings import Settings
from mote.graph import Graph
from mote.graph.region import Numbers
from mote.kernels.contract import Packed, aligned
from mote.nas.costs.shape_offers import ShapeOffers
from mote.passes.shrinking import trim_kernels
from mote.plan.goal import Goal
from mote.plan.scheduling.rows import roots
from mote.plan.selection.code_size_model import flash
from mote.plan.selection.select import Linked, Selection, Way, ordered

MOST_ROWS = 64
"""Rows of a call, of kernels that prefer several."""
CODE = 600
"""Bytes of a model's code beside its kernels."""


class QuickSelection(Selection):
    """A selection whose layers do not look for code that they could share."""

    def _linked(self, rate: float) -> Linked:
        return NOTHING


NOTHING = Linked(0.0, frozenset())
WAYS = (Way(group=MOST_ROWS), Way(layouts=False, room=0, group=MOST_ROWS))


def estimated(graph: Graph, settings: Settings) -> tuple[int, int, int]:
    """RAM, flash and cycles of a graph whose operators run whole, each with the kernel that is best by itself."""
    made = ordered(_ready(graph, settings))
    goal = Goal(ram=settings.ram_limit, spend=settings.ram is not None, costs=settings.costs)
    offers = ShapeOffers(made)
    return min((_selected(QuickSelection(offers, lowering(settings), goal, way)) for way in WAYS), key=lambda c: c[2])


def _selected(selection: Selection) -> tuple[int, int, int]:
    kernels = {ops: selection.best(ops, True) for ops in selection.ops}
    cycles = sum(selection.cost(ops, kernel, True) for ops, kernel in kernels.items())
    return _peak(selection.graph, selection, kernels), round(flash(kernels.values())) + CODE, round(cycles)


def _ready(graph: Graph, settings: Settings) -> Graph:
    """A graph without passes over it, which find nothing to do in graphs of networks, unless there is more to add."""
    if settings.stream is None and not settings.preprocess and not settings.postprocess:
        return trim_kernels.run(graph)[0] if settings.shrink else graph
    return optimized(graph, replace(settings, shrink=False))[0]


def _peak(graph: Graph, selection: Selection, kernels: Mapping[Numbers, Packed]) -> int:
    """The most bytes of tensors and working memory at one time, if operators run whole, one after another."""
    root, size = roots(graph), {t: aligned(tensor.nbytes) for t, tensor in graph.tensors.items()}
    last = {root[t]: step for step, op in enumerate(selection.ops.values()) for t in op.inputs if t in root}
    last |= {root[t]: len(kernels) for t in graph.outputs}
    live, most = {t: size[t] for t in graph.inputs}, 0
    for step, (ops, op) in enumerate(selection.ops.items()):
        live |= {t: size[t] for t in op.outputs}
        most = max(most, sum(live.values()) + aligned(kernels[ops].needs.scratch or 0))
        live = {t: nbytes for t, nbytes in live.items() if last.get(t, -1) > step}
    return most
