"""float32 layers, four pixels by four channels at once: `mote_conv2d_blocks_f32.h`, `mote_pointwise_blocks_f32.h`,
`mote_depthwise_blocks_f32.h`."""

from __future__ import annotations

from mote.kernels.contract import FLOAT32, Call, Entry, Kernel, Packed, Price, Refusal, View, units_of
from mote.kernels.pack.weights.interleave4 import BLOCK, by_channels
from mote.kernels.portable.matrix.fully_connected import real_params as vector_params
from mote.kernels.portable.matrix.fully_connected import vectors
from mote.kernels.portable.windows.conv import real_params as conv_params
from mote.kernels.portable.windows.depthwise import real_params as depthwise_params
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
    params = conv_params(view) | {"weights": by_channels(w.reshape(len(w), -1))}
    taps, tile = op.vertical.kernel, (1, BLOCK)
    return Packed(
        "conv2d_blocks_f32", params, Entry(Call.ROWS, row="conv2d_blocks_f32_row", taps=taps), price=Price(tile=tile)
    )


def _pointwise(view: View) -> Packed | Refusal:
    op, w = view.the(Conv2D), view.constant(1)
    if not op.pointwise:
        return Refusal("it is for windows of one pixel")
    if len(w) < BLOCK:
        return FEW
    known = conv_params(view)
    params = {
        "depth": w.shape[3],
        "channels": len(w),
        **{name: known[name] for name in ("low", "high", "bias")},
        "weights": by_channels(w.reshape(len(w), -1)),
    }
    pixels = units_of(view.output.shape, len(w))
    return Packed("pointwise_blocks_f32", params, Entry(Call.FLAT, pixels), price=Price(tile=(1, BLOCK)))


def _fully_connected(view: View) -> Packed | Refusal:
    w = view.constant(1)
    if len(w) < BLOCK:
        return FEW
    params = vector_params(view) | {"weights": by_channels(w)}
    return Packed("pointwise_blocks_f32", params, Entry(Call.FLAT, vectors(view)), price=Price(tile=(1, BLOCK)))


def _depthwise(view: View) -> Packed | Refusal:
    op, w = view.the(DepthwiseConv2D), view.constant(1)[0]
    if op.multiplier != 1:
        return Refusal("inputs go into several output channels")
    if w.shape[2] < BLOCK:
        return FEW
    known = depthwise_params(view)
    names = ("rows", "cols", "channels", "low", "high", "bias")
    params = {name: known[name] for name in names} | {"weights": by_channels(w.reshape(-1, w.shape[2]).T)}
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
