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
from mote.plan.goal import Goal
from mote.plan.scheduling.rows import roots
from mote.plan.selection.code_size_model import flash
from mote.plan.selection.select import ROOMY, Selection, ordered

CODE = 600
"""Bytes of a model's code beside its kernels."""


def estimated(graph: Graph, settings: Settings) -> tuple[int, int, int]:
    """RAM, flash and cycles of a graph whose operators run whole, each with the kernel that is best by itself."""
    made = ordered(optimized(graph, replace(settings, shrink=False))[0])
    goal = Goal(ram=settings.ram_limit, spend=settings.ram is not None, costs=settings.costs)
    selection = Selection(ShapeOffers(made), lowering(settings), goal, ROOMY)
    kernels = {ops: selection.best(ops, True) for ops in selection.ops}
    cycles = sum(selection.cost(ops, kernel, True) for ops, kernel in kernels.items())
    return _peak(made, selection, kernels), round(flash(kernels.values())) + CODE, round(cycles)


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
