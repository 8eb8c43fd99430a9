"""float32 layers in blocks of four pixels by four channels, with weights of float32 (`mote_conv2d_blocks_f32.h`,
`mote_pointwise_blocks_f32.h`, `mote_depthwise_blocks_f32.h`) or float16 (`mote_conv2d_blocks_halves.h` and so on)."""

from __future__ import annotations

from functools import partial

from mote.compiler.kernels.contract import FLOAT32, Call, Entry, Kernel, Packed, Params, Price, Refusal, View, units_of
from mote.compiler.kernels.pack.layers import float_finish
from mote.compiler.kernels.pack.params import window_params
from mote.compiler.kernels.pack.weights.halves import WIDER, are_halves, in_halves
from mote.compiler.kernels.pack.weights.interleave4 import BLOCK, by_channels
from mote.compiler.kernels.portable.matrix.fully_connected import vectors
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

FEW = Refusal("there are fewer than four output channels")
FLOATS, HALVES = "f32", "halves"
"""Suffixes of the kernels' names: weights stored as float32, or as float16."""
KINDS = (HALVES, FLOATS)


def _stored(view: View, w: Array, kind: str) -> Array | Refusal:
    """Weights [channels, products] in the layout and type in which they are stored in flash."""
    if len(w) < BLOCK:
        return FEW
    if kind == FLOATS:
        return by_channels(w)
    return in_halves(by_channels(w)) if are_halves(view) else WIDER


def _conv2d(view: View, kind: str) -> Packed | Refusal:
    op, w = view.the(Conv2D), view.constant(1)
    if op.pointwise:
        return Refusal("pointwise_blocks_f32 is for windows of one pixel")
    stored = _stored(view, w.reshape(len(w), -1), kind)
    if isinstance(stored, Refusal):
        return stored
    params: Params = {
        **window_params(view),
        **float_finish(view, op.activation),
        "in_channels": w.shape[3],
        "out_channels": len(w),
        "weights": stored,
    }
    return _by_rows(view, "conv2d", kind, params, op.vertical.kernel)


def _by_rows(view: View, name: str, kind: str, params: Params, taps: int) -> Packed:
    kernel, entry = f"{name}_blocks_{kind}", Entry(Call.ROWS, row=f"{name}_blocks_{kind}_row", taps=taps)
    return Packed(kernel, params, entry, price=Price(tile=(1, BLOCK)), beats=_beaten(view, name, kind))


def _beaten(view: View, name: str, kind: str) -> tuple[str, ...]:
    """Names of the kernels that this one is preferred to: float16 weights are preferred to equal float32 weights,
    unless speed alone counts."""
    return () if kind == FLOATS or view.fast else (f"{name}_blocks_f32",)


def _vectors(view: View, name: str, activation: Activation, w: Array, units: int, kind: str) -> Packed | Refusal:
    """A kernel with parameters `mote_pointwise_blocks_f32_t`, for 1x1 convolutions and fully connected layers."""
    stored = _stored(view, w, kind)
    if isinstance(stored, Refusal):
        return stored
    sizes: Params = {"depth": w.shape[1], "channels": len(w)}
    params = sizes | float_finish(view, activation) | {"weights": stored}
    beats = _beaten(view, name, kind)
    return Packed(
        f"pointwise_blocks_{kind}", params, Entry(Call.FLAT, units), price=Price(tile=(1, BLOCK)), beats=beats
    )


def _pointwise(view: View, kind: str) -> Packed | Refusal:
    op, w = view.the(Conv2D), view.constant(1)
    if not op.pointwise:
        return Refusal("it is for windows of one pixel")
    pixels = units_of(view.output.shape, len(w))
    return _vectors(view, "pointwise", op.activation, w.reshape(len(w), -1), pixels, kind)


def _fully_connected(view: View, kind: str) -> Packed | Refusal:
    op = view.the(FullyConnected)
    return _vectors(view, "fully_connected", op.activation, view.constant(1), vectors(view), kind)


def _depthwise(view: View, kind: str) -> Packed | Refusal:
    op, w = view.the(DepthwiseConv2D), view.constant(1)[0]
    if op.multiplier != 1:
        return Refusal("inputs go into several output channels")
    stored = _stored(view, w.reshape(-1, w.shape[2]).T, kind)
    if isinstance(stored, Refusal):
        return stored
    params: Params = {
        **window_params(view),
        **float_finish(view, op.activation),
        "channels": w.shape[2],
        "weights": stored,
    }
    return _by_rows(view, "depthwise", kind, params, op.vertical.kernel)


FPU = frozenset({"fpu"})
KERNELS = tuple(
    Kernel(f"{name}_blocks_{kind}", (op,), FLOAT32, partial(pack, kind=kind), f"{header}_blocks_{kind}", FPU)
    for kind in KINDS
    for name, op, pack, header in (
        ("conv2d", Conv2D, _conv2d, "conv2d"),
        ("pointwise", Conv2D, _pointwise, "pointwise"),
        ("fully_connected", FullyConnected, _fully_connected, "pointwise"),
        ("depthwise", DepthwiseConv2D, _depthwise, "depthwise"),
    )
)
