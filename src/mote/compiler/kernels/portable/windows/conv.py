"""int8 CONV_2D in portable C: `mote_conv2d_s8.h`, `mote_pointwise_s8.h`, and with running sums
`mote_conv2d_add_s8.h`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    Structs,
    View,
    units_of,
)
from mote.compiler.kernels.pack.learned_bias import learning
from mote.compiler.kernels.pack.params import (
    CHANNEL_WORDS,
    adds_rows,
    channel_structs,
    interleave,
    output_params,
    window_params,
)
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.ir.graph.numeric.fixedpoint import rescale, scale_even, wrap32
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.types import Rounding
from mote.ir.ops.common import bias_values, channel_scales, even_scales, learned
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D


def sums_of(view: View) -> Accumulators:
    """The layer's accumulators: their ranges for all possible inputs, and their requantization."""
    return view.once(_sums)


def _sums(view: View) -> Accumulators:
    op = view.op
    assert isinstance(op, Conv2D | GroupedConv2D)
    return op.sums(view.graph, view.graph.ranges[op.inputs[0]])


def patch_params(view: View) -> Params:
    """The fields of `mote_patch_t`, which gathers the inputs of a window (im2col)."""
    x = view.input
    return {**window_params(view), "in_channels": x.shape[3], "in_zero": x.zero_point}


def gemm_params(view: View) -> Params:
    """Parameters of the int8 matrix product (`mote_gemm_s8_t`), with the input's zero point folded into the bias."""
    op, w, y = view.the(Conv2D), view.constant(1), view.output
    matrix = w.reshape(w.shape[0], -1).astype(np.int64)
    bias = bias_values(op.tensor(view.graph, 2), w.shape[0]) - view.input.zero_point * matrix.sum(
        axis=1, dtype=np.int64
    )
    channels = _channels(view, bias)
    return {
        "depth": matrix.shape[1],
        "channels": w.shape[0],
        "pixel": y.shape[3],
        "output": output_params(op.activation, y, channels),
        "weights": interleave(matrix, 2),
        "channel": channels,
    }


def _channels(view: View, bias: NDArray[np.int64]) -> Structs:
    """`mote_channel_t` for each channel. A channel whose weights are all zero gets a small bias and a fixed scale with
    the same constant result, so that accumulators stay small."""
    w = view.op.input(view.graph, 1)
    of = view.input, w, view.output, w.shape[0]
    if view.the(Conv2D).rounding is Rounding.EVEN:
        mult, shift = sums_of(view).mult, sums_of(view).shift
        constant = np.clip(scale_even(bias, even_scales(*of)), -1024, 1023)
    else:
        mult, shift = channel_scales(*of)
        constant = np.clip(rescale(bias, mult, shift), -1024, 1023)
    used = view.constant(1).reshape(w.shape[0], -1).any(axis=1) | bool(learned(view.graph, view.op))
    return channel_structs(np.where(used, bias, 4 * constant), np.where(used, mult, 1 << 30), np.where(used, shift, -1))


def _pointwise(view: View) -> Packed | Refusal:
    if rounds_to_even(view):
        return TO_EVEN
    if not view.the(Conv2D).pointwise:
        return Refusal("it is for windows of one pixel")
    y = view.output.shape
    return Packed(
        "pointwise_s8",
        {"gemm": view.once(gemm_params)},
        Entry(Call.FLAT, units_of(y, y[3])),
        price=Price(tile=(1, 2)),
        biases=Biases("gemm.channel", CHANNEL_WORDS),
    )


def _conv2d(view: View) -> Packed | Refusal:
    op = view.the(Conv2D)
    if rounds_to_even(view):
        return TO_EVEN
    if op.pointwise:
        return Refusal("pointwise is for windows of one pixel")
    return Packed(
        "conv2d_s8",
        {"patch": patch_params(view), "gemm": view.once(gemm_params)},
        Entry(Call.ROWS, row="conv2d_s8_row", taps=op.vertical.kernel),
        Needs(scratch=2 * op.depth(view.graph)),
        Price(tile=(1, 2)),
        biases=Biases("gemm.channel", CHANNEL_WORDS),
    )


def _running_sums(view: View) -> Packed | Refusal:
    """Packs a convolution with running sums over input rows. If no column is padded, each window row is one long tap;
    otherwise each column is a tap with its own correction for the input's zero point."""
    if rounds_to_even(view):
        return TO_EVEN
    if not adds_rows(view):
        return Refusal("the output is not one row computed from several")
    op, x, w, y = view.the(Conv2D), view.input, view.constant(1), view.output
    h = op.horizontal
    inside = [r != OUTSIDE for r in op.reads(view.graph, 0, 0) or ()]
    whole = h.dilation == 1 and not h.before and not h.after
    taps = w.astype(np.int64).reshape(*w.shape[:2], 1 if whole else w.shape[2], -1)
    fold = -x.zero_point * taps[:, inside].sum(axis=(1, 3), dtype=np.int64)
    channels = _channels(view, bias_values(op.tensor(view.graph, 2), w.shape[0]) + (fold[:, 0] if whole else 0))
    cols = window_params(view)["cols"]
    assert isinstance(cols, dict)
    params: Params = {
        "cols": cols | {"taps": 1} if whole else cols,
        "in_channels": x.shape[3],
        "depth": taps.shape[3],
        "channels": w.shape[0],
        "output": output_params(op.activation, y, channels),
        "weights": np.concatenate([interleave(taps[:, k, t], 2) for k, t in np.ndindex(taps.shape[1:3])]),
        "channel": channels,
        "fold": 0 if whole or not fold.any() else np.ascontiguousarray(wrap32(fold.T), np.int32),
    }
    return Packed("conv2d_add_s8", params, Entry(Call.ADDS), Needs(sums=4 * y.size))


POINTWISE = learning(Kernel("pointwise", (Conv2D,), INT8, _pointwise, tuned=True, lanes=2))
CONV2D = learning(Kernel("conv2d", (Conv2D,), INT8, _conv2d, tuned=True, lanes=2))
KERNELS = (
    POINTWISE,
    CONV2D,
    Kernel("conv2d_add", (Conv2D,), INT8, _running_sums, call=Call.ADDS, tuned=True),
)
