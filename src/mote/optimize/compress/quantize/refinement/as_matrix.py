"""Layers as matrix products: weights as groups of rows, and im2col of their inputs.

A group is a set of output channels that read the same inputs: a convolution or fully connected layer is one group, a
depthwise convolution has one per input channel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.optimize.compress.quantize.statistics import Numbers

Layer = Conv2D | DepthwiseConv2D | FullyConnected


def matrices(op: Layer, weights: Array) -> Numbers:
    """Reshapes weights to [groups, rows, columns]; output channels are groups and rows in order."""
    wide = weights.astype(np.float64)
    if isinstance(op, DepthwiseConv2D):
        _, height, width, channels = weights.shape
        return wide.reshape(height * width, channels // op.multiplier, op.multiplier).transpose(1, 2, 0)
    return wide.reshape(1, weights.shape[0], -1)


def as_weights(op: Layer, values: Array, shape: Shape) -> Array:
    """Inverse of `matrices`: reshapes values to the shape of the weights."""
    return (values.transpose(2, 0, 1) if isinstance(op, DepthwiseConv2D) else values).reshape(shape)


def read(op: Layer, x: Array, columns: int) -> Iterator[Array]:
    """Input columns (im2col) in chunks: [groups, samples and positions, columns]."""
    if isinstance(op, FullyConnected):
        yield x.reshape(1, -1, columns)
        return
    for patches in op.windows(x, 0):
        if isinstance(op, DepthwiseConv2D):
            yield patches.transpose(3, 0, 1, 2, 4, 5).reshape(patches.shape[3], -1, patches[0, 0, 0, 0].size)
        else:
            yield patches.transpose(0, 1, 2, 4, 5, 3).reshape(1, -1, patches[0, 0, 0].size)
