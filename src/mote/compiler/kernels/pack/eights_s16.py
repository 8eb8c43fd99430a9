"""int16 fully connected layers with eight outputs at a time, then two: `mote_fully_connected_eights_s16.h`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mote.compiler.kernels.contract import Call, Entry, Instance, Packed, Params, Refusal, View, units_of
from mote.compiler.kernels.pack.blocks_s16 import NARROW
from mote.compiler.kernels.pack.layers import LayerForm, form
from mote.compiler.kernels.pack.params import pad_to
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.ops.matrix.fully_connected import FullyConnected

OUTPUTS = 8
SUMS = 3
"""Index of the accumulator type in `LayerForm.arguments`, the arguments of the macros in `mote_layer.h`: types, struct,
zero point, addition, initial accumulator, requantization."""


def _form(view: View) -> LayerForm | Refusal:
    return form(view, rounding=view.the(FullyConnected).rounding)


def eights(view: View, kind: str, inputs: int, words: Callable[[Ints], Ints]) -> Packed | Refusal:
    """Packs the kernel whose weight format is called `kind` and takes `inputs` inputs at a time; `words` packs the
    weights of a group of outputs (eight or two)."""
    variant, weights = view.once(_form), view.constant(1).astype(np.int64)
    if isinstance(variant, Refusal):
        return variant
    if variant.arguments[SUMS] != "int32_t":
        return NARROW
    channels, depth = weights.shape
    even = pad_to(pad_to(weights, 0, 2), 1, inputs)
    many = channels // OUTPUTS * OUTPUTS
    starts = [(at, OUTPUTS) for at in range(0, many, OUTPUTS)] + [(at, 2) for at in range(many, len(even), 2)]
    stream = np.concatenate([words(even[at : at + count]) for at, count in starts])
    name = f"fully_connected8_{kind}_{variant.suffix}"
    _, _, _, _, _, struct, _, _, start, finish = variant.arguments
    params: Params = {
        "depth": depth,
        "channels": channels,
        "weights": wrap32(stream).astype(np.int32),
        "finish": variant.finish,
    }
    return Packed(
        name,
        params,
        Entry(Call.FLAT, units_of(view.input.shape, depth)),
        instances=(Instance("MOTE_FULLY_CONNECTED_EIGHTS_S16", (name, struct, start, finish, kind)),),
        headers=variant.headers,
    )
