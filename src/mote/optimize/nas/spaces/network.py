"""A network as data: layers in execution order, preprocessing and per-layer precisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import prod
from typing import Any

from mote.base.errors import MoteError
from mote.ir.graph.tensor import Array
from mote.optimize.nas.spaces.layers import INPUT, NetworkLayer, Shape

Weights = Mapping[str, Mapping[str, Array]]
"""Trained float32 constants by layer and name, in the shapes of `NetworkLayer.parameters`."""


@dataclass(frozen=True)
class Network:
    """A network; its last layer computes logits, or the values of a regression."""

    input: Shape
    """Shape of one sample after preprocessing."""
    layers: tuple[NetworkLayer, ...]
    classes: bool = True
    """True for classification: the last layer computes logits, and SOFTMAX is appended on export."""
    preprocess: str = ""
    """Preprocessing steps before the network, as `mote compile --preprocess` takes them."""
    precisions: Mapping[str, str] = field(default_factory=dict)
    """Precisions other than int8, by layer name."""

    def __post_init__(self) -> None:
        known = {INPUT}
        for layer in self.layers:
            missing = [name for name in layer.inputs if name not in known]
            if missing or layer.name in known:
                reason = f"takes '{missing[0]}', which no layer before it computes" if missing else "is there twice"
                raise MoteError(reason, where=f"layer '{layer.name}'")
            known.add(layer.name)

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """Shapes of the input and of every layer's output, by name."""
        shapes = {INPUT: self.input}
        for layer in self.layers:
            shapes[layer.name] = layer.shape(*(shapes[name] for name in layer.inputs))
        return shapes

    def given(self, layer: NetworkLayer) -> list[Shape]:
        """Shapes of a layer's inputs."""
        return [self.shapes[name] for name in layer.inputs]

    @property
    def macs(self) -> int:
        """MACs of an inference."""
        return sum(layer.macs(*self.given(layer)) for layer in self.layers)

    @property
    def parameters(self) -> int:
        """Number of weights and biases."""
        return sum(prod(s) for layer in self.layers for s in layer.parameters(*self.given(layer)).values())

    def json(self) -> dict[str, Any]:
        """The network as JSON types."""
        layers = [
            {"layer": type(layer).__name__.removesuffix("NetworkLayer"), **asdict(layer)} for layer in self.layers
        ]
        return {
            "input": list(self.input),
            "layers": layers,
            "preprocess": self.preprocess,
            "precisions": dict(self.precisions),
        }
