"""Fully connected layers with 4-bit weights: packed weights of `mote_fully_connected_nibbles_pairs_s8.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.contract import INT8, Kernel, Packed, Refusal, View
from mote.compiler.kernels.portable.matrix.fully_connected_nibbles import fully_connected_nibbles
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.matrix.fully_connected import FullyConnected

INPUTS = 8


def _words(nibbles: Ints) -> Ints:
    """Pack weights [outputs, inputs]: a word has the nibbles of two inputs and four outputs."""
    fours, groups = len(nibbles) // 4, nibbles.shape[1] // INPUTS
    parts = nibbles.reshape(fours, 4, groups, 2, 2, 2)
    shifts = 4 * np.arange(4, dtype=np.int64)[:, None, None, None, None] + 16 * np.arange(2, dtype=np.int64)[:, None]
    return np.asarray((parts << shifts).sum(axis=(1, 4)).transpose(1, 2, 3, 0).reshape(-1))


def _pack(view: View) -> Packed | Refusal:
    return fully_connected_nibbles(view, "pairs", INPUTS, _words)


KERNELS = (
    Kernel(
        "fully_connected_nibbles", (FullyConnected,), INT8, _pack, header="fully_connected_nibbles_pairs_s8", isa=DSP,
        unless=frozenset({"mve"}), lanes=8,
    ),
)  # fmt: skip
