"""Dependency groups of channels: channels that must be removed together, because an addition, a depthwise layer or a
reshape couples them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mote.compiler.passes.folding import remove_dead_code
from mote.compiler.passes.shrinking.removable_channels import ChannelReader, Layer, Readers, dispensable, remove
from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.types import DType
from mote.optimize.compress.prune.layers import float_layers

STAYS = -1
"""Group number of channels that cannot be removed."""


@dataclass(frozen=True, eq=False)
class ChannelGroups:
    """Groups of channels that are removed together, numbered from 0."""

    labels: Mapping[int, Ints]
    """Group number of each channel, by activation."""
    families: tuple[tuple[int, ...], ...]
    """Families of interchangeable groups: with equally many channels in the same tensors."""

    @cached_property
    def family(self) -> dict[int, int]:
        """Family index by group."""
        return {group: number for number, family in enumerate(self.families) for group in family}


def groups(graph: Graph) -> ChannelGroups:
    free = dispensable(graph, _readers(graph), DType.FLOAT32)
    labels = _tied(graph, {t: mask for t, mask in free.items() if mask.any()})
    alike: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for group, members in _members(labels).items():
        alike.setdefault(members, []).append(group)
    families = [like for like in alike.values() if len(like) > 1]
    numbers = {group: n for n, group in enumerate(sorted(g for family in families for g in family))}
    named = {t: np.array([numbers.get(int(group), STAYS) for group in own], np.int64) for t, own in labels.items()}
    return ChannelGroups(named, tuple(tuple(numbers[g] for g in sorted(family)) for family in families))


def without(graph: Graph, grouping: ChannelGroups, gone: Collection[int]) -> Graph:
    """Removes groups of channels from a graph, with their weights, biases and other constants."""
    masks = {t: np.zeros(graph.tensors[t].channels, np.bool_) for t in graph.tensors if graph.tensors[t].data is None}
    for t, own in grouping.labels.items():
        masks[t] = np.isin(own, list(gone))
    return remove_dead_code.run(remove(graph, masks, _readers(graph))).verify()


def _readers(graph: Graph) -> Readers:
    """Readers of all layers, which can lose any input channel (at a loss of accuracy)."""
    return {id(op): _reader(graph, op) for op in float_layers(graph)}


def _reader(graph: Graph, op: Layer) -> ChannelReader:
    columns, outputs = op.columns(graph), op.input(graph, 1).shape[0]
    assert columns is not None
    shape = (outputs, len(columns))
    return ChannelReader(
        columns,
        np.ones(shape, np.bool_),
        np.ones(len(columns), np.bool_),
        np.zeros(shape),
        np.full(len(columns), OUTSIDE, np.int64),
    )


def _tied(graph: Graph, free: Mapping[int, Ints | np.typing.NDArray[np.bool_]]) -> dict[int, Ints]:
    """Connected components of coupled channels; the label is the smallest channel index of the component."""
    labels: dict[int, Ints] = {}
    count = 0
    for t, mask in free.items():
        labels[t] = np.where(mask, count + np.arange(len(mask), dtype=np.int64), STAYS)
        count += len(mask)
    layers = {id(op) for op in float_layers(graph)}
    ties = [
        (labels[i], labels[op.outputs[0]], source)
        for op in graph.ops
        if id(op) not in layers and op.outputs[0] in labels
        for position, source in (op.channel_sources(graph) or {}).items()
        if (i := op.inputs[position]) in labels
    ]
    changed = True
    while changed:
        changed = False
        for before, after, source in ties:
            own = np.flatnonzero((source != OUTSIDE) & (after != STAYS))
            least = np.minimum(before[source[own]], after[own])
            if (least != after[own]).any() or (least != before[source[own]]).any():
                np.minimum.at(before, source[own], least)
                np.minimum.at(after, own, least)
                changed = True
    return labels


def _members(labels: Mapping[int, Ints]) -> dict[int, tuple[tuple[int, int], ...]]:
    """(tensor, number of channels) pairs of each group."""
    sizes: dict[int, list[tuple[int, int]]] = {}
    for t, own in labels.items():
        for group, count in zip(*np.unique(own[own != STAYS], return_counts=True), strict=True):
            sizes.setdefault(int(group), []).append((t, int(count)))
    return {group: tuple(members) for group, members in sizes.items()}
