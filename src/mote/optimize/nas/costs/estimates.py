"""Quick estimates of costs: those of the fastest kernels without a plan of the memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

from mote.compiler.fitting.reserve import OWN_CODE, USUAL_CODE
from mote.compiler.kernels.contract import Packed, aligned
from mote.compiler.line import lowering
from mote.compiler.passes.shrinking import trim_kernels
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.scheduling.rows import roots
from mote.compiler.plan.selection.candidates import ordered
from mote.compiler.plan.selection.code_size_model import code
from mote.compiler.plan.selection.config import SelectionConfig
from mote.compiler.plan.selection.select import SHARING, Latencies, Selection
from mote.compiler.prepared import prepared
from mote.compiler.settings import Settings
from mote.ir.graph import Graph
from mote.ir.graph.region import Numbers
from mote.optimize.nas.costs.shape_candidates import ShapeCandidates

MOST_ROWS = 64
"""Rows of a call, of kernels that prefer several."""
CODE = 600
"""Bytes of a model's code beside its kernels."""
CONFIGS = (SelectionConfig(group=MOST_ROWS), SelectionConfig(layouts=False, room=0, group=MOST_ROWS))
"""Selections with tensors in any layout, and in the usual one."""
CODE_RATES = (3.0, 1.0, 0.3, 0.1)
"""Exchange rates of code by those of constants, from which the first is taken that does not slow down a model much."""
STEEPER = 2.0
"""Price increase of flash from one attempt to fit a budget to the next."""
STEPS = [(step, share) for step in range(9) for share in (0.25, 1.0)]
"""These attempts: how often the price of flash increases, and the exchange rate of code by that of constants."""
ROUNDS = 3
"""How often layers look for kernels with code that others have."""


class KernelOffer(NamedTuple):
    """A kernel of a layer by what it takes."""

    kernel: Packed
    cycles: float
    constants: int
    code: Mapping[str, float]
    """Bytes of the pieces of its code, which other layers may share."""

    def price(self, rate: float, code_rate: float, there: Container[str] = ()) -> float:
        """Cycles, with flash at exchange rates; pieces of code that are there cost nothing."""
        price = self.cycles + rate * self.constants
        if code_rate:
            price += code_rate * sum([nbytes for piece, nbytes in self.code.items() if piece not in there])
        return price


Offered = Mapping[Numbers, Sequence[KernelOffer]]
ChosenOffers = dict[Numbers, KernelOffer]


def estimated(graph: Graph, settings: Settings) -> tuple[int, int, int]:
    """RAM, flash and cycles of a graph whose operators run whole, with kernels for the policy and the flash budget."""
    made = ordered(_ready(graph, settings))
    goal = Goal(ram=settings.ram_limit, spend=settings.ram is not None, costs=settings.costs)
    most = inf if settings.flash_limit is None else settings.flash_limit - _others(settings)
    candidates, taken = ShapeCandidates(made), Latencies()
    roomy, lean = (Selection(candidates, lowering(settings), goal, config, taken) for config in CONFIGS)
    costs = [_costs(selection, most) for selection in ([roomy] if roomy.simple else [roomy, lean])]
    return min(costs, key=lambda c: (max(c[1] - CODE - most, 0), c[2]))


def _others(settings: Settings) -> int:
    """Bytes that plans reserve for code other than kernels."""
    return OWN_CODE if settings.flash is not None else USUAL_CODE


def _costs(selection: Selection, most: float) -> tuple[int, int, int]:
    """The costs by the kernels of a selection, within a flash budget if that can be."""
    offered = {
        ops: [KernelOffer(k, selection.cost(ops, k, True), k.own_flash, code(k)) for k in kernels]
        for ops, kernels in selection.variants.items()
    }
    rate = selection.rate
    chosen = apart = _shared(offered, rate, 0.0)
    for share in CODE_RATES if rate else ():
        chosen = _shared(offered, rate, share * rate)
        if _cycles(chosen) <= SHARING * _cycles(apart):
            break
    if _flash(chosen) > most:
        chosen = _fitted(offered, max(rate, 1.0), most)
    kernels = {ops: offer.kernel for ops, offer in chosen.items()}
    return _peak(selection.graph, selection, kernels), round(_flash(chosen)) + CODE, round(_cycles(chosen))


def _fitted(offered: Offered, rate: float, most: float) -> ChosenOffers:
    """The fastest offers within a flash budget, or those that take the least flash, at exchange rates from this one
    on."""
    tried = [_shared(offered, rate * STEEPER**step, rate * STEEPER**step * share) for step, share in STEPS]
    fitting = [chosen for chosen in tried if _flash(chosen) <= most]
    return min(fitting, key=_cycles) if fitting else min(tried, key=_flash)


def _shared(offered: Offered, rate: float, code_rate: float) -> ChosenOffers:
    """The offer for each layer at exchange rates of constants and code: the best by itself, then beside the others."""
    chosen = {ops: min(some, key=lambda o: o.price(rate, code_rate)) for ops, some in offered.items()}
    users = Counter([piece for offer in chosen.values() for piece in offer.code])
    for _ in range(ROUNDS if code_rate else 0):
        changed = False
        for ops, some in offered.items():
            mine = chosen[ops]
            there = {piece for piece, count in users.items() if count > (piece in mine.code)}
            best = min(some, key=lambda o: o.price(rate, code_rate, there))
            if best is not mine:
                users.subtract(mine.code.keys())
                users.update(best.code.keys())
                chosen[ops], changed = best, True
        if not changed:
            break
    return chosen


def _cycles(chosen: ChosenOffers) -> float:
    return sum(offer.cycles for offer in chosen.values())


def _flash(chosen: ChosenOffers) -> float:
    pieces = {piece: nbytes for offer in chosen.values() for piece, nbytes in offer.code.items()}
    return sum(offer.constants for offer in chosen.values()) + sum(pieces.values())


def _ready(graph: Graph, settings: Settings) -> Graph:
    """A graph without passes over it, which find nothing to do in graphs of networks, unless there is more to add."""
    if settings.stream is None and not settings.preprocess and not settings.postprocess:
        return trim_kernels.run(graph)[0] if settings.shrink else graph
    return prepared(graph, replace(settings, shrink=False)).whole


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
