"""Samples with labels: what the ranges of gradients and the gain of layers are measured on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mote.ir.graph.tensor import Array


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs of a model, and what is right for each of them."""

    inputs: Sequence[Mapping[int, Array]]
    """The tensors of the graph's inputs, by id, for each sample."""
    labels: Sequence[Array]
    """The value of the LABEL state (classes, int32) or of the TARGET state for each sample."""

    def __len__(self) -> int:
        return len(self.inputs)

    def few(self, most: int) -> Samples:
        """At most so many of them, from the first to the last."""
        chosen = [n * len(self) // min(len(self), most) for n in range(min(len(self), most))]
        return Samples([self.inputs[n] for n in chosen], [self.labels[n] for n in chosen])
