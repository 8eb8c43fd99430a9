"""CONV_3D and CONV_3D_TRANSPOSE: `mote_conv3d_f32.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import FLOAT32, Call, Entry, Kernel, Packed, Params, View
from mote.compiler.kernels.pack.layers import float_finish
from mote.compiler.kernels.pack.params import rows_params, span_params
from mote.ir.ops.common import float_bias, float_range
from mote.ir.ops.windows.conv3d import Conv3D, Conv3DTranspose, Volume


def _spans(view: View) -> dict[str, Params]:
    """`mote_span_t` for each axis: depth, height, width."""
    sizes = zip(
        ("deep", "high", "wide"), view.the(Volume).axes, view.input.shape[1:], view.output.shape[1:], strict=False
    )
    return {name: span_params(axis, x, y) for name, axis, x, y in sizes}


def _conv3d(view: View) -> Packed:
    op, w, x, y = view.the(Conv3D), view.constant(1), view.input.shape, view.output.shape
    spans = _spans(view)
    plane: Params = {
        "rows": rows_params(op.vertical, x, y) | {"taps": op.taps},
        "cols": spans["wide"],
        "in_channels": x[4],
        "groups": 1,
        "depth": x[4],
        "outputs": y[4],
        "in_zero": 0,
        "weights": np.ascontiguousarray(np.moveaxis(w, 4, 0)),
        "finish": float_finish(view, op.activation),
    }
    params: Params = {"plane": plane, "deep": spans["deep"], "high": spans["high"]}
    return Packed("conv3d_f32", params, Entry(Call.ROWS, row="conv3d_f32_row", taps=op.taps))


def _transpose(view: View) -> Packed:
    op, y = view.the(Conv3DTranspose), view.output.shape
    low, high = float_range(op.activation)
    params: Params = {
        **_spans(view),
        "in_channels": view.input.shape[4],
        "out_channels": y[4],
        "least": low,
        "most": high,
        "weights": view.constant(1),
        "bias": float_bias(op.tensor(view.graph, 2), y[4]),
    }
    row = "conv3d_transpose_f32_row"
    return Packed("conv3d_transpose_f32", params, Entry(Call.ROWS, row=row, taps=op.taps))


KERNELS = (
    Kernel("conv3d_f32", (Conv3D,), FLOAT32, _conv3d, costs="conv2d_f32"),
    Kernel("conv3d_transpose_f32", (Conv3DTranspose,), FLOAT32, _transpose, header="conv3d_f32", costs="conv2d_f32"),
)
