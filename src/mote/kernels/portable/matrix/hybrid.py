"""float32 layers with int8 weights, which stay a byte each in flash: `mote_conv2d_hybrid.h`,
`mote_depthwise_hybrid.h`, `mote_fully_connected_hybrid.h`, `mote_svdf_hybrid.h`, `mote_lstm_hybrid.h`."""

from __future__ import annotations

import numpy as np

from mote.graph.types import DType
from mote.kernels.contract import Call, Entry, Kernel, Needs, Packed, Params, Signature, View
from mote.kernels.pack.lstm import OPERANDS, lstm_cells, lstm_sizes
from mote.kernels.pack.params import window_params
from mote.kernels.pack.svdf import svdf_sizes
from mote.kernels.portable.matrix.fully_connected import vectors
from mote.ops.common import FLOAT_MAX, float_bias, float_range, real_constant
from mote.ops.matrix.fully_connected import FullyConnected
from mote.ops.recurrent.lstm import Lstm
from mote.ops.recurrent.lstm_operands import NAMES, PEEPHOLES, PROJECTION, PROJECTION_BIAS
from mote.ops.recurrent.svdf import BIAS, STATE, Svdf
from mote.ops.windows.conv import Conv2D
from mote.ops.windows.depthwise import DepthwiseConv2D

HYBRID = Signature(frozenset({DType.FLOAT32}), frozenset({DType.FLOAT32}), frozenset({DType.INT8}))


def _layer(view: View, op: Conv2D | DepthwiseConv2D | FullyConnected) -> Params:
    """What the structs of layers with weights share."""
    low, high = float_range(op.activation)
    quant = op.input(view.graph, 1).quant
    assert quant is not None
    return {
        "low": low,
        "high": high,
        "weights": view.constant(1),
        "scale": quant.scale,
        "step": int(quant.per_channel),
        "bias": float_bias(op.tensor(view.graph, 2), view.output.shape[-1]),
    }


def _conv2d(view: View) -> Packed:
    op = view.the(Conv2D)
    sizes: Params = {"in_channels": view.input.shape[3], "out_channels": view.output.shape[3]}
    params = {**window_params(view), **sizes, **_layer(view, op)}
    return Packed("conv2d_hybrid", params, Entry(Call.ROWS, row="conv2d_hybrid_row", taps=op.vertical.kernel))


def _depthwise(view: View) -> Packed:
    op = view.the(DepthwiseConv2D)
    sizes: Params = {"in_channels": view.input.shape[3], "channels": view.output.shape[3], "multiplier": op.multiplier}
    params = {**window_params(view), **sizes, **_layer(view, op)}
    return Packed("depthwise_hybrid", params, Entry(Call.ROWS, row="depthwise_hybrid_row", taps=op.vertical.kernel))


def _fully_connected(view: View) -> Packed:
    channels, depth = view.constant(1).shape
    params: Params = {"depth": depth, "channels": channels, **_layer(view, view.the(FullyConnected))}
    return Packed("fully_connected_hybrid", params, Entry(Call.FLAT, vectors(view)))


def _svdf(view: View) -> Packed:
    op, weights = view.the(Svdf), view.constant(1)
    low, high = float_range(op.activation)
    params: Params = {
        **svdf_sizes(view),
        "inputs": weights.shape[1],
        "low": low,
        "high": high,
        "weights": weights,
        "bias": float_bias(op.tensor(view.graph, BIAS), view.output.shape[1]),
        "scale": op.input(view.graph, 1).scale,
        "time_scale": op.input(view.graph, 2).scale,
    }
    return Packed("svdf_hybrid", params, Entry(operands=(0, STATE)))


def _lstm(view: View) -> Packed:
    op = view.the(Lstm)
    params: Params = {
        **lstm_sizes(view),
        "inputs": view.input.shape[-1],
        "cell_clip": op.cell_clip or FLOAT_MAX,
        "projection_clip": op.projection_clip or FLOAT_MAX,
        "gate": {NAMES[n]: _gate(view, n) for n in op.gates},
    }
    if op.tensor(view.graph, PROJECTION) is not None:
        bias = float_bias(op.tensor(view.graph, PROJECTION_BIAS), view.output.shape[-1])
        params |= {"projection": _matrix(view, PROJECTION), "projection_bias": bias}
    return Packed("lstm_hybrid", params, Entry(operands=OPERANDS), Needs(scratch=16 * lstm_cells(view)))


def _gate(view: View, n: int) -> Params:
    """The weights that a gate has, of all that it could have; those of single cells are few, and float32."""
    found: Params = {"input": _matrix(view, 1 + n), "recurrent": _matrix(view, 5 + n), "bias": view.constant(12 + n)}
    for name, position in (("peephole", PEEPHOLES.get(n)), ("norm", 20 + n)):
        t = None if position is None else view.op.tensor(view.graph, position)
        if t is not None and t.data is not None:
            found[name] = real_constant(t, t.data).astype(np.float32)
    return found


def _matrix(view: View, position: int) -> Params:
    """`mote_lstm_matrix_hybrid_t`."""
    return {"weights": view.constant(position), "scale": view.op.input(view.graph, position).scale}


KERNELS = (
    Kernel("conv2d_hybrid", (Conv2D,), HYBRID, _conv2d, costs="conv2d_f32"),
    Kernel("depthwise_hybrid", (DepthwiseConv2D,), HYBRID, _depthwise, costs="depthwise_f32"),
    Kernel("fully_connected_hybrid", (FullyConnected,), HYBRID, _fully_connected, costs="fully_connected_f32"),
    Kernel("svdf_hybrid", (Svdf,), HYBRID, _svdf, costs="fully_connected_f32"),
    Kernel("lstm_hybrid", (Lstm,), HYBRID, _lstm, costs="fully_connected_f32"),
)
