"""Layers with 9-bit weights, which uint8 models have after subtracting the zero point: `mote_offset_s8.h`,
`mote_fully_connected_offset_s8.h`, `mote_depthwise_offset_s8.h`. Weights are stored as bytes with a common offset."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import (
    Call,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    Signature,
    View,
    units_of,
)
from mote.compiler.kernels.pack.params import interleave
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.compiler.kernels.portable.matrix import fully_connected
from mote.compiler.kernels.portable.windows import conv, depthwise
from mote.ir.graph.types import DType
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

WIDE = Signature(frozenset({DType.INT8}), frozenset({DType.INT8}), frozenset({DType.INT16}))


def _offset(view: View) -> int:
    """The offset to subtract from the weights so that they fit int8."""
    w = view.constant(1)
    return (int(w.min()) + int(w.max()) + 1) // 2


def _bytes(view: View) -> NDArray[np.int8]:
    """The weights minus the offset, as int8."""
    return (view.constant(1) - np.int16(_offset(view))).astype(np.int8)


def _gemm(view: View) -> Params:
    """Parameters of the matrix product with 9-bit weights (`mote_offset_t`), with the input's zero point folded into
    the bias."""
    matrix = _bytes(view).reshape(view.constant(1).shape[0], -1)
    return {"gemm": conv.gemm_params(view) | {"weights": interleave(matrix, 2)}, "offset": _offset(view)}


def _pointwise(view: View) -> Packed | Refusal:
    if rounds_to_even(view):
        return TO_EVEN
    if not view.the(Conv2D).pointwise:
        return Refusal("it is for windows of one pixel")
    y = view.output.shape
    return Packed(
        "pointwise_offset_s8", {"layer": _gemm(view)}, Entry(Call.FLAT, units_of(y, y[3])), price=Price(tile=(1, 2))
    )


def _conv2d(view: View) -> Packed | Refusal:
    op = view.the(Conv2D)
    if rounds_to_even(view):
        return TO_EVEN
    if op.pointwise:
        return Refusal("pointwise_offset is for windows of one pixel")
    return Packed(
        "conv2d_offset_s8",
        {"patch": conv.patch_params(view), "layer": _gemm(view)},
        Entry(Call.ROWS, row="conv2d_offset_s8_row", taps=op.vertical.kernel),
        Needs(scratch=2 * op.depth(view.graph)),
        Price(tile=(1, 2)),
    )


def _fully_connected(view: View) -> Packed | Refusal:
    layer = fully_connected.plain_params(view, _bytes(view))
    if isinstance(layer, Refusal):
        return layer
    params: Params = {"layer": layer, "offset": _offset(view)}
    return Packed("fully_connected_offset_s8", params, Entry(Call.FLAT, fully_connected.vectors(view)))


def _fully_connected_steps(view: View) -> Packed | Refusal:
    layer = fully_connected.steps_params(view, _bytes(view))
    if isinstance(layer, Refusal):
        return layer
    params: Params = {"layer": layer, "offset": _offset(view)}
    return Packed("fully_connected_offset_steps_s8", params, Entry(Call.FLAT, fully_connected.vectors(view)))


def _depthwise(view: View) -> Packed | Refusal:
    if rounds_to_even(view):
        return TO_EVEN
    weights = depthwise.by_four(_bytes(view)[0])
    params: Params = {"layer": depthwise.layer_params(view) | {"weights": weights}, "offset": _offset(view)}
    taps = view.the(DepthwiseConv2D).vertical.kernel
    return Packed("depthwise_offset_s8", params, Entry(Call.ROWS, row="depthwise_offset_s8_row", taps=taps))


KERNELS = (
    Kernel("pointwise_offset", (Conv2D,), WIDE, _pointwise, header="offset_s8", tuned=True, lanes=2, costs="pointwise"),
    Kernel("conv2d_offset", (Conv2D,), WIDE, _conv2d, header="offset_s8", tuned=True, lanes=2, costs="conv2d"),
    Kernel(
        "fully_connected_offset",
        (FullyConnected,),
        WIDE,
        _fully_connected,
        header="fully_connected_offset_s8",
        tuned=True,
        costs="fully_connected",
    ),
    Kernel(
        "fully_connected_offset_steps",
        (FullyConnected,),
        WIDE,
        _fully_connected_steps,
        header="fully_connected_offset_s8",
        costs="fully_connected",
    ),
    Kernel(
        "depthwise_offset",
        (DepthwiseConv2D,),
        WIDE,
        _depthwise,
        header="depthwise_offset_s8",
        tuned=True,
        costs="depthwise",
    ),
)
