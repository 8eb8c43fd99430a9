"""Convolutions and fully connected layers with SIMD instructions of the host: `mote_gemm_vectors_s8.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import (
    INT8,
    Call,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    Refusal,
    Structs,
    View,
    units_of,
)
from mote.compiler.kernels.pack.params import output_params, pad_to, window_params
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.compiler.kernels.portable.matrix import fully_connected
from mote.compiler.kernels.portable.windows import conv
from mote.compiler.kernels.vectors.common import BLOCK, FOUR, LARGE, VECTORS, blocks, shifts_right
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, Rounding
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D

GROUP = 64
"""Pixels of a 1x1 convolution whose inputs are widened at once."""
WIDE = 2
"""Bytes of an input when it is multiplied, at most."""
SPARE = FOUR - 1
"""Inputs past the last run that are read and multiplied by zeros."""


def interleaved(weights: Array) -> Array:
    """Pack weights [channels, runs of contiguous inputs, inputs] as [blocks of 16 channels][runs][fours of inputs][16
    channels][4]."""
    padded = pad_to(pad_to(weights, 0, BLOCK), 2, FOUR)
    count, runs, inputs = padded.shape
    each = padded.reshape(count // BLOCK, BLOCK, runs, inputs // FOUR, FOUR)
    return np.ascontiguousarray(each.transpose(0, 2, 3, 1, 4)).astype(np.int8).reshape(-1)


def _gemm(view: View, weights: Array, channels: Structs, activation: Activation, once: bool) -> Params | Refusal:
    """Parameters `mote_gemm_vectors_t`."""
    if not shifts_right(channels, 1 if once else 0):
        return LARGE
    return {
        "channels": len(weights),
        "fours": -(-weights.shape[2] // FOUR),
        "once": int(once),
        "output": output_params(activation, view.output),
        "weights": interleaved(weights),
        "block": blocks(channels),
    }


def _vectors(gemm: Params | Refusal, depth: int, vectors: int) -> Packed | Refusal:
    if isinstance(gemm, Refusal):
        return gemm
    group = min(GROUP, vectors)
    return Packed(
        "pointwise_vectors_s8",
        {"depth": depth, "group": group, "gemm": gemm},
        Entry(Call.FLAT, vectors),
        Needs(scratch=WIDE * (group * depth + SPARE)),
    )


def _pointwise(view: View) -> Packed | Refusal:
    op = view.the(Conv2D)
    if rounds_to_even(view):
        return TO_EVEN
    if not op.pointwise:
        return Refusal("it is for windows of one pixel")
    w, y = view.constant(1), view.output.shape
    gemm = _gemm(view, w.reshape(len(w), 1, -1), _channels(view), op.activation, once=False)
    return _vectors(gemm, w.shape[3], units_of(y, y[3]))


def _channels(view: View) -> Structs:
    channels = view.once(conv.gemm_params)["channel"]
    assert isinstance(channels, Structs)
    return channels


def _conv2d(view: View) -> Packed | Refusal:
    op, x, y, w = view.the(Conv2D), view.input, view.output.shape, view.constant(1)
    if rounds_to_even(view):
        return TO_EVEN
    if op.pointwise:
        return Refusal("pointwise_vectors is for windows of one pixel")
    h, taps = op.horizontal, op.vertical.kernel
    runs = taps if h.dilation == 1 else taps * h.kernel
    gemm = _gemm(view, w.reshape(len(w), runs, -1), _channels(view), op.activation, once=False)
    if isinstance(gemm, Refusal):
        return gemm
    width = ((y[2] - 1) * h.stride + h.extent) * x.shape[3]
    params: Params = {
        **window_params(view),
        "in_channels": x.shape[3],
        "in_zero": x.zero_point,
        "width": width,
        "gemm": gemm,
    }
    return Packed(
        "conv2d_vectors_s8",
        params,
        Entry(Call.ROWS, row="conv2d_vectors_s8_row", taps=taps),
        Needs(scratch=WIDE * taps * (width + SPARE)),
    )


def _fully_connected(view: View) -> Packed | Refusal:
    op, w = view.the(FullyConnected), view.constant(1)
    if not view.once(fully_connected.sums_of).exact.all():
        return fully_connected.FINE
    channels = view.once(fully_connected.channels_of)
    once = op.rounding is not Rounding.TWICE
    gemm = _gemm(view, w.reshape(len(w), 1, -1), channels, op.activation, once)
    return _vectors(gemm, w.shape[1], fully_connected.vectors(view))


HEADER = "gemm_vectors_s8"
KERNELS = (
    Kernel("pointwise_vectors", (Conv2D,), INT8, _pointwise, HEADER, VECTORS, lanes=BLOCK),
    Kernel("conv2d_vectors", (Conv2D,), INT8, _conv2d, HEADER, VECTORS, lanes=BLOCK),
    Kernel("fully_connected_vectors", (FullyConnected,), INT8, _fully_connected, HEADER, VECTORS, lanes=BLOCK),
)
