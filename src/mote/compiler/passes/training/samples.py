"""Samples with labels, on which gradient ranges and the gain of layers are measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mote.ir.graph.tensor import Array


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs of a model, with a label or target for each."""

    inputs: Sequence[Mapping[int, Array]]
    """For each sample: the values of the graph's inputs, by tensor id."""
    labels: Sequence[Array]
    """For each sample: the value of the LABEL state (classes, int32) or of the TARGET state."""

    def __len__(self) -> int:
        return len(self.inputs)

    def few(self, most: int) -> Samples:
        """At most `most` of the samples, evenly spaced."""
        chosen = [n * len(self) // min(len(self), most) for n in range(min(len(self), most))]
        return Samples([self.inputs[n] for n in chosen], [self.labels[n] for n in chosen])
