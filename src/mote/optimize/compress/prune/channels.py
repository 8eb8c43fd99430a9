"""Channel pruning order: each step removes the channels with the least estimated loss per saving.

As in Optimal Brain Surgeon, the loss of removing inputs from a layer, after a least-squares refit of its other weights,
follows from the inverse Gram matrix H of its inputs. For removed inputs S, the squared error rises by w_S (H_SS)^-1
w_S^T per output, the other weights become w - w_S (H_SS)^-1 H_S, and the inverse becomes H - H_S^T (H_SS)^-1 H_S. After
each removal all losses are recomputed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mote.base.integers import repeat
from mote.compiler.passes.shrinking.removable_channels import Layer, Mask
from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.optimize.compress.prune.groups import STAYS, ChannelGroups
from mote.optimize.compress.prune.layers import Gram, Reals, float_layers, matrix

FOURS = 4
"""Kernels process channels in groups of four: multiples of four stay multiples."""


@dataclass(frozen=True)
class RemovalStep:
    """Channel groups to remove next, and the cumulative estimated loss of the model's signal."""

    groups: tuple[int, ...]
    loss: float


def order(
    graph: Graph,
    groups: ChannelGroups,
    grams: Mapping[int, Gram],
    sensitivities: Mapping[int, float],
    prices: Mapping[int, float],
) -> list[RemovalStep]:
    """The steps of removal, those with the least loss per saving first. The last channels of each family stay: four or
    one, as many as are removed at once (`unit_of`). `prices`: each operator's cost by its output tensor."""
    layers = [(op, op.outputs[0]) for op in float_layers(graph)]
    readers = [_Reader.of(graph, op, groups, grams[y], sensitivities[y]) for op, y in layers]
    costs = _Costs(graph, groups, prices)
    left = {number: list(family) for number, family in enumerate(groups.families)}
    steps: list[RemovalStep] = []
    lost = 0.0
    while parts := list(_cheapest(left.values(), _losses(groups, readers))):
        _, removed = min((loss / max(costs.saved(part), 1e-9), part) for loss, part in parts)
        for group in removed:
            lost += float(_losses(groups, readers)[group])
            for reader in readers:
                reader.forget(group)
        costs.remove(removed)
        number = groups.family[removed[0]]
        left[number] = [group for group in left[number] if group not in removed]
        steps.append(RemovalStep(removed, lost))
    return steps


def _cheapest(families: Iterable[Sequence[int]], losses: Reals) -> Iterator[tuple[float, tuple[int, ...]]]:
    """For each family that can lose more groups, the cheapest groups to remove next and their loss."""
    for family in families:
        unit = unit_of(len(family))
        if len(family) > unit:
            part = tuple(sorted(family, key=lambda group: (losses[group], group))[:unit])
            yield float(losses[list(part)].sum()), part


def unit_of(count: int) -> int:
    """Number of channels that are removed at once from `count`: four if it is a multiple of four, else one."""
    return FOURS if count % FOURS == 0 else 1


def _losses(groups: ChannelGroups, readers: Sequence[_Reader]) -> Reals:
    total = np.zeros(len(groups.family))
    for reader in readers:
        reader.add_losses(total)
    return total


class _Reader:
    """A layer that loses inputs; its remaining weights are refitted after each removal."""

    def __init__(self, weights: Reals, inverse: Reals, inputs: Ints, outputs: Ints, weight: float) -> None:
        self.weights, self.inverse = weights, inverse
        self.inputs = inputs
        """Channel group of each column."""
        self.outputs = outputs
        """Channel group of each row."""
        self.weight = weight
        """Factor from squared error to lost share of the model's signal."""
        self.losses: dict[int, float] | None = None

    @classmethod
    def of(cls, graph: Graph, op: Layer, groups: ChannelGroups, gram: Gram, sensitivity: float) -> _Reader:
        own = matrix(graph, op)
        stays = np.full(max(graph.tensors[op.inputs[0]].channels, 1) + 1, STAYS, np.int64)
        of_input = np.append(groups.labels.get(op.inputs[0], stays[:-1]), STAYS)
        of_output = groups.labels.get(op.outputs[0], np.full(op.output(graph).channels, STAYS, np.int64))
        outputs = repeat(of_output, len(own.weights) // len(of_output))
        energy = gram.energy(own.weights, own.biased)
        weight = sensitivity / energy if energy > 0.0 else 0.0
        return cls(own.weights.copy(), np.linalg.inv(gram.damped()), of_input[own.owners], outputs, weight)

    def add_losses(self, total: Reals) -> None:
        """Adds the loss of removing each group in this layer."""
        if self.losses is None:
            self.losses = {int(g): self._loss(self.inputs == g) for g in np.unique(self.inputs[self.inputs != STAYS])}
        for group, loss in self.losses.items():
            total[group] += loss

    def _loss(self, own: Mask) -> float:
        part = self.weights[:, own]
        return self.weight * float((part * np.linalg.solve(self.inverse[np.ix_(own, own)], part.T).T).sum())

    def forget(self, group: int) -> None:
        """Removes the inputs and outputs of a group."""
        own = self.inputs == group
        if own.any():
            scaled = np.linalg.solve(self.inverse[np.ix_(own, own)], self.inverse[own])
            self.weights = (self.weights - self.weights[:, own] @ scaled)[:, ~own]
            self.inverse = (self.inverse - self.inverse[:, own] @ scaled)[np.ix_(~own, ~own)]
            self.inputs = self.inputs[~own]
        rows = self.outputs == group
        self.weights, self.outputs = self.weights[~rows], self.outputs[~rows]
        if own.any() or rows.any():
            self.losses = None


class _Costs:
    """Operator costs as a function of remaining channels: proportional to output channels, for layers with weights also
    to input channels."""

    def __init__(self, graph: Graph, groups: ChannelGroups, prices: Mapping[int, float]) -> None:
        layers = {id(op) for op in float_layers(graph)}
        self.parts = []
        for op in graph.ops:
            price, sides = prices.get(op.outputs[0], 0.0), [op.outputs[0]]
            if id(op) in layers:
                sides.append(op.inputs[0])
            labels = [groups.labels[t] for t in sides if t in groups.labels]
            if price > 0.0 and labels:
                self.parts.append((price, labels))
        self.removed = np.zeros(len(groups.family) + 1, np.bool_)

    def saved(self, more: Sequence[int]) -> float:
        """Saving when these groups are removed as well."""
        then = self.removed.copy()
        then[list(more)] = True
        return self._total(self.removed) - self._total(then)

    def remove(self, more: Sequence[int]) -> None:
        self.removed[list(more)] = True

    def _total(self, removed: Mask) -> float:
        """Total cost; `removed` has one extra entry (index STAYS) for channels that cannot be removed."""
        return float(sum(price * np.prod([1.0 - removed[own].mean() for own in sides]) for price, sides in self.parts))


def prefixes(steps: Sequence[RemovalStep]) -> Iterator[tuple[int, ...]]:
    """Groups removed after 0, 1, 2, ... steps."""
    removed: tuple[int, ...] = ()
    yield removed
    for step in steps:
        removed += step.groups
        yield removed
