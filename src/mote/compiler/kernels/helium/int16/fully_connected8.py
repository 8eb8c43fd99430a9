"""Fully connected layers of int16 vectors in vectors of eight inputs: packed weights of
`mote_fully_connected8_vectors_s16.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import Kernel, Packed, Refusal, View
from mote.compiler.kernels.helium.common import HELIUM
from mote.compiler.kernels.helium.int16.blocks_assembly import LANES
from mote.compiler.kernels.pack.blocks_s16 import INT16, bytes_in_words
from mote.compiler.kernels.pack.eights_s16 import eights
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.matrix.fully_connected import FullyConnected


def _words(weights: Ints) -> Ints:
    """Pack weights [outputs, inputs]: for each eight inputs the weights of all outputs."""
    return bytes_in_words(weights.reshape(len(weights), -1, LANES).transpose(1, 0, 2).reshape(-1, 4)).reshape(-1)


def _pack(view: View) -> Packed | Refusal:
    return eights(view, "vectors", LANES, _words)


KERNELS = (
    Kernel(
        "fully_connected8_vectors_s16",
        (FullyConnected,),
        INT16,
        _pack,
        header="fully_connected8_vectors_s16",
        isa=HELIUM,
        lanes=2,
    ),
)
