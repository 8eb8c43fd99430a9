"""Fully connected layers of int16 vectors eight outputs at a time: the weights of `mote_fully_connected8_s16.h`."""

from __future__ import annotations

from functools import partial

import numpy as np

from mote.graph.numeric.fixedpoint import Ints, wrap32
from mote.kernels.armv7em.common import DSP
from mote.kernels.armv7em.int16.conv4x2 import INT16, bytes_in_words, halves_in_words
from mote.kernels.contract import Call, Entry, Instance, Kernel, Packed, Params, Refusal, View, units_of
from mote.kernels.pack.layers import LayerForm, form
from mote.kernels.pack.params import pad_to
from mote.ops.matrix.fully_connected import FullyConnected

OUTPUTS = 8
SUMS = 3
"""The position of the type of sums among the arguments of a layer's macro; behind the types come its struct, its zero,
how it adds, where its sums begin and what becomes of them."""


def _form(view: View) -> LayerForm | Refusal:
    return form(view, rounding=view.the(FullyConnected).rounding)


def _words(weights: Ints, *, wide: bool) -> Ints:
    """Of [outputs, inputs] weights, both even in number: for each two inputs those of all pairs of outputs."""
    fours = weights.reshape(len(weights) // 2, 2, -1, 2)
    if wide:
        return halves_in_words(fours.transpose(2, 0, 1, 3)).reshape(-1)
    return bytes_in_words(fours.transpose(2, 0, 3, 1).reshape(-1, 4)).reshape(-1)


def _pack(view: View, *, wide: bool) -> Packed | Refusal:
    made, weights = view.once(_form), view.constant(1).astype(np.int64)
    if isinstance(made, Refusal):
        return made
    if made.arguments[SUMS] != "int32_t":
        return Refusal("sums might not fit 32 bits")
    channels, depth = weights.shape
    even = pad_to(pad_to(weights, 0, 2), 1, 2)
    many = channels // OUTPUTS * OUTPUTS
    starts = [(at, OUTPUTS) for at in range(0, many, OUTPUTS)] + [(at, 2) for at in range(many, len(even), 2)]
    words = np.concatenate([_words(even[at : at + count], wide=wide) for at, count in starts])
    name = f"fully_connected8_{'wide_' if wide else ''}{made.suffix}"
    _, _, _, _, _, struct, _, _, start, finish = made.arguments
    params: Params = {
        "depth": depth,
        "channels": channels,
        "weights": wrap32(words).astype(np.int32),
        "finish": made.finish,
    }
    return Packed(
        name,
        params,
        Entry(Call.FLAT, units_of(view.input.shape, depth)),
        instances=(Instance("MOTE_FULLY_CONNECTED8_S16", (name, struct, start, finish, int(wide))),),
        headers=made.headers,
    )


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
