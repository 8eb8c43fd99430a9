"""SVDF: `mote_svdf_s8.h`, `mote_svdf_state8_s8.h`, `mote_svdf_f32.h` and, with int8 weights, `mote_svdf_hybrid.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import FLOAT32, HYBRID, INT8, Entry, Kernel, Packed, Params, Refusal, View
from mote.compiler.kernels.pack.svdf import svdf, svdf_filters, svdf_sizes, svdf_state8
from mote.ir.ops.common import float_bias, float_range
from mote.ir.ops.recurrent.svdf import BIAS, STATE, Svdf


def _svdf_float(view: View) -> Packed:
    op, weights = view.the(Svdf), view.constant(1)
    low, high = float_range(op.activation)
    params: Params = {
        **svdf_sizes(view),
        "inputs": weights.shape[1],
        "low": low,
        "high": high,
        "weights": weights,
        "bias": float_bias(op.tensor(view.graph, BIAS), view.output.shape[1]),
    }
    if weights.dtype != np.int8:
        return Packed("svdf_f32", params, Entry(operands=(0, STATE)))
    scales: Params = {"scale": op.input(view.graph, 1).scale, "time_scale": op.input(view.graph, 2).scale}
    return Packed("svdf_hybrid", params | scales, Entry(operands=(0, STATE)))


def _svdf(view: View) -> Packed | Refusal:
    return svdf(view, "svdf_s8", view.once(svdf_filters).params())


def _svdf_state8(view: View) -> Packed | Refusal:
    return svdf_state8(view, "svdf_state8_s8", view.once(svdf_filters).params())


KERNELS = (
    Kernel("svdf_f32", (Svdf,), FLOAT32, _svdf_float, costs="fully_connected_f32"),
    Kernel("svdf_hybrid", (Svdf,), HYBRID, _svdf_float, costs="fully_connected_f32"),
    Kernel("svdf", (Svdf,), INT8, _svdf, tuned=True, costs="fully_connected"),
    Kernel("svdf_state8", (Svdf,), INT8, _svdf_state8, tuned=True, costs="fully_connected"),
)
