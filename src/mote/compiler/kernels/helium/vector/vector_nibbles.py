"""Fully connected layers with 4-bit weights: packed weights of `mote_fully_connected_nibbles_vectors_s8.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import INT8, Kernel, Packed, Refusal, View
from mote.compiler.kernels.helium.common import HELIUM
from mote.compiler.kernels.portable.matrix.fully_connected_nibbles import fully_connected_nibbles
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.matrix.fully_connected import FullyConnected

INPUTS = 32


def _words(nibbles: Ints) -> Ints:
    """Pack weights [outputs, inputs]: four words have the nibbles of an output and 32 inputs."""
    parts = nibbles.reshape(len(nibbles), -1, 2, 4, 4)
    shifts = 4 * np.arange(2, dtype=np.int64)[:, None, None] + 8 * np.arange(4, dtype=np.int64)
    return np.asarray((parts << shifts).sum(axis=(2, 4)).transpose(1, 0, 2).reshape(-1))


def _pack(view: View) -> Packed | Refusal:
    return fully_connected_nibbles(view, "vectors", INPUTS, _words)


KERNELS = (
    Kernel(
        "fully_connected_nibbles_vectors", (FullyConnected,), INT8, _pack,
        header="fully_connected_nibbles_vectors_s8", isa=HELIUM, lanes=8,
    ),
)  # fmt: skip
