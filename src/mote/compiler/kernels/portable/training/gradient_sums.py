"""Sums of int8 gradients over pixels, on whole tensors or row by row: `mote_gradient_sums_s8.h`."""

from __future__ import annotations

from mote.compiler.kernels.contract import OTHER, Call, Entry, Kernel, Needs, Packed, Params, Refusal, View, signature
from mote.ir.graph.rows import row_count
from mote.ir.graph.types import DType
from mote.ir.ops.training.integer.sums import GradientSums

HEADER = "gradient_sums_s8"


def _params(view: View, rows: int) -> Params:
    x = view.input
    return {"pixels": x.size // x.channels // rows, "size": x.channels}


def _whole(view: View) -> Packed:
    return Packed("gradient_sums_s8", _params(view, 1))


def _by_rows(view: View) -> Packed | Refusal:
    rows = row_count(view.input.shape)
    if rows == 1:
        return Refusal("the input is one row")
    return Packed("gradient_sums_add_s8", _params(view, rows), Entry(Call.ADDS), Needs(sums=4 * view.input.channels))


TYPES = signature(DType.INT8, DType.INT32)
KERNELS = (
    Kernel("gradient_sums_s8", (GradientSums,), TYPES, _whole, HEADER, costs=OTHER),
    Kernel("gradient_sums_add_s8", (GradientSums,), TYPES, _by_rows, HEADER, costs=OTHER, call=Call.ADDS),
)
