"""Fully connected layers with two products in one multiplication: the weights and constants of
`mote_fully_connected_swar_s8.h`."""

from __future__ import annotations

from functools import partial

import numpy as np

from mote.graph.numeric.fixedpoint import wrap32
from mote.graph.types import Rounding
from mote.kernels.contract import (
    INT8,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    Structs,
    View,
)
from mote.kernels.pack.params import output_params, pad_to
from mote.kernels.pack.requantize.even import TO_EVEN
from mote.kernels.pack.weights.swar import GROUP, VECTOR, swar
from mote.kernels.portable.matrix.fully_connected import FINE, starts, sums_of, vectors
from mote.kernels.swar.gemm import CUTS_OFF, OVERFLOWS, CoreProducts, left_over
from mote.ops.common import int8_range
from mote.ops.matrix.fully_connected import FullyConnected

CHANNELS = 4
"""Channels that are computed at once."""
GROUPS = 2
"""Their number is a multiple of this."""


def _pack(view: View, products: CoreProducts) -> Packed | Refusal:
    op, y, sums = view.the(FullyConnected), view.output, view.once(sums_of)
    if int8_range(op.activation, y) != (-128, 127):
        return CUTS_OFF
    if not sums.fits.all():
        return OVERFLOWS
    constants = products.constants(sums)
    slow = np.flatnonzero(constants.slow)
    if len(slow) and sums.even:
        return TO_EVEN
    if not sums.exact[slow].all():
        return FINE
    matrix = pad_to(np.where(sums.constant[:, None], 0, view.constant(1).astype(np.int64)), 1, GROUPS * GROUP)
    weights = swar(matrix, VECTOR, view.graph.ranges[view.input.id].hull)
    begins = np.where(sums.constant, 0, view.once(starts) + constants.offset)
    blocks, at = [], []
    length = 0
    for first in range(0, len(matrix), CHANNELS):
        own = slice(first, first + CHANNELS)
        behind = zip(weights.spills[own], constants.rows[own], strict=True)
        words = weights.bytes[own].T
        missing = CHANNELS - words.shape[1]
        block = [
            pad_to(begins[own], 0, CHANNELS),
            np.pad(words, [(0, 0), (0, missing)], constant_values=0x80808080).reshape(-1),
            *(part for spills, rest in behind for part in (left_over(spills), rest)),
        ]
        at += [length] * CHANNELS
        length += sum(map(len, block))
        blocks += block
    again = np.stack([slow, np.array(at)[slow], sums.mult[slow], -sums.shift[slow] - 1], axis=1)
    form = ("linear" if sums.linear else "plain") + products.suffix
    groups = matrix.shape[1] // GROUP
    params: Params = {
        "depth": view.constant(1).shape[1],
        "groups": groups,
        "channels": len(matrix),
        "round_once": int(op.rounding is not Rounding.TWICE),
        "stream": wrap32(np.concatenate(blocks)).astype(np.int32),
        "slow": len(slow),
        "again": Structs("mote_fc_swar_again_t", again) if len(slow) else 0,
        "output": output_params(op.activation, y),
    }
    return Packed(
        f"fully_connected_swar_{form}",
        params,
        Entry(Call.FLAT, vectors(view)),
        Needs(scratch=VECTOR.group * groups),
        Price(density=weights.density),
        (Instance("MOTE_FULLY_CONNECTED_SWAR", (form,)),),
    )


def kernels(products: CoreProducts, isa: str, ending: str = "") -> tuple[Kernel, ...]:
    """The kernels of an instruction set, whose names end so."""
    return (
        Kernel(
            f"fully_connected_swar{products.suffix}{ending}",
            (FullyConnected,),
            INT8,
            partial(_pack, products=products),
            header="fully_connected_swar_s8",
            isa=frozenset({isa}),
            lanes=CHANNELS,
        ),
    )
