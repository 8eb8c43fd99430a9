"""Small random networks: chains of convolutions, with residual connections where shapes allow."""

from __future__ import annotations

from random import Random

from mote.optimize.nas.spaces.layers import (
    INPUT,
    AddLayer,
    ConvLayer,
    DenseLayer,
    MeanLayer,
    NetworkLayer,
    PoolLayer,
    Shape,
)
from mote.optimize.nas.spaces.network import Network


def drawn_network(
    rng: Random, shape: Shape = (12, 10, 3), blocks: int = 2, widths: tuple[int, ...] = (4, 8)
) -> Network:
    """A random network of a few layers for images of this shape."""
    layers: list[NetworkLayer] = [
        ConvLayer("stem", (INPUT,), filters=rng.choice(widths), stride=rng.choice(((1, 1), (2, 2))))
    ]
    width = layers[0].shape(shape)[2]
    for n in range(rng.randint(1, blocks)):
        before, filters = layers[-1].name, rng.choice(widths)
        kind = rng.choice(("separable", "residual", "pooled"))
        if kind == "separable":
            size = rng.choice((3, 5))
            layers.append(ConvLayer(f"{n}.depthwise", (before,), kernel=(size, size), depthwise=True))
            layers.append(ConvLayer(f"{n}.pointwise", (f"{n}.depthwise",), kernel=(1, 1), filters=filters))
        elif kind == "residual":
            filters = width
            layers.append(ConvLayer(f"{n}.conv", (before,), filters=filters, activation="none"))
            layers.append(AddLayer(f"{n}.add", (before, f"{n}.conv"), activation="relu"))
        else:
            layers.append(PoolLayer(f"{n}.pool", (before,), kernel=(2, 2), stride=(1, 1), largest=rng.random() < 0.5))
            layers.append(ConvLayer(f"{n}.conv", (f"{n}.pool",), filters=filters, stride=(2, 1)))
        width = filters
    layers += [MeanLayer("mean", (layers[-1].name,)), DenseLayer("head", ("mean",), units=rng.choice((2, 5)))]
    return Network(shape, tuple(layers))
