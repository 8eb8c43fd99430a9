"""Random weights for untrained networks and for networks that are only costed."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import prod, sqrt

import numpy as np

from mote.ir.graph.tensor import Array
from mote.optimize.nas.spaces.layers import ConvLayer, NetworkLayer, Shape
from mote.optimize.nas.spaces.network import Network, Weights

LayerKey = tuple[str, tuple[tuple[str, Shape], ...], bool, int]
"""Key of a layer's random weights: layer class name, shapes of its constants, whether it is depthwise, and the number
of equal layers before it."""


def layer_keys(network: Network) -> dict[str, LayerKey]:
    """Keys of the random weights, by layer name, for layers that have constants."""
    before: Counter[LayerKey] = Counter()
    keys = {}
    for layer in network.layers:
        shapes = tuple(layer.parameters(*network.given(layer)).items())
        if shapes:
            key = (type(layer).__name__, shapes, _is_depthwise(layer), 0)
            keys[layer.name] = (*key[:3], before[key])
            before[key] += 1
    return keys


def random_weights(network: Network, seed: int = 0) -> Weights:
    """Weights by He initialization, with small biases. They depend on the shapes and on the number of equal layers
    before, not on names: networks with equal layers share the read-only arrays."""
    return {name: layer_weights(key, seed) for name, key in layer_keys(network).items()}


@lru_cache(maxsize=4096)
def layer_weights(key: LayerKey, seed: int) -> dict[str, Array]:
    """Random constants of a layer by name."""
    kind, shapes, depthwise, before = key
    numbers = [sum(map(ord, kind)), *(n for _, shape in shapes for n in (len(shape), *shape)), before]
    rng = np.random.default_rng([seed, depthwise, *numbers])
    arrays = {name: _array(rng, name, shape, depthwise) for name, shape in shapes}
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def _array(rng: np.random.Generator, name: str, shape: Shape, depthwise: bool) -> Array:
    if len(shape) > 1:
        fan_in = prod(shape[:-1]) if depthwise else prod(shape[1:])
        return rng.standard_normal(shape, np.float32) * np.float32(sqrt(2 / fan_in))
    near = 1.0 if name == "scale" else 0.0
    return rng.standard_normal(shape, np.float32) * np.float32(0.1) + np.float32(near)


def _is_depthwise(layer: NetworkLayer) -> bool:
    return isinstance(layer, ConvLayer) and layer.depthwise
