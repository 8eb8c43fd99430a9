"""Random weights of networks: those of an untrained network, and of networks that are only costed."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import prod, sqrt

import numpy as np

from mote.ir.graph.tensor import Array
from mote.optimize.nas.spaces.layers import ConvLayer, NetworkLayer, Shape
from mote.optimize.nas.spaces.network import Network, Weights

LayerKey = tuple[str, tuple[tuple[str, Shape], ...], bool, int]
"""The class of a layer, the shapes of its constants, whether it is depthwise, and how many layers of the same kind
come before it in the network: that and a seed tell its random weights."""


def layer_keys(network: Network) -> dict[str, LayerKey]:
    """What the random weights of every layer with constants are made from, by the name of the layer."""
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
    """Weights of He's initialization with small biases. Those of a layer depend on the shapes of its constants and the
    number of equal layers before it, not on its name: arrays are shared by networks with equal layers, and read-only.
    """
    return {name: layer_weights(key, seed) for name, key in layer_keys(network).items()}


@lru_cache(maxsize=4096)
def layer_weights(key: LayerKey, seed: int) -> dict[str, Array]:
    """The random constants of a layer."""
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
