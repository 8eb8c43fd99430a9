"""Fully connected layers with 4-bit weights, two per byte: `mote_fully_connected_nibbles_s8.h`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mote.compiler.kernels.contract import Call, Entry, Instance, Packed, Refusal, View
from mote.compiler.kernels.pack.params import pad_to
from mote.compiler.kernels.portable.matrix.fully_connected import plain_params, vectors
from mote.compiler.kernels.portable.windows.nibbles_conv import HIGHEST, LOWEST, WIDE
from mote.ir.graph.numeric.fixedpoint import Ints

MORE = 8
"""Offset of stored 4-bit weights, which makes them non-negative."""
EIGHT, FOUR = 8, 4


def fully_connected_nibbles(view: View, form: str, group: int, words: Callable[[Ints], Ints]) -> Packed | Refusal:
    """Packs the kernel whose weight format is called `form` and takes `group` inputs at a time; `words` packs the
    weights of four or eight outputs."""
    weights = view.constant(1)
    if weights.dtype != np.int8 or weights.min() < LOWEST or weights.max() > HIGHEST:
        return WIDE
    params = plain_params(view, weights)
    if isinstance(params, Refusal):
        return params
    nibbles = pad_to(pad_to(weights.astype(np.int64), 0, FOUR), 1, group) + MORE
    many = len(nibbles) // EIGHT * EIGHT
    outputs = [nibbles[at : at + EIGHT] for at in range(0, many, EIGHT)]
    outputs += [nibbles[many:]] if many < len(nibbles) else []
    stream = np.concatenate([words(some) for some in outputs]).astype(np.uint32)
    return Packed(
        f"fully_connected_nibbles_{form}",
        {**params, "weights": stream},
        Entry(Call.FLAT, vectors(view)),
        instances=(Instance("MOTE_FULLY_CONNECTED_NIBBLES", (form,)),),
    )
