"""Folds the scaling of training data into the first and last layers, so that the exported model takes and returns
unscaled data."""

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
"""Names of the weights that multiply the network's input, by kind of first layer."""


def takes_scale(network: Network) -> bool:
    """Whether an input scale can be folded: every layer that reads the input multiplies it by weights."""
    return all(type(layer) in _FIRST for layer in network.layers if INPUT in layer.inputs)


def folded(network: Network, weights: Weights, scale: float = 1.0) -> Weights:
    """Weights for unscaled inputs, after training on inputs divided by `scale`; exact if `scale` is a power of two."""
    result = {name: dict(constants) for name, constants in weights.items()}
    for layer in network.layers:
        if INPUT in layer.inputs and scale != 1.0:
            for name in _FIRST[type(layer)]:
                result[layer.name][name] = (result[layer.name][name] / scale).astype(np.float32)
    return result


def with_outputs(network: Network, weights: Weights, deviation: Array, mean: Array) -> Weights:
    """Weights whose outputs are in the labels' own units, after training a regression on standardized labels: outputs *
    deviation + mean."""
    last = network.layers[-1]
    constants = weights[last.name]
    matrix = constants["weights"] * deviation.reshape(-1, *(1,) * (constants["weights"].ndim - 1))
    bias = constants["bias"] * deviation + mean
    return {**weights, last.name: {**constants, "weights": matrix.astype(np.float32), "bias": bias.astype(np.float32)}}
