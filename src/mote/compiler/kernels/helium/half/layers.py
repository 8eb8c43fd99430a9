"""CONV_2D and FULLY_CONNECTED in half precision (float16): `mote_layer_half.h`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Call, Entry, Kernel, Needs, Packed, Params, Price, Refusal, Signature, View
from mote.compiler.kernels.pack.params import pad_to, window_params
from mote.compiler.kernels.portable.matrix.fully_connected import vectors
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import float_range
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.matrix.half_precision import bias_of
from mote.ir.ops.windows.conv import Conv2D

FLOATS = frozenset({DType.FLOAT32})
HALF = Signature(FLOATS, FLOATS, frozenset({DType.FLOAT16}))
LANES = 8
WINDOWS = 4
"""Windows that are computed at once."""


def in_lanes(matrix: Array) -> NDArray[np.uint16]:
    """Pack a matrix [channels, n] as [blocks of eight channels][n][8], with a block's first four channels in the even
    lanes."""
    blocks = pad_to(matrix.astype(np.float16), 0, LANES).reshape(-1, 2, LANES // 2, matrix.shape[1])
    return np.ascontiguousarray(blocks.transpose(0, 3, 2, 1)).reshape(-1).view(np.uint16)


def _gemm(view: View, activation: Activation) -> Params:
    """Parameters `mote_half_gemm_t`."""
    weights = view.constant(1)
    matrix = weights.reshape(len(weights), -1)
    low, high = float_range(activation)
    return {
        "depth": matrix.shape[1],
        "channels": len(matrix),
        "low": low,
        "high": high,
        "weights": in_lanes(matrix),
        "bias": in_lanes(bias_of(view.graph, view.op, len(matrix))[:, None]),
    }


def _needs(depth: int) -> Needs:
    return Needs(scratch=2 * WINDOWS * (depth + depth % 2))


def _conv2d(view: View) -> Packed | Refusal:
    op = view.the(Conv2D)
    params: Params = {
        **window_params(view),
        "in_channels": view.input.shape[3],
        "gemm": _gemm(view, op.activation),
    }
    entry = Entry(Call.ROWS, row="conv2d_half_row", taps=op.vertical.kernel)
    return Packed("conv2d_half", params, entry, _needs(op.depth(view.graph)), Price(tile=(1, WINDOWS)))


def _fully_connected(view: View) -> Packed | Refusal:
    params: Params = {"gemm": _gemm(view, view.the(FullyConnected).activation)}
    depth = view.constant(1).shape[1]
    entry = Entry(Call.FLAT, vectors(view))
    return Packed("fully_connected_half", params, entry, _needs(depth), Price(tile=(1, WINDOWS)))


MVE = frozenset({"mve"})
KERNELS = (
    Kernel("conv2d_half", (Conv2D,), HALF, _conv2d, "layer_half", MVE, lanes=LANES),
    Kernel("fully_connected_half", (FullyConnected,), HALF, _fully_connected, "layer_half", MVE, lanes=LANES),
)
