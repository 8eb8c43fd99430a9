"""Weight order of kernels that compute four outputs at once."""

from __future__ import annotations

import numpy as np

from mote.ir.graph.tensor import Array

BLOCK = 4
"""Number of channels, or of matrix rows, computed at once."""


def by_channels(weights: Array) -> Array:
    """Reorders [channels, products] to [blocks of four channels][products][4], followed by the remaining channels one
    by one."""
    fours = len(weights) // BLOCK * BLOCK
    blocks = weights[:fours].reshape(-1, BLOCK, weights.shape[1]).transpose(0, 2, 1)
    return np.concatenate([blocks.reshape(-1), weights[fours:].reshape(-1)])
