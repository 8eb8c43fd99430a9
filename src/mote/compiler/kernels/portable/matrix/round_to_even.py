"""int8 CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED with results rounded to even: `mote_conv2d_even_s8.h`,
`mote_depthwise_even_s8.h` and `mote_fully_connected_even_s8.h`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.kernels.contract import (
    INT8,
    Biases,
    Call,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    View,
    units_of,
)
from mote.compiler.kernels.pack.learned_bias import learning
from mote.compiler.kernels.pack.params import CHANNEL_WORDS
from mote.compiler.kernels.pack.requantize.even import NOT_TO_EVEN, even_finish, rounds_to_even
from mote.compiler.kernels.portable.matrix import fully_connected
from mote.compiler.kernels.portable.windows import conv, depthwise
from mote.ir.ops.common import bias_values
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


def _gemm(view: View) -> Params:
    """Parameters of the int8 matrix product (`mote_gemm_s8_t`), with requantization constants that round to even."""
    op, w = view.the(Conv2D), view.constant(1)
    folded = view.input.zero_point * w.reshape(w.shape[0], -1).sum(axis=1, dtype=np.int64)
    bias = bias_values(op.tensor(view.graph, 2), w.shape[0]) - folded
    return {**conv.gemm_params(view), **even_finish(view, op.activation, conv.sums_of(view), bias)}


def _pointwise(view: View) -> Packed | Refusal:
    op, y = view.the(Conv2D), view.output.shape
    if not rounds_to_even(view):
        return NOT_TO_EVEN
    if not op.pointwise:
        return Refusal("it is for windows of one pixel")
    return Packed(
        "pointwise_even_s8",
        {"gemm": view.once(_gemm)},
        Entry(Call.FLAT, units_of(y, y[3])),
        price=Price(tile=(1, 2)),
        biases=Biases("gemm.channel", CHANNEL_WORDS),
    )


def _conv2d(view: View) -> Packed | Refusal:
    op = view.the(Conv2D)
    if not rounds_to_even(view):
        return NOT_TO_EVEN
    if op.pointwise:
        return Refusal("pointwise_even is for windows of one pixel")
    return Packed(
        "conv2d_even_s8",
        {"patch": conv.patch_params(view), "gemm": view.once(_gemm)},
        Entry(Call.ROWS, row="conv2d_even_s8_row", taps=op.vertical.kernel),
        Needs(scratch=2 * op.depth(view.graph)),
        Price(tile=(1, 2)),
        biases=Biases("gemm.channel", CHANNEL_WORDS),
    )


def _depthwise(view: View) -> Packed | Refusal:
    op = view.the(DepthwiseConv2D)
    if not rounds_to_even(view):
        return NOT_TO_EVEN
    sums = op.sums(view.graph, view.graph.ranges[op.inputs[0]])
    bias = bias_values(op.tensor(view.graph, 2), view.output.channels)
    params = {**depthwise.layer_params(view), **even_finish(view, op.activation, sums, bias)}
    entry = Entry(Call.ROWS, row="depthwise_even_s8_row", taps=op.vertical.kernel)
    return Packed("depthwise_even_s8", params, entry, biases=Biases("channel", CHANNEL_WORDS))


def _fully_connected(view: View) -> Packed | Refusal:
    op, weights = view.the(FullyConnected), view.constant(1)
    sums = fully_connected.sums_of(view)
    if not sums.even:
        return NOT_TO_EVEN
    if sums.exact.all():
        return Refusal("multipliers of 31 bits give the reference's results")
    plain = fully_connected.packed_params(view, weights)
    params = {**plain, **even_finish(view, op.activation, sums, fully_connected.starts(view))}
    biases = Biases("channel", CHANNEL_WORDS)
    return Packed("fully_connected_even_s8", params, Entry(Call.FLAT, fully_connected.vectors(view)), biases=biases)


CONV2D = Kernel("conv2d_even", (Conv2D,), INT8, _conv2d, header="conv2d_even_s8", tuned=True, lanes=2, costs="conv2d")
KERNELS = tuple(
    map(
        learning,
        (
            replace(CONV2D, name="pointwise_even", pack=_pointwise, costs="pointwise"),
            CONV2D,
            Kernel(
                "fully_connected_even",
                (FullyConnected,),
                INT8,
                _fully_connected,
                header="fully_connected_even_s8",
                tuned=True,
                costs="fully_connected",
            ),
            Kernel(
                "depthwise_even",
                (DepthwiseConv2D,),
                INT8,
                _depthwise,
                header="depthwise_even_s8",
                tuned=True,
                costs="depthwise",
            ),
        ),
    )
)
