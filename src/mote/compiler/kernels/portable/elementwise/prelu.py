"""PRELU: `mote_prelu_s8.h`, `mote_prelu_f32.h` and, for int16, `mote_quantized.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import (
    FLOAT32,
    INT8,
    OTHER,
    OTHER_F32,
    OTHER_S16,
    Call,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    View,
    signature,
)
from mote.compiler.kernels.pack.broadcast import broadcast
from mote.compiler.kernels.pack.pairs import plain_kernel, result_params
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.elementwise.prelu import PRelu


def _packed(view: View, name: str, params: Params) -> Packed:
    """Packs PRELU with the slopes broadcast to the input's shape."""
    x, alpha = view.input, view.op.input(view.graph, 1)
    _, walk = broadcast(view.output.shape, x.shape, alpha.shape)
    return Packed(name, {"walk": walk, **params}, Entry(Call.ROWS, operands=(0, 1)), Needs(in_place=(0, 1)))


def _prelu_f32(view: View) -> Packed:
    return _packed(view, "prelu_f32", {})


def _prelu(view: View) -> Packed:
    above, below = view.the(PRelu).multipliers(view.graph)
    params: Params = {
        "x_zero": view.input.zero_point,
        "alpha_zero": view.op.input(view.graph, 1).zero_point,
        "y_zero": view.output.zero_point,
        "above": {"mult": above[0], "shift": -above[1] - 1},
        "below": {"mult": below[0], "shift": -below[1] - 1},
    }
    return _packed(view, "prelu_s8", params)


def _prelu_s16(view: View) -> Packed:
    above, below = view.the(PRelu).multipliers(view.graph)
    params: Params = {
        "x_zero": view.input.zero_point,
        "slope_zero": view.op.input(view.graph, 1).zero_point,
        "above": result_params(above, Activation.NONE, view.output),
        "below": result_params(below, Activation.NONE, view.output),
    }
    return plain_kernel(view, "prelu", "mote_slope_s16", "mote_slope_s16_t", params)


KERNELS = (
    Kernel("prelu_s16", (PRelu,), signature(DType.INT16, DType.INT16), _prelu_s16, header="quantized", costs=OTHER_S16),
    Kernel("prelu_f32", (PRelu,), FLOAT32, _prelu_f32, costs=OTHER_F32),
    Kernel("prelu", (PRelu,), INT8, _prelu, costs=OTHER),
)
