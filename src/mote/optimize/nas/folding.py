"""Scales of data, folded into the layers that take the input and give the output, so that models take and give data as
it is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.ir.graph.tensor import Array
from mote.optimize.nas.spaces.layers import INPUT, AttentionLayer, ConvLayer, DenseLayer, GruLayer, NetworkLayer
from mote.optimize.nas.spaces.network import Network, Weights

_FIRST: Mapping[type[NetworkLayer], tuple[str, ...]] = {
    ConvLayer: ("weights",),
    DenseLayer: ("weights",),
    GruLayer: ("kernel",),
    AttentionLayer: ("query", "key", "value"),
}
"""Weights that the input is multiplied by."""


def takes_scale(network: Network) -> bool:
    """Whether every layer that takes the input multiplies it by weights."""
    return all(type(layer) in _FIRST for layer in network.layers if INPUT in layer.inputs)


def folded(network: Network, weights: Weights, scale: float = 1.0) -> Weights:
    """Weights for inputs that were divided by a scale before; an exact change where it is a power of two."""
    result = {name: dict(constants) for name, constants in weights.items()}
    for layer in network.layers:
        if INPUT in layer.inputs and scale != 1.0:
            for name in _FIRST[type(layer)]:
                result[layer.name][name] = (result[layer.name][name] / scale).astype(np.float32)
    return result


def with_outputs(network: Network, weights: Weights, deviation: Array, mean: Array) -> Weights:
    """Weights of a regression whose outputs were standardized in training: outputs x deviation + mean."""
    last = network.layers[-1]
    given = weights[last.name]
    matrix = given["weights"] * deviation.reshape(-1, *(1,) * (given["weights"].ndim - 1))
    bias = given["bias"] * deviation + mean
    return {**weights, last.name: {**given, "weights": matrix.astype(np.float32), "bias": bias.astype(np.float32)}}
