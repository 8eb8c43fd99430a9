"""Layers computed in half precision (IEEE 754 binary16), as by Helium (MVE) vectors: float32 tensors, float16 weights.

Inputs are rounded to half precision. Products are accumulated sequentially with fused multiply-adds (one rounding
each); then the bias is added and the activation applied. Results are converted to float32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import float_bias, float_range

Halves = NDArray[np.float16]


def computes_in_half(g: Graph, op: Op) -> bool:
    return op.weights is not None and op.input(g, op.weights).dtype == DType.FLOAT16


def add_product(sums: Halves, x: Halves, w: Halves) -> Halves:
    """Fused multiply-add sums + x * w, rounded once. The product is exact in double precision; an inexact sum is
    rounded to odd, so that the second rounding, to float16, gives the correctly rounded result."""
    product, before = x.astype(np.float64) * w.astype(np.float64), sums.astype(np.float64)
    total = product + before
    part = total - product
    lost = (product - (total - part)) + (before - part)
    odd = np.nextafter(total, np.where(lost > 0, np.inf, -np.inf))
    even = total.view(np.int64) & 1 == 0
    return np.where((lost != 0) & np.isfinite(lost) & even, odd, total).astype(np.float16)


def layer(vectors: Array, weights: Halves, bias: Array, activation: Activation) -> NDArray[np.float32]:
    """Fully connected layer: [n, depth] float32 inputs and [channels, depth] weights to [n, channels]."""
    with np.errstate(all="ignore"):
        x = vectors.astype(np.float32).astype(np.float16)
        sums = np.zeros((len(x), len(weights)), np.float16)
        for k in range(x.shape[1]):
            sums = add_product(sums, x[:, k, None], weights[None, :, k])
        sums = sums + bias.astype(np.float16)
        low, high = (np.array(end, np.float32).astype(np.float16) for end in float_range(activation))
        sums = np.where(sums < low, low, sums)
        return np.where(sums > high, high, sums).astype(np.float32)


def bias_of(g: Graph, op: Op, channels: int) -> Array:
    return float_bias(op.tensor(g, 2), channels)
