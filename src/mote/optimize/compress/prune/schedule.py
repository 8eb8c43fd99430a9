"""Pruning schedules: numbered steps from the unpruned model (0) to the most pruned one, with decreasing cost.

All steps are determined in advance, so that searching is cheap; only the chosen step's weights are refitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, Self

import numpy as np

from mote.compiler.passes.shrinking.removable_channels import Mask
from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array
from mote.optimize.compress.prune import blocks, channels, clusters
from mote.optimize.compress.prune.groups import ChannelGroups, groups, without
from mote.optimize.compress.prune.importance import sensitivities
from mote.optimize.compress.prune.layers import Gram, Reals, float_layers, grams, matrix, with_matrices
from mote.optimize.compress.prune.reconstruct import refitted

Cases = Sequence[Mapping[int, Array]]
Prices = Mapping[int, float]
"""Operator costs by output tensor."""

WORTHS = tuple(float(worth) for worth in np.geomspace(0.01, 30.0, 25))
"""Steps of weight clustering: acceptable signal loss per share of all weight bits, from negligible to destructive."""


@dataclass(frozen=True)
class Change:
    """A layer's count (channels, weights or distinct weights) before and after pruning."""

    index: int
    """Layer number."""
    op: str
    """Operator kind."""
    name: str
    """The name of the layer."""
    before: int
    """Count in the original model."""
    after: int
    """Count after pruning."""
    short: str = ""
    """The layer's short name, the same in all reports."""

    @classmethod
    def of(cls, graph: Graph, op: Op, before: int, after: int) -> Self:
        """The counts of a layer, with its number and names from the graph."""
        return cls(graph.layer_of(op), op.kind, op.name, before, after, graph.short_name(op))


class PruningSchedule(Protocol):
    """Protocol of a model's pruning schedule."""

    @property
    def graph(self) -> Graph:
        """The unpruned model."""

    @property
    def counts(self) -> str:
        """Unit of the counts in `changes`."""

    def __len__(self) -> int: ...

    def cut(self, number: int) -> Graph:
        """The pruned graph of a step, without refitting."""

    def macs(self, number: int) -> int:
        """MACs of nonzero weights at a step."""

    def refit(self, number: int, cases: Cases) -> Graph:
        """The pruned graph of a step, refitted to calibration data."""

    def kept(self, number: int) -> Mapping[int, Mask]:
        """Masks of nonzero weights at a step, by layer output."""

    def changes(self, number: int) -> list[Change]:
        """The layers' counts at a step."""


def macs_of(graph: Graph) -> dict[int, float]:
    return {op.outputs[0]: float(op.macs(graph)) for op in graph.ops}


@dataclass(frozen=True, eq=False)
class ChannelSchedule:
    """Schedule that removes whole channels."""

    graph: Graph
    groups: ChannelGroups
    steps: tuple[channels.RemovalStep, ...]
    counts = "channels"

    @classmethod
    def of(cls, graph: Graph, cases: Cases, prices: Prices) -> ChannelSchedule:
        tied = groups(graph)
        seen = grams(graph, cases)
        steps = channels.order(graph, tied, seen, sensitivities(graph, seen, cases), prices) if tied.families else []
        return cls(graph, tied, tuple(steps))

    def __len__(self) -> int:
        return len(self.steps) + 1

    def cut(self, number: int) -> Graph:
        return without(self.graph, self.groups, [group for step in self.steps[:number] for group in step.groups])

    def macs(self, number: int) -> int:
        return round(sum(macs_of(self.cut(number)).values()))

    def refit(self, number: int, cases: Cases) -> Graph:
        return refitted(self.graph, self.cut(number), cases) if number else self.graph

    def kept(self, number: int) -> Mapping[int, Mask]:
        return {}

    def changes(self, number: int) -> list[Change]:
        after = self.cut(number)
        layers = [op for op in float_layers(self.graph) if op.outputs[0] in after.tensors]
        return [Change.of(self.graph, op, op.output(self.graph).channels, op.output(after).channels) for op in layers]


@dataclass(frozen=True, eq=False)
class BlockSchedule:
    """Schedule that sets blocks of weights to zero."""

    graph: Graph
    drops: tuple[blocks.Drop, ...]
    counts = "weights"

    @classmethod
    def of(cls, graph: Graph, cases: Cases, prices: Prices) -> BlockSchedule:
        seen = grams(graph, cases)
        return cls(graph, tuple(blocks.order(graph, seen, sensitivities(graph, seen, cases), prices)))

    def __len__(self) -> int:
        return len(self.drops) + 1

    def cut(self, number: int) -> Graph:
        layers = {op.outputs[0]: op for op in float_layers(self.graph)}
        kept = self.kept(number)
        return with_matrices(self.graph, {y: matrix(self.graph, layers[y]).weights * mask for y, mask in kept.items()})

    def macs(self, number: int) -> int:
        return round(blocks.price_left(macs_of(self.graph), self.kept(number)))

    def refit(self, number: int, cases: Cases) -> Graph:
        return refitted(self.graph, self.cut(number), cases, self.kept(number)) if number else self.graph

    def kept(self, number: int) -> Mapping[int, Mask]:
        return blocks.masks(self.graph, self.drops[:number])

    def changes(self, number: int) -> list[Change]:
        kept = self.kept(number)
        changed = []
        for op in float_layers(self.graph):
            size, mask = op.input(self.graph, 1).size, kept.get(op.outputs[0])
            left = size if mask is None else int(mask[:, :-1].sum())
            changed.append(Change.of(self.graph, op, size, left))
        return changed


@dataclass(frozen=True, eq=False)
class ClusterSchedule:
    """Schedule that clusters weights to fewer distinct values; each layer is refitted to compensate for the rounding of
    earlier ones."""

    graph: Graph
    cases: Cases
    grams: Mapping[int, Gram]
    sensitivities: Mapping[int, float]
    counts = "distinct weights"

    @classmethod
    def of(cls, graph: Graph, cases: Cases, prices: Prices) -> ClusterSchedule:
        seen = grams(graph, cases)
        return cls(graph, cases, seen, sensitivities(graph, seen, cases))

    def __len__(self) -> int:
        return len(WORTHS) + 1 if clusters.clusterable(self.graph) else 1

    def cut(self, number: int) -> Graph:
        return self._clustered(number)[0]

    def macs(self, number: int) -> int:
        return round(sum(macs_of(self.graph).values()))

    def refit(self, number: int, cases: Cases) -> Graph:
        return self.cut(number)

    def kept(self, number: int) -> Mapping[int, Mask]:
        return {}

    def changes(self, number: int) -> list[Change]:
        clustered = self._clustered(number)[1]
        return [
            Change.of(self.graph, op, _distinct(self.graph, op.outputs[0]), clustered[op.outputs[0]].distinct)
            for op in clusters.clusterable(self.graph)
            if op.outputs[0] in clustered
        ]

    @lru_cache(maxsize=32)  # noqa: B019 - a search asks for the same number again and again
    def _clustered(self, number: int) -> tuple[Graph, dict[int, clusters.Clustered]]:
        clustered: dict[int, clusters.Clustered] = {}
        if not number:
            return self.graph, clustered
        prices = clusters.prices(self.graph, self.grams, self.sensitivities, WORTHS[number - 1])

        def shape(y: int, gram: Gram, weights: Reals) -> Reals:
            if y not in prices:
                return weights
            clustered[y] = clusters.layer(weights, gram, prices[y])
            return clustered[y].matrix

        return refitted(self.graph, self.graph, self.cases, shape=shape), clustered


def _distinct(graph: Graph, y: int) -> int:
    """Number of distinct integers in a layer's weights after int8 quantization."""
    w = graph.producers[y].input(graph, 1)
    assert w.data is not None
    flat = w.data.reshape(w.shape[0], -1)
    largest = np.abs(flat).max(axis=1, keepdims=True)
    steps = np.where(largest > 0.0, largest / clusters.MOST, 1.0)
    return len(np.unique(np.rint(flat / steps)))


KINDS: Mapping[str, type[ChannelSchedule] | type[BlockSchedule] | type[ClusterSchedule]] = {
    "channels": ChannelSchedule,
    "blocks": BlockSchedule,
    "clusters": ClusterSchedule,
}
"""Pruning schedule classes by kind."""
