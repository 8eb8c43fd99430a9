"""Fully connected layers of int16 vectors eight outputs at a time: packed weights of `mote_fully_connected8_s16.h`."""

from __future__ import annotations

from functools import partial

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.contract import Kernel, Packed, Refusal, View
from mote.compiler.kernels.pack.blocks_s16 import INT16, bytes_in_words, halves_in_words
from mote.compiler.kernels.pack.eights_s16 import eights
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.matrix.fully_connected import FullyConnected


def _words(weights: Ints, *, wide: bool) -> Ints:
    """Pack weights [outputs, inputs], both even: for each two inputs, the weights of all pairs of outputs; `wide`:
    16-bit weights."""
    fours = weights.reshape(len(weights) // 2, 2, -1, 2)
    if wide:
        return halves_in_words(fours.transpose(2, 0, 1, 3)).reshape(-1)
    return bytes_in_words(fours.transpose(2, 0, 3, 1).reshape(-1, 4)).reshape(-1)


def _pack(view: View, *, wide: bool) -> Packed | Refusal:
    return eights(view, "wide" if wide else "bytes", 2, partial(_words, wide=wide))


KERNELS = tuple(
    Kernel(
        f"fully_connected8_s16{'_wide' if wide else ''}",
        (FullyConnected,),
        INT16,
        partial(_pack, wide=wide),
        header="fully_connected8_s16",
        isa=DSP,
        unless=frozenset({"mve"}),
        lanes=2,
    )
    for wide in (True, False)
)
