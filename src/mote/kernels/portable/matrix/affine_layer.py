"""Layers with an affine requantization: `mote_affine.h` with `mote_layer_*.h`, macros over types."""

from __future__ import annotations

import numpy as np

from mote.graph.types import DType
from mote.kernels.contract import (
    Call,
    Entry,
    Instance,
    Kernel,
    Packed,
    Params,
    Signature,
    Structs,
    View,
    units_of,
)
from mote.kernels.pack.layers import CTYPE_SUFFIXES, CTYPES
from mote.kernels.pack.params import window_params
from mote.ops.matrix.affine_layer import AffineConv2D, AffineDepthwiseConv2D, AffineFullyConnected, AffineLayer

INTEGERS = frozenset({DType.INT8, DType.INT16})
TYPES = Signature(INTEGERS, INTEGERS, INTEGERS)
HEADERS = ("affine",)


def _finish(view: View) -> Params:
    """`mote_finish_affine_t`."""
    op = view.op
    assert isinstance(op, AffineLayer)
    mult, shift, add = op.scales(view.graph)
    rows = np.stack([op.bias(view.graph), mult, np.where(mult == 0, 1, 31 - shift), add], axis=1)
    low, high = op.limits
    return {"channel": Structs("mote_affine_t", rows), "origin": op.origin, "lo": low, "hi": high}


def _instance(view: View, macro: str, what: str, *more: str) -> Instance:
    given, weights, made = (
        CTYPES[t.name] for t in (view.input.dtype.numpy, view.constant(1).dtype, view.output.dtype.numpy)
    )
    name = f"affine_{what}_{'_'.join(CTYPE_SUFFIXES[t] for t in (given, weights, made))}"
    bits = 8 if made == "int8_t" else 16
    types = given, weights, "int32_t", "int32_t", made
    how = "mote_finish_affine_t", "MOTE_LAYER_ZERO", "MOTE_PLUS", "MOTE_START_AFFINE", f"MOTE_FINISH_AFFINE{bits}"
    return Instance(macro, (name, *types, *how, *more))


def _conv2d(view: View) -> Packed:
    op, weights, channels = view.the(AffineConv2D), view.constant(1), view.input.shape[3]
    depth = weights.shape[3]
    groups = channels // depth
    params: Params = {
        **window_params(view),
        "in_channels": channels,
        "groups": groups,
        "depth": depth,
        "outputs": weights.shape[0] // groups,
        "in_zero": view.input.zero_point,
        "weights": weights,
        "finish": _finish(view),
    }
    instance = _instance(view, "MOTE_LAYER_CONV2D", "conv2d", "MOTE_DOTS")
    name = str(instance.arguments[0])
    return Packed(
        name,
        params,
        Entry(Call.ROWS, row=f"{name}_row", taps=op.vertical.kernel),
        instances=(instance,),
        headers=HEADERS,
    )


def _depthwise(view: View) -> Packed:
    op = view.the(AffineDepthwiseConv2D)
    params: Params = {
        **window_params(view),
        "in_channels": view.input.shape[3],
        "channels": view.output.shape[3],
        "multiplier": op.multiplier,
        "in_zero": view.input.zero_point,
        "weights": np.ascontiguousarray(view.constant(1)[0]),
        "finish": _finish(view),
    }
    instance = _instance(view, "MOTE_LAYER_DEPTHWISE", "depthwise")
    name = str(instance.arguments[0])
    return Packed(
        name,
        params,
        Entry(Call.ROWS, row=f"{name}_row", taps=op.vertical.kernel),
        instances=(instance,),
        headers=HEADERS,
    )


def _fully_connected(view: View) -> Packed:
    weights = view.constant(1)
    channels, depth = weights.shape
    params: Params = {
        "depth": depth,
        "channels": channels,
        "in_zero": view.input.zero_point,
        "weights": weights,
        "finish": _finish(view),
    }
    instance = _instance(view, "MOTE_LAYER_FULLY_CONNECTED", "fully_connected", "MOTE_DOTS")
    vectors = units_of(view.input.shape, depth)
    return Packed(str(instance.arguments[0]), params, Entry(Call.FLAT, vectors), instances=(instance,), headers=HEADERS)


KERNELS = (
    Kernel("conv2d_affine", (AffineConv2D,), TYPES, _conv2d, header="layer_conv2d", costs="conv2d_s16"),
    Kernel(
        "depthwise_affine",
        (AffineDepthwiseConv2D,),
        TYPES,
        _depthwise,
        header="layer_depthwise",
        costs="depthwise_s16",
    ),
    Kernel(
        "fully_connected_affine",
        (AffineFullyConnected,),
        TYPES,
        _fully_connected,
        header="layer_fully_connected",
        costs="conv2d_s16",
    ),
)
