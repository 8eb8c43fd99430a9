"""Matrix-vector products eight outputs at a time: parameters and instances of `mote_fully_connected8_pairs_s8.h`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from mote.compiler.kernels.armv7em.common import CUTS_OFF, DSP, NO_CONSTANTS
from mote.compiler.kernels.armv7em.ordering.knob import BOTH, with_order
from mote.compiler.kernels.armv7em.ordering.schedule import Order
from mote.compiler.kernels.armv7em.vector.vector4 import MOST_PIXELS, Matrix, layer_of, pairs_fit, window_of
from mote.compiler.kernels.armv7em.vector.vector_assembly import ONCE, code
from mote.compiler.kernels.contract import (
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
from mote.compiler.kernels.pack.params import pad_to
from mote.compiler.kernels.pack.requantize.dsp import SHIFTS, narrow
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.ops.common import int8_range
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D

NAME, CHANNELS, COMPACT = "fully_connected8_pairs", "_channels", "_compact"
OUTPUTS, DEPTH = 8, 4
SCALE = 8
"""log2 of the factor (256) that sums have when they are requantized, which the second of a pair has from packing."""
MOST_SHIFT = 20
"""Largest requantization shift: with a larger one, zero points overflow a register."""
MOST_STEPS = 8191
"""Most steps of four inputs: more bytes of inputs than these exceed an instruction's immediate."""


Packer = Callable[..., Packed | Refusal]
"""Callback that packs a matrix for a number of vectors and a `Finish`, or passes on its refusal; `compact`: code of at
most 1 KB."""


@dataclass(frozen=True)
class Finish:
    """Requantization of sums to bytes: form of the code, shift, parameters of the struct, offsets of scaled sums, and
    constants of each pair of outputs [pairs, words], which follow their weights."""

    form: str
    shift: int
    scalars: Params
    offset: Ints
    constants: Ints


def per_tensor(matrix: Matrix) -> Finish | Refusal:
    """Requantization with one multiplier for all outputs (per-tensor quantization)."""
    _, mult, shift = matrix.channel.T
    if len(set(mult.tolist())) > 1 or len(set(shift.tolist())) > 1:
        return Refusal("outputs are not scaled alike")
    by, rounds = int(shift[0]) - 1, 2 * matrix.sums.zero + 1
    if not matrix.sums.exact.all() or not matrix.sums.once or not 0 <= by <= MOST_SHIFT - SCALE:
        return NO_CONSTANTS
    scalars: Params = {"mult": int(wrap32(mult)[0]), "first": rounds << by, "second": rounds << (by + SCALE)}
    return Finish(ONCE, by + 1, scalars, 0 * mult, np.zeros((-(-len(mult) // 2), 0), np.int64))


def per_channel(matrix: Matrix) -> Finish | Refusal:
    """Requantization with constants for each output (per-channel quantization)."""
    sums = matrix.sums
    scale = np.full(len(matrix.weights), SCALE, np.int64)
    results = (narrow(sums, shift, scale, fixed=True) for shift in SHIFTS)
    constants = next((result for result in results if result is not None), None)
    if constants is None:
        return NO_CONSTANTS
    rows = pad_to(constants.constants(sums.linear), 0, 2)
    pairs = np.concatenate([constants.offset[0::2, None], rows[0::2], rows[1::2]], axis=1)
    scalars: Params = {"mult": 0, "first": 0, "second": 0}
    odd = np.arange(len(scale), dtype=np.int64) % 2
    return Finish("linear" if sums.linear else "relu", constants.shift, scalars, odd * constants.offset, pairs)


def _packed(matrix: Matrix, vectors: int, finish: Finish | Refusal, *, compact: bool) -> Packed | Refusal:
    if isinstance(finish, Refusal):
        return finish
    channels, inputs = matrix.weights.shape
    steps = -(-inputs // DEPTH)
    if channels < OUTPUTS:
        return Refusal(f"there are fewer than {OUTPUTS} outputs")
    if steps > MOST_STEPS:
        return Refusal("there are too many inputs")
    largest = int(np.maximum(-matrix.sums.low, matrix.sums.high).max())
    if not pairs_fit(matrix.weights, largest):
        return NO_CONSTANTS
    words = _eights(matrix.weights.astype(np.int64), matrix.channel[:, 0], finish.offset)
    constants = pad_to(finish.constants, 0, OUTPUTS // 2).reshape(len(words), -1)
    stream = np.concatenate([words, constants], axis=1)
    text = code(steps, finish.shift, finish.form, compact=compact)
    if compact and text == code(steps, finish.shift, finish.form):
        return Refusal("its code is short as it is")
    form = "" if finish.form == ONCE else f"_{finish.form}"
    name = f"{steps}_{finish.shift}{form}{COMPACT if compact else ''}"
    params: Params = {
        "inputs": inputs,
        "channels": channels,
        "rest": channels // OUTPUTS * stream.shape[1],
        **finish.scalars,
        "weights": wrap32(stream.reshape(-1)).astype(np.int32),
    }
    return Packed(
        f"{NAME}_{name}",
        params,
        Entry(Call.FLAT, vectors),
        Needs(scratch=8 * steps),
        instances=(
            Instance("MOTE_FC8_PAIRS_CODE", (name, steps, finish.shift, finish.form), tuple(text)),
            Instance("MOTE_FULLY_CONNECTED8_PAIRS", (name,)),
        ),
    )


def _fully_connected(view: View, *, packed: Packer, channels: bool, compact: bool) -> Packed | Refusal:
    if int8_range(view.the(FullyConnected).activation, view.output) != (-128, 127):
        return CUTS_OFF
    matrix = view.once(layer_of)
    if channels and isinstance(per_tensor(matrix), Finish):
        return Refusal("outputs are scaled alike")
    vectors = units_of(view.input.shape, view.constant(1).shape[1])
    return packed(matrix, vectors, per_channel(matrix) if channels else per_tensor(matrix), compact=compact)


def _conv(view: View, *, packed: Packer, compact: bool) -> Packed | Refusal:
    op, y = view.the(Conv2D), view.output
    if not op.pointwise or y.shape[2] > MOST_PIXELS:
        return Refusal("it is for windows of one pixel, and rows of one or two")
    if int8_range(op.activation, y) != (-128, 127):
        return CUTS_OFF
    matrix = view.once(window_of)
    return packed(matrix, units_of(y.shape, y.shape[3]), per_channel(matrix), compact=compact)


def _eights(matrix: Ints, start: Ints, offset: Ints) -> Ints:
    """Packed weights [groups of eight, words]: initial sums, then words of two weights of each pair of outputs in
    turn."""
    starts, offsets = (pad_to(values, 0, OUTPUTS).reshape(-1, OUTPUTS) for values in (start, offset))
    starts[:, 1::2] = starts[:, 0::2] + (starts[:, 1::2] << SCALE) + offsets[:, 1::2]
    lanes = pad_to(pad_to(matrix, 0, OUTPUTS), 1, DEPTH)
    both = (lanes[0::2] + 256 * lanes[1::2]).reshape(len(starts), OUTPUTS // 2, -1, 4)
    first, second = both[..., :2], both[..., 2:]
    words = ((first & 0xFFFF) | second << 16).reshape(len(starts), OUTPUTS // 2, -1)
    return np.concatenate([starts, words.transpose(0, 2, 1).reshape(len(starts), -1)], axis=1)


def kernels(
    stem: str, outputs: int, packed: Packer, form: str = "", orders: tuple[Order, ...] = BOTH
) -> tuple[Kernel, ...]:
    """Catalogue entries of kernels that compute `outputs` outputs at a time, for per-tensor and per-channel scales;
    `form`: part of their names; `orders`: instruction schedules that they offer."""
    return tuple(
        with_order(
            Kernel(
                name + form + end,
                (kind,),
                INT8,
                partial(pack, packed=packed, compact=end == COMPACT),
                header=f"{stem}_s8",
                isa=DSP,
                lanes=outputs,
                costs=name + form,
            ),
            orders,
        )
        for kind, name, pack in (
            (FullyConnected, stem, partial(_fully_connected, channels=False)),
            (FullyConnected, stem + CHANNELS, partial(_fully_connected, channels=True)),
            (Conv2D, stem + CHANNELS, _conv),
        )
        for end in ("", COMPACT)
    )


KERNELS = kernels(NAME, OUTPUTS, _packed)
