"""float32 layers, four pixels by four channels at once: `mote_conv2d_blocks_f32.h`, `mote_pointwise_blocks_f32.h`,
`mote_depthwise_blocks_f32.h`."""

from __future__ import annotations

from mote.graph.tensor import Array
from mote.graph.types import Activation
from mote.kernels.contract import FLOAT32, Call, Entry, Kernel, Packed, Params, Price, Refusal, View, units_of
from mote.kernels.pack.layers import float_finish
from mote.kernels.pack.params import window_params
from mote.kernels.pack.weights.interleave4 import BLOCK, by_channels
from mote.kernels.portable.matrix.fully_connected import vectors
from mote.ops.matrix.fully_connected import FullyConnected
from mote.ops.windows.conv import Conv2D
from mote.ops.windows.depthwise import DepthwiseConv2D

FEW = Refusal("there are fewer than four output channels")


def _conv2d(view: View) -> Packed | Refusal:
    op, w = view.the(Conv2D), view.constant(1)
    if op.pointwise:
        return Refusal("pointwise_blocks_f32 is for windows of one pixel")
    if len(w) < BLOCK:
        return FEW
    params: Params = {
        **window_params(view),
        **float_finish(view, op.activation),
        "in_channels": w.shape[3],
        "out_channels": len(w),
        "weights": by_channels(w.reshape(len(w), -1)),
    }
    taps, tile = op.vertical.kernel, (1, BLOCK)
    return Packed(
        "conv2d_blocks_f32", params, Entry(Call.ROWS, row="conv2d_blocks_f32_row", taps=taps), price=Price(tile=tile)
    )


def _vectors(view: View, activation: Activation, w: Array) -> Params:
    """`mote_pointwise_blocks_f32_t`."""
    sizes: Params = {"depth": w.shape[1], "channels": len(w)}
    return sizes | float_finish(view, activation) | {"weights": by_channels(w)}


def _pointwise(view: View) -> Packed | Refusal:
    op, w = view.the(Conv2D), view.constant(1)
    if not op.pointwise:
        return Refusal("it is for windows of one pixel")
    if len(w) < BLOCK:
        return FEW
    params = _vectors(view, op.activation, w.reshape(len(w), -1))
    pixels = units_of(view.output.shape, len(w))
    return Packed("pointwise_blocks_f32", params, Entry(Call.FLAT, pixels), price=Price(tile=(1, BLOCK)))


def _fully_connected(view: View) -> Packed | Refusal:
    op, w = view.the(FullyConnected), view.constant(1)
    if len(w) < BLOCK:
        return FEW
    params = _vectors(view, op.activation, w)
    return Packed("pointwise_blocks_f32", params, Entry(Call.FLAT, vectors(view)), price=Price(tile=(1, BLOCK)))


def _depthwise(view: View) -> Packed | Refusal:
    op, w = view.the(DepthwiseConv2D), view.constant(1)[0]
    if op.multiplier != 1:
        return Refusal("inputs go into several output channels")
    if w.shape[2] < BLOCK:
        return FEW
    params: Params = {
        **window_params(view),
        **float_finish(view, op.activation),
        "channels": w.shape[2],
        "weights": by_channels(w.reshape(-1, w.shape[2]).T),
    }
    taps, tile = op.vertical.kernel, (1, BLOCK)
    return Packed(
        "depthwise_blocks_f32",
        params,
        Entry(Call.ROWS, row="depthwise_blocks_f32_row", taps=taps),
        price=Price(tile=tile),
    )


FPU = frozenset({"fpu"})
KERNELS = (
    Kernel("conv2d_blocks_f32", (Conv2D,), FLOAT32, _conv2d, isa=FPU),
    Kernel("pointwise_blocks_f32", (Conv2D,), FLOAT32, _pointwise, isa=FPU),
    Kernel("fully_connected_blocks_f32", (FullyConnected,), FLOAT32, _fully_connected, "pointwise_blocks_f32", FPU),
    Kernel("depthwise_blocks_f32", (DepthwiseConv2D,), FLOAT32, _depthwise, isa=FPU),
)
