"""Quick cost estimates: kernels are chosen, but memory is not planned."""

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
"""Maximum rows per call of kernels that compute several rows at once."""
CODE = 600
"""Estimated code bytes of a model outside of its kernels."""
CONFIGS = (SelectionConfig(group=MOST_ROWS), SelectionConfig(layouts=False, room=0, group=MOST_ROWS))
"""Kernel selections to try: any tensor layout, and plain NHWC."""
CODE_RATES = (3.0, 1.0, 0.3, 0.1)
"""Prices of a code byte relative to a constant byte, tried in order until the model is not slowed down much."""
STEEPER = 2.0
"""Factor on the flash price between attempts to fit the flash budget."""
STEPS = [(step, share) for step in range(9) for share in (0.25, 1.0)]
"""Attempts to fit the flash budget: (exponent of the flash price, relative price of code)."""
ROUNDS = 3
"""Rounds of reselection in which layers switch to kernels whose code other layers already use."""


class KernelOffer(NamedTuple):
    """A candidate kernel of a layer with its costs."""

    kernel: Packed
    cycles: float
    constants: int
    code: Mapping[str, float]
    """Bytes of each code piece of the kernel; layers share equal pieces."""

    def price(self, rate: float, code_rate: float, present: Container[str] = ()) -> float:
        """Cycles plus priced flash bytes; code pieces in `present` are free."""
        price = self.cycles + rate * self.constants
        if code_rate:
            price += code_rate * sum([nbytes for piece, nbytes in self.code.items() if piece not in present])
        return price


Offered = Mapping[Numbers, Sequence[KernelOffer]]
ChosenOffers = dict[Numbers, KernelOffer]


def estimated(graph: Graph, settings: Settings) -> tuple[int, int, int]:
    """Estimated RAM, flash and cycles of a graph whose operators run one at a time, with kernels chosen for the
    settings' policy and flash budget."""
    ready = ordered(_prepared(graph, settings))
    goal = Goal(ram=settings.ram_limit, spend=settings.ram is not None, costs=settings.costs)
    most = inf if settings.flash_limit is None else settings.flash_limit - _reserved_code(settings)
    candidates, latencies = ShapeCandidates(ready), Latencies()
    roomy, lean = (Selection(candidates, lowering(settings), goal, config, latencies) for config in CONFIGS)
    costs = [_costs(selection, most) for selection in ([roomy] if roomy.simple else [roomy, lean])]
    return min(costs, key=lambda c: (max(c[1] - CODE - most, 0), c[2]))


def _reserved_code(settings: Settings) -> int:
    """Code bytes that a plan reserves beyond kernels."""
    return OWN_CODE if settings.flash is not None else USUAL_CODE


def _costs(selection: Selection, most: float) -> tuple[int, int, int]:
    """RAM, flash and cycles of the kernels chosen from a selection, within `most` bytes of flash if possible."""
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
    """The fastest kernels within a flash budget, raising the flash price from `rate` on; the smallest ones if none
    fit."""
    tried = [_shared(offered, rate * STEEPER**step, rate * STEEPER**step * share) for step, share in STEPS]
    fitting = [chosen for chosen in tried if _flash(chosen) <= most]
    return min(fitting, key=_cycles) if fitting else min(tried, key=_flash)


def _shared(offered: Offered, rate: float, code_rate: float) -> ChosenOffers:
    """The best kernel of each layer at these flash prices: first alone, then counting code that other layers already
    use as free."""
    chosen = {ops: min(some, key=lambda o: o.price(rate, code_rate)) for ops, some in offered.items()}
    users = Counter([piece for offer in chosen.values() for piece in offer.code])
    for _ in range(ROUNDS if code_rate else 0):
        changed = False
        for ops, some in offered.items():
            mine = chosen[ops]
            shared = {piece for piece, count in users.items() if count > (piece in mine.code)}
            best = min(some, key=lambda o: o.price(rate, code_rate, shared))
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


def _prepared(graph: Graph, settings: Settings) -> Graph:
    """The graph ready for estimation; general passes only run if input or output steps or streaming are added."""
    if settings.stream is None and not settings.preprocess and not settings.postprocess:
        return trim_kernels.run(graph)[0] if settings.shrink else graph
    return prepared(graph, replace(settings, shrink=False)).whole


def _peak(graph: Graph, selection: Selection, kernels: Mapping[Numbers, Packed]) -> int:
    """Peak bytes of live tensors and scratch memory if operators run whole, one after another."""
    root, size = roots(graph), {t: aligned(tensor.nbytes) for t, tensor in graph.tensors.items()}
    last = {root[t]: step for step, op in enumerate(selection.ops.values()) for t in op.inputs if t in root}
    last |= {root[t]: len(kernels) for t in graph.outputs}
    live, most = {t: size[t] for t in graph.inputs}, 0
    for step, (ops, op) in enumerate(selection.ops.items()):
        live |= {t: size[t] for t in op.outputs}
        most = max(most, sum(live.values()) + aligned(kernels[ops].needs.scratch or 0))
        live = {t: nbytes for t, nbytes in live.items() if last.get(t, -1) > step}
    return most
