"""Widths: fewer channels in a float graph, the least important ones removed first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.optimize.compress.prune.channels import RemovalStep, unit_of
from mote.optimize.compress.prune.groups import STAYS, ChannelGroups, groups, without

EIGHTHS = 8
"""Widths that a search begins with are these parts of the model's own."""

Ranks = Mapping[int, Ints]
"""How late each channel of a tensor is removed: the more important, the higher."""


def ranks(grouping: ChannelGroups, steps: Sequence[RemovalStep]) -> Ranks:
    """The ranks of channels in a pruning schedule; channels that it never removes have the highest."""
    order = [group for step in steps for group in step.groups]
    rank = np.full(len(grouping.family) + 1, len(order), np.int64)
    rank[order] = np.arange(len(order), dtype=np.int64)
    return {t: np.where(own == STAYS, len(order), rank[own]) for t, own in grouping.labels.items()}


def families(graph: Graph, grouping: ChannelGroups) -> dict[int, int]:
    """Families of channel groups by the first tensor that has them, in the order of execution. Of several that begin
    with the same tensor only the largest counts."""
    numbers: dict[int, int] = {}
    seen: set[int] = set()
    for op in graph.ops:
        own = grouping.labels.get(op.outputs[0])
        new = set() if own is None else {grouping.family[int(group)] for group in np.unique(own[own != STAYS])} - seen
        if new:
            numbers[op.outputs[0]] = max(new, key=lambda number: (len(grouping.families[number]), -number))
            seen |= new
    return numbers


def width_values(count: int) -> tuple[int, ...]:
    """The widths to choose from where there are so many channel groups, from the narrowest."""
    unit = unit_of(count)
    return tuple(sorted({max(unit, count * n // EIGHTHS // unit * unit) for n in range(1, EIGHTHS)} | {count}))


def narrowed(graph: Graph, widths: Mapping[int, int], importance: Ranks) -> Graph:
    """The graph with so many channel groups left of some families, by the first tensor that has them."""
    grouping = groups(graph)
    scores = np.zeros(len(grouping.family), np.int64)
    for t, own in grouping.labels.items():
        if t in importance:
            free = own != STAYS
            np.maximum.at(scores, own[free], importance[t][free])
    gone: list[int] = []
    for t, number in families(graph, grouping).items():
        family = sorted(grouping.families[number], key=lambda group: (scores[group], group))
        gone += family[: max(len(family) - widths.get(t, len(family)), 0)]
    return without(graph, grouping, gone) if gone else graph
