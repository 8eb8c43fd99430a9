"""Convolutions and fully connected layers sixteen channels at a time: packed weights and constants of
`mote_gemm16_s8.h` and `mote_depthwise16_s8.h`."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import (
    INT8,
    Call,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    View,
    aligned,
    units_of,
)
from mote.compiler.kernels.pack.params import window_params
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.compiler.kernels.portable.matrix.fully_connected import FINE, vectors
from mote.compiler.kernels.portable.matrix.fully_connected import starts as fully_connected_starts
from mote.compiler.kernels.portable.matrix.fully_connected import sums_of as fully_connected_sums
from mote.compiler.kernels.portable.windows.conv import patch_params
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.graph.types import Activation, Rounding
from mote.ir.ops.common import bias_values, channel_scales, int8_range
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

ZVE32X = frozenset({"zve32x"})
LANES = 16
MOST_SHIFT = 31
SHIFTED = Refusal("a channel's sums are scaled up, or by less than 2^-31")
POINTER = 8
"""Bytes of a pointer, at most (64-bit hosts)."""


def stream(weights: Ints) -> NDArray[np.int8]:
    """Pack weights [inputs, channels] in blocks of sixteen channels, each as [inputs][channels of the block]."""
    ends = range(LANES, weights.shape[1], LANES)
    return np.concatenate([part.reshape(-1) for part in np.split(weights, ends, axis=1)]).astype(np.int8)


def output_of(
    view: View, activation: Activation, bias: Ints, mult: Ints, right: Ints, *, once: bool = False
) -> Params | Refusal:
    """Parameters `mote_rvv_output_t`: requantization constants in blocks of channels, with right shifts of at least one
    bit. With a multiplier of zero, any shift gives zero."""
    right = np.where(mult == 0, 1, right)
    if right.min() < 1 or right.max() > MOST_SHIFT:
        return SHIFTED
    lo, hi = int8_range(activation, view.output)
    rows = np.stack([wrap32(bias), mult, right])
    channel = np.concatenate([part.reshape(-1) for part in np.split(rows, range(LANES, len(bias), LANES), axis=1)])
    return {
        "round_once": int(once),
        "zero": view.output.zero_point,
        "lo": lo,
        "hi": hi,
        "channel": channel.astype(np.int32),
    }


def gemm_of(view: View) -> Params | Refusal:
    """Parameters `mote_gemm16_t` of a convolution; the input's zero point is folded into the biases."""
    op, w, x = view.the(Conv2D), view.constant(1), view.input
    matrix: Ints = w.reshape(w.shape[0], -1).astype(np.int64)
    bias = bias_values(op.tensor(view.graph, 2), len(matrix)) - x.zero_point * matrix.sum(axis=1, dtype=np.int64)
    mult, shift = channel_scales(x, op.input(view.graph, 1), view.output, len(matrix))
    output = output_of(view, op.activation, bias, mult, -shift)
    return output if isinstance(output, Refusal) else _gemm(matrix, view.output.shape[3], output)


def _gemm(matrix: Ints, pixel: int, output: Params) -> Params:
    channels, depth = matrix.shape
    return {"depth": depth, "channels": channels, "pixel": pixel, "output": output, "weights": stream(matrix.T)}


def _conv(view: View, *, pointwise: bool) -> Packed | Refusal:
    op, y = view.the(Conv2D), view.output.shape
    if rounds_to_even(view):
        return TO_EVEN
    if op.pointwise != pointwise:
        return Refusal("it is for windows of one pixel" if pointwise else "pointwise16 is for windows of one pixel")
    gemm = view.once(gemm_of)
    if isinstance(gemm, Refusal):
        return gemm
    price, line = Price(tile=(1, 4)), op.horizontal.kernel * view.input.shape[3]
    if pointwise:
        return Packed("pointwise16_s8", {"gemm": gemm}, Entry(Call.FLAT, units_of(y, y[3])), price=price)
    return Packed(
        "conv16_s8",
        {"patch": patch_params(view), "gemm": gemm},
        Entry(Call.ROWS, row="conv16_s8_row", taps=op.vertical.kernel),
        Needs(scratch=aligned(4 * (POINTER * op.vertical.kernel + op.depth(view.graph)) + line)),
        price,
    )


def _fully_connected(view: View) -> Packed | Refusal:
    op, sums = view.the(FullyConnected), view.once(fully_connected_sums)
    once = op.rounding is not Rounding.TWICE
    if sums.even:
        return TO_EVEN
    if not sums.exact.all():
        return FINE
    right = -sums.shift - 1 if once else -sums.shift
    output = output_of(view, op.activation, view.once(fully_connected_starts), sums.mult, right, once=once)
    if isinstance(output, Refusal):
        return output
    matrix: Ints = view.constant(1).astype(np.int64)
    params: Params = {"gemm": _gemm(matrix, len(matrix), output)}
    return Packed("fully_connected16_s8", params, Entry(Call.FLAT, vectors(view)), price=Price(tile=(1, 4)))


def _depthwise(view: View) -> Packed | Refusal:
    op, x, y = view.the(DepthwiseConv2D), view.input, view.output
    if rounds_to_even(view):
        return TO_EVEN
    if op.multiplier != 1:
        return Refusal("a channel has several outputs")
    taps: Ints = view.constant(1)[0].reshape(-1, y.shape[3]).astype(np.int64)
    bias = bias_values(op.tensor(view.graph, 2), y.shape[3]) - x.zero_point * taps.sum(axis=0, dtype=np.int64)
    mult, shift = channel_scales(x, op.input(view.graph, 1), y, y.shape[3])
    output = output_of(view, op.activation, bias, mult, -shift)
    if isinstance(output, Refusal):
        return output
    params: Params = {
        **window_params(view),
        "channels": y.shape[3],
        "in_zero": x.zero_point,
        "output": output,
        "weights": stream(taps),
    }
    return Packed(
        "depthwise16_s8",
        params,
        Entry(Call.ROWS, row="depthwise16_s8_row", taps=op.vertical.kernel),
        Needs(scratch=aligned(4 * POINTER * len(taps) + y.shape[3])),
        Price(tile=(1, 4), whole_windows=True),
    )


_GEMM = partial(Kernel, types=INT8, header="gemm16_s8", isa=ZVE32X, lanes=LANES)
KERNELS = (
    _GEMM("pointwise16", (Conv2D,), pack=partial(_conv, pointwise=True)),
    _GEMM("conv16", (Conv2D,), pack=partial(_conv, pointwise=False)),
    _GEMM("fully_connected16", (FullyConnected,), pack=_fully_connected),
    Kernel("depthwise16", (DepthwiseConv2D,), INT8, _depthwise, isa=ZVE32X, lanes=LANES),
)
