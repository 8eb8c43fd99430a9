"""A matrix times a vector, eight outputs at a time: what `mote_fully_connected8_pairs_s8.h` needs."""

from __future__ import annotations

from functools import partial

import numpy as np

from mote.graph.numeric.fixedpoint import Ints, wrap32
from mote.kernels.armv7em.common import CUTS_OFF, DSP, NO_CONSTANTS
from mote.kernels.armv7em.vector.vector4 import layer_of, pairs_fit
from mote.kernels.armv7em.vector.vector_assembly import code
from mote.kernels.contract import (
    INT8,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Refusal,
    View,
    units_of,
)
from mote.kernels.pack.params import pad_to
from mote.ops.common import int8_range
from mote.ops.matrix.fully_connected import FullyConnected

NAME, COMPACT = "fully_connected8_pairs", "_compact"
OUTPUTS, DEPTH = 8, 4
MOST_SHIFT = 20
"""Further shifted, zero points do not fit a register."""
MOST_STEPS = 8191
"""More inputs than four times that are more bytes than an instruction can name."""


def _pack(view: View, *, compact: bool) -> Packed | Refusal:
    if int8_range(view.the(FullyConnected).activation, view.output) != (-128, 127):
        return CUTS_OFF
    layer = view.once(layer_of)
    start, mult, shift = layer.channel.T
    if len(set(mult.tolist())) > 1 or len(set(shift.tolist())) > 1:
        return Refusal("outputs are not scaled alike")
    channels, inputs = layer.weights.shape
    by, steps = int(shift[0]) - 1, -(-inputs // DEPTH)
    if channels < OUTPUTS:
        return Refusal(f"there are fewer than {OUTPUTS} outputs")
    if steps > MOST_STEPS:
        return Refusal("there are too many inputs")
    largest = int(np.maximum(-layer.sums.low, layer.sums.high).max())
    fits = layer.sums.exact.all() and layer.sums.once and pairs_fit(layer.weights, largest)
    if not fits or not 0 <= by <= MOST_SHIFT - 8:
        return NO_CONSTANTS
    words = _eights(layer.weights.astype(np.int64), start)
    text, rounds = code(steps, by + 1, compact=compact), 2 * layer.sums.zero + 1
    if compact and text == code(steps, by + 1):
        return Refusal("its code is short as it is")
    name = f"{steps}_{by + 1}{COMPACT if compact else ''}"
    params: Params = {
        "inputs": inputs,
        "channels": channels,
        "rest": channels // OUTPUTS * words.shape[1],
        "mult": int(wrap32(mult)[0]),
        "first": rounds << by,
        "second": rounds << (by + 8),
        "weights": wrap32(words.reshape(-1)).astype(np.int32),
    }
    return Packed(
        f"fully_connected8_pairs_{name}",
        params,
        Entry(Call.FLAT, units_of(view.input.shape, inputs)),
        Needs(scratch=8 * steps),
        instances=(
            Instance("MOTE_FC8_PAIRS_CODE", (name, steps, by + 1), tuple(text)),
            Instance("MOTE_FULLY_CONNECTED8_PAIRS", (name,)),
        ),
    )


def _eights(matrix: Ints, start: Ints) -> Ints:
    """[eights, words]: where sums start, then words of two weights of each pair of outputs in turn."""
    starts = pad_to(start, 0, OUTPUTS).reshape(-1, OUTPUTS)
    starts[:, 1::2] = starts[:, 0::2] + 256 * starts[:, 1::2]
    lanes = pad_to(pad_to(matrix, 0, OUTPUTS), 1, DEPTH)
    both = (lanes[0::2] + 256 * lanes[1::2]).reshape(len(starts), OUTPUTS // 2, -1, 4)
    first, second = both[..., :2], both[..., 2:]
    words = ((first & 0xFFFF) | second << 16).reshape(len(starts), OUTPUTS // 2, -1)
    return np.concatenate([starts, words.transpose(0, 2, 1).reshape(len(starts), -1)], axis=1)


KERNELS = tuple(
    Kernel(
        f"{NAME}{COMPACT if compact else ''}",
        (FullyConnected,),
        INT8,
        partial(_pack, compact=compact),
        header=f"{NAME}_s8",
        isa=DSP,
        lanes=OUTPUTS,
        costs=NAME,
    )
    for compact in (False, True)
)
