"""Grouped convolutions in blocks of four pixels and two channels: packed weights and instances of
`mote_grouped4x2_s8.h`."""

from __future__ import annotations

from functools import partial

import numpy as np

from mote.compiler.kernels.armv7em.common import CUTS_OFF, DSP, NO_CONSTANTS
from mote.compiler.kernels.armv7em.gemm.gemm3 import PACKERS, WEIGHTS, bias_of, form_of, matrix_of
from mote.compiler.kernels.armv7em.gemm.gemm4x2 import MOST_STEPS, shared_instance
from mote.compiler.kernels.armv7em.gemm.gemm_assembly import MatrixWeights
from mote.compiler.kernels.contract import (
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
    View,
    aligned,
)
from mote.compiler.kernels.portable.windows.conv import patch_params, sums_of
from mote.ir.graph.numeric.fixedpoint import wrap32
from mote.ir.ops.common import int8_range
from mote.ir.ops.windows.grouped_conv import GroupedConv2D

BLOCK = 4
"""Pixels that are computed at once."""


def _pack(view: View, weights: MatrixWeights) -> Packed | Refusal:
    op, x, y, shape = view.the(GroupedConv2D), view.input, view.output, view.constant(1).shape
    groups = op.groups(view.graph)
    outputs, inputs = shape[0] // groups, shape[3]
    if inputs % 4 or outputs % 2:
        return Refusal("a group's input channels are no multiple of four, or its output channels of two")
    if y.shape[2] < BLOCK:
        return Refusal("rows have fewer than four pixels")
    if int8_range(op.activation, y) != (-128, 127):
        return CUTS_OFF
    matrix, bias = view.once(matrix_of), view.once(bias_of)
    depth = matrix.shape[1]
    if depth // 2 > MOST_STEPS:
        return Refusal("sums are too long")
    packed = PACKERS[weights](matrix, bias, sums_of(view), False)
    if packed is None:
        return NO_CONSTANTS
    code, products = shared_instance(form_of(view, weights, packed.shift))
    stream = wrap32(packed.stream()).astype(np.int32)
    gemm: Params = {
        "depth": depth,
        "channels": outputs,
        "pixel": y.shape[3],
        "planes": 0,
        "before": 0,
        "stream": stream,
    }
    params: Params = {
        "patch": patch_params(view),
        "gemm": gemm,
        "groups": groups,
        "inputs": inputs,
        "words": len(stream) // groups,
    }
    name, taps = f"grouped4x2_{code}", op.vertical.kernel
    return Packed(
        name,
        params,
        Entry(Call.ROWS, row=f"{name}_row", taps=taps),
        Needs(scratch=8 * depth + aligned(taps * _columns(view) * x.shape[3])),
        Price(groups=groups, tile=(1, BLOCK), whole_tiles=True, row_tiles=True),
        instances=(products, Instance("MOTE_GROUPED4X2", (code, code))),
    )


def _columns(view: View) -> int:
    """Input columns under a block of pixels that hangs over the edge of the image; 0 if none does."""
    op = view.the(GroupedConv2D)
    v, h = op.vertical, op.horizontal
    if not any((v.before, v.after, h.before, h.after)):
        return 0
    return (BLOCK - 1) * h.stride + (h.kernel - 1) * h.dilation + 1


KERNELS = tuple(
    Kernel(
        f"grouped4x2_{weights}",
        (GroupedConv2D,),
        INT8,
        partial(_pack, weights=weights),
        header="grouped4x2_s8",
        isa=DSP,
        unless=frozenset({"mve"}),
        lanes=2,
    )
    for weights in WEIGHTS
)
