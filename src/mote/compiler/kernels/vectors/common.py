"""Constants of layers in blocks of 16 channels, for host SIMD: `mote_vectors.h`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Refusal, Structs
from mote.compiler.kernels.pack.params import pad_to
from mote.ir.graph.numeric.fixedpoint import Ints

BLOCK = 16
"""Channels that are computed at once, for all vector lengths."""
FOUR = 4
"""Inputs that are multiplied at once."""
VECTORS = frozenset({"vectors"})
LARGE = Refusal("a channel's multiplier is too large to be rounded in lanes")


def blocks(channels: Structs) -> NDArray[np.int32]:
    """Pack `mote_channel_t` of all channels as biases, multipliers and shifts of each block."""
    padded = pad_to(channels.rows, 0, BLOCK)
    padded[len(channels.rows) :, 1:] = 1 << 30, 1
    return np.ascontiguousarray(padded.reshape(-1, BLOCK, 3).transpose(0, 2, 1)).astype(np.int32).reshape(-1)


def shifts_right(channels: Structs, least: int) -> bool:
    """Whether the right shifts of all channels are at least `least`."""
    shift: Ints = channels.rows[:, 2]
    return bool(np.all(shift >= least))
