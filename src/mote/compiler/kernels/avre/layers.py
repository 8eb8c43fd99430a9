"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED with AVR's 8x8-bit products, and element-wise functions by lookup
tables in flash."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.avre.constants import channels
from mote.compiler.kernels.contract import INT8, Call, Entry, Kernel, Needs, Packed, Params, Refusal, View, units_of
from mote.compiler.kernels.pack.params import pad_to, window_params
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.compiler.kernels.portable.elementwise.unary import BYTES
from mote.compiler.kernels.portable.matrix.fully_connected import starts, sums_of, vectors
from mote.compiler.kernels.portable.windows import conv
from mote.compiler.kernels.portable.windows.depthwise import by_four
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.types import Activation
from mote.ir.ops.common import bias_values, int8_range
from mote.ir.ops.elementwise.activations import Unary
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

AVRE = frozenset({"avre"})
OFFSET = 128
"""Offset of inputs and weights, which are read as unsigned bytes."""
PART = 256
"""Most products that are accumulated in a 24-bit sum."""
MOST = 32767
"""Most elements of a tensor: sizes and indices have 16 bits."""
LARGE = Refusal("it is for tensors of at most 32,767 elements")


def _is_large(view: View) -> bool:
    return max(view.input.size, view.output.size, view.constant(1).size) > MOST


def _gemm(
    view: View, matrix: NDArray[np.int8], bias: Ints, sums: Accumulators, activation: Activation
) -> Params | Refusal:
    """Parameters `mote_gemm_avr_s8_t` for weights [channels, depth]. The kernel's sums lack the terms that do not
    depend on the inputs (bias, and weights times the zero point), which are part of the requantization constants."""
    count, depth = matrix.shape
    lo, hi = int8_range(activation, view.output)
    constants = channels(sums, bias - (view.input.zero_point + OFFSET) * matrix.sum(axis=1, dtype=np.int64), (lo, hi))
    if isinstance(constants, Refusal):
        return constants
    blocks = pad_to(matrix, 0, 4).reshape(-1, 4, depth).transpose(0, 2, 1)
    return {
        "depth": depth,
        "channels": count,
        "lo": lo,
        "hi": hi,
        "weights": (blocks.astype(np.int16) + OFFSET).astype(np.uint8).reshape(-1),
        "channel": constants,
    }


def _conv_gemm(view: View) -> Params | Refusal:
    op, w = view.the(Conv2D), view.constant(1)
    bias = bias_values(op.tensor(view.graph, 2), w.shape[0])
    return _gemm(view, w.reshape(w.shape[0], -1), bias, conv.sums_of(view), op.activation)


def _pointwise(view: View) -> Packed | Refusal:
    if rounds_to_even(view):
        return TO_EVEN
    if not view.the(Conv2D).pointwise:
        return Refusal("it is for windows of one pixel")
    if _is_large(view):
        return LARGE
    gemm = view.once(_conv_gemm)
    y = view.output.shape
    return gemm if isinstance(gemm, Refusal) else _vectors(gemm, units_of(y, y[3]), "pointwise")


def _vectors(gemm: Params, count: int, *beats: str) -> Packed:
    return Packed("vectors_avr_s8", {"gemm": gemm}, Entry(Call.FLAT, count), beats=beats)


def _conv2d(view: View) -> Packed | Refusal:
    op, x = view.the(Conv2D), view.input
    if rounds_to_even(view):
        return TO_EVEN
    if op.pointwise:
        return Refusal("pointwise_avr is for windows of one pixel")
    if _is_large(view):
        return LARGE
    gemm = view.once(_conv_gemm)
    if isinstance(gemm, Refusal):
        return gemm
    patch: Params = {**window_params(view), "in_channels": x.shape[3], "in_zero": x.zero_point}
    return Packed(
        "conv2d_avr_s8",
        {"patch": patch, "gemm": gemm},
        Entry(Call.ROWS, row="conv2d_avr_s8_row", taps=op.vertical.kernel),
        Needs(scratch=op.depth(view.graph)),
        beats=("conv2d",),
    )


def _fully_connected(view: View) -> Packed | Refusal:
    op, sums = view.the(FullyConnected), view.once(sums_of)
    if sums.even:
        return TO_EVEN
    if _is_large(view):
        return LARGE
    bias = view.once(starts) + view.input.zero_point * view.constant(1).astype(np.int64).sum(axis=1)
    gemm = _gemm(view, view.constant(1), bias, sums, op.activation)
    return gemm if isinstance(gemm, Refusal) else _vectors(gemm, vectors(view), "fully_connected")


def _depthwise(view: View) -> Packed | Refusal:
    op, x, y = view.the(DepthwiseConv2D), view.input, view.output
    if rounds_to_even(view):
        return TO_EVEN
    if op.multiplier != 1 or y.shape[3] % 4:
        return Refusal("it is for a multiple of four channels, one for each of the input")
    if _is_large(view):
        return LARGE
    padded = any(axis.before or axis.after for axis in (op.vertical, op.horizontal))
    if padded and x.zero_point != -OFFSET:
        return Refusal("padding is not the least value of the input")
    weights = view.constant(1)[0]
    if weights.shape[0] * weights.shape[1] > PART:
        return Refusal("it is for windows of at most 256 pixels")
    lo, hi = int8_range(op.activation, y)
    bias = bias_values(op.tensor(view.graph, 2), y.shape[3])
    fold = (x.zero_point + OFFSET) * weights.astype(np.int64).sum(axis=(0, 1))
    constants = channels(op.sums(view.graph, view.graph.ranges[op.inputs[0]]), bias - fold, (lo, hi))
    if isinstance(constants, Refusal):
        return constants
    params: Params = {
        **window_params(view),
        "channels": y.shape[3],
        "lo": lo,
        "hi": hi,
        "weights": by_four(weights),
        "channel": constants,
    }
    entry = Entry(Call.ROWS, row="depthwise_avr_s8_row", taps=op.vertical.kernel)
    return Packed("depthwise_avr_s8", params, entry, beats=("depthwise",))


def _lut(view: View) -> Packed | Refusal:
    if view.input.size > MOST:
        return LARGE
    entry = Entry(Call.FLAT, view.output.size)
    table = view.the(Unary).table(view.graph)
    return Packed("lut_avr_s8", {"table": table}, entry, Needs(in_place=(0,)), beats=("lut",))


KERNELS = (
    Kernel("pointwise_avr", (Conv2D,), INT8, _pointwise, header="vectors_avr_s8", isa=AVRE, lanes=4),
    Kernel(
        "fully_connected_avr",
        (FullyConnected,),
        INT8,
        _fully_connected,
        header="vectors_avr_s8",
        isa=AVRE,
        lanes=4,
    ),
    Kernel("conv2d_avr", (Conv2D,), INT8, _conv2d, isa=AVRE, lanes=4),
    Kernel("depthwise_avr", (DepthwiseConv2D,), INT8, _depthwise, isa=AVRE),
    Kernel("lut_avr", (Unary,), BYTES, _lut, isa=AVRE),
)
