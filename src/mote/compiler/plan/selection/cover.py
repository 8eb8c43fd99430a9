"""Fusion as weighted set packing: of overlapping regions, the disjoint ones with the largest total gain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from itertools import count

from mote.ir.graph import Graph
from mote.ir.graph.region import Numbers, in_order

STATES = 4096
"""Beam width of the dynamic program; it is exact unless more states arise, from very many overlapping regions."""
ROUNDS = 256
"""Attempts to break cyclic dependencies between regions by best-first search over omitted regions; after that greedily,
omitting the region with the least gain."""


def cover(graph: Graph, gains: Mapping[Numbers, float]) -> list[Numbers]:
    """Disjoint regions with positive gains and the largest sum of gains, without cyclic dependencies between them, in
    the order of their first operators."""
    numbers = count()
    omitted: frozenset[Numbers] = frozenset()
    best = _disjoint(graph, gains)
    queue = [(-_sum(gains, best), next(numbers), omitted, best)]
    known = {omitted}
    for turn in count():
        _, _, omitted, best = heappop(queue)
        circle = _circle(graph, best)
        if not circle:
            return best
        if turn >= ROUNDS:
            queue, circle = [], [min(circle, key=gains.__getitem__)]
        for region in circle:
            others = omitted | {region}
            if others not in known:
                known.add(others)
                left = _disjoint(graph, {ops: gain for ops, gain in gains.items() if ops not in others})
                heappush(queue, (-_sum(gains, left), next(numbers), others, left))
    raise AssertionError("no region at all makes no circle")


def _sum(gains: Mapping[Numbers, float], regions: Iterable[Numbers]) -> float:
    return sum(gains[ops] for ops in regions)


Chain = tuple[Numbers, "Chain"] | None
"""Linked list of the chosen regions, the last one first."""


def _disjoint(graph: Graph, gains: Mapping[Numbers, float]) -> list[Numbers]:
    """The disjoint regions with the largest sum of gains, by dynamic programming over operators in order. A state is
    the bit mask of later operators that chosen regions contain."""
    starting: dict[int, list[tuple[int, Numbers]]] = {}
    for ops, gain in gains.items():
        if gain > 0:
            starting.setdefault(ops[0], []).append((sum(1 << (n - ops[0]) for n in ops), ops))
    states: dict[int, tuple[float, Chain]] = {0: (0.0, None)}
    for n in range(len(graph.ops)):
        after: dict[int, tuple[float, Chain]] = {}
        for taken, (total, chain) in states.items():
            choices = [(taken, total, chain)]
            choices += [
                (taken | mask, total + gains[ops], (ops, chain))
                for mask, ops in starting.get(n, ())
                if not taken & mask
            ]
            for mask, gain, regions in choices:
                known = after.get(mask >> 1)
                if known is None or gain > known[0]:
                    after[mask >> 1] = gain, regions
        if len(after) > STATES:
            after = dict(sorted(after.items(), key=lambda state: -state[1][0])[:STATES])
        states = after
    _, chain = max(states.values(), key=lambda state: state[0])
    chosen = []
    while chain is not None:
        ops, chain = chain
        chosen.append(ops)
    return chosen[::-1]


def _circle(graph: Graph, regions: Iterable[Numbers]) -> list[Numbers]:
    """A minimal set of regions with cyclic dependencies; empty if the regions can be executed in some order."""
    left = list(regions)
    if in_order(graph, partition(graph, left)) is not None:
        return []
    for ops in tuple(left):
        others = [other for other in left if other != ops]
        if in_order(graph, partition(graph, others)) is None:
            left = others
    return left


def partition(graph: Graph, regions: Iterable[Numbers]) -> list[Numbers]:
    """The regions, and each remaining operator of a graph alone."""
    regions = list(regions)
    inside = {n for ops in regions for n in ops}
    return [*regions, *((n,) for n in range(len(graph.ops)) if n not in inside)]
