"""Width search: fewer channels in a float graph, the least important ones removed first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.optimize.compress.prune.channels import RemovalStep, unit_of
from mote.optimize.compress.prune.groups import STAYS, ChannelGroups, groups, without

EIGHTHS = 8
"""Widths to choose from are multiples of 1 / EIGHTHS of the model's own width."""

Ranks = Mapping[int, Ints]
"""Importance rank of each channel, by tensor: the higher, the later it is pruned."""


def ranks(grouping: ChannelGroups, steps: Sequence[RemovalStep]) -> Ranks:
    """Importance ranks of channels from a pruning schedule; channels that it never removes rank highest."""
    order = [group for step in steps for group in step.groups]
    rank = np.full(len(grouping.family) + 1, len(order), np.int64)
    rank[order] = np.arange(len(order), dtype=np.int64)
    return {t: np.where(own == STAYS, len(order), rank[own]) for t, own in grouping.labels.items()}


def families(graph: Graph, grouping: ChannelGroups) -> dict[int, int]:
    """Number of the family of tied channel groups that each tensor is the first to have, by tensor, in execution order.
    Where several families begin at one tensor, only the largest counts."""
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
    """Widths to choose from, ascending, for a layer of `count` channel groups."""
    unit = unit_of(count)
    return tuple(sorted({max(unit, count * n // EIGHTHS // unit * unit) for n in range(1, EIGHTHS)} | {count}))


def narrowed(graph: Graph, widths: Mapping[int, int], importance: Ranks) -> Graph:
    """The pruned graph: `widths` is the number of channel groups to keep, by the first tensor of each family."""
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
