"""Weights in the order in which kernels compute four outputs at once."""

from __future__ import annotations

import numpy as np

from mote.ir.graph.tensor import Array

BLOCK = 4
"""Channels, or lines of a matrix, that are computed at once."""


def by_channels(weights: Array) -> Array:
    """[channels, products] as [blocks of four channels][products][4], and those that are left one after another."""
    fours = len(weights) // BLOCK * BLOCK
    blocks = weights[:fours].reshape(-1, BLOCK, weights.shape[1]).transpose(0, 2, 1)
    return np.concatenate([blocks.reshape(-1), weights[fours:].reshape(-1)])
