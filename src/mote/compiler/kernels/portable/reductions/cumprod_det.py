"""Cumulative products and determinants: `mote_cumprod.h` and `mote_determinant_f32.h`."""

from __future__ import annotations

from math import prod

from mote.compiler.kernels.contract import (
    FLOAT32,
    OTHER,
    OTHER_F32,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    View,
    signature,
    units_of,
)
from mote.compiler.kernels.pack.elements import CTYPES, SUFFIXES
from mote.ir.graph.types import DType
from mote.ir.ops.reductions.cumprod_det import CumProd, Determinant

PRODUCTS = {DType.INT32: "uint32_t", DType.INT64: "uint64_t", DType.FLOAT32: "float"}
"""C type of products, by element type."""


def _cumprod(view: View) -> Packed:
    op, dtype, shape = view.the(CumProd), view.input.dtype, view.input.shape
    name = f"cumprod_{SUFFIXES[dtype]}"
    lines = shape[op.axis], prod(shape[op.axis + 1 :])
    params = dict(zip(("count", "inner"), lines, strict=True))
    flags = {"exclusive": int(op.exclusive), "reverse": int(op.reverse)}
    instance = Instance("MOTE_CUMPROD", (name, CTYPES[dtype], PRODUCTS[dtype]))
    units = units_of(shape, prod(lines))
    return Packed(name, {**params, **flags}, Entry(Call.FLAT, units), Needs(in_place=(0,)), instances=(instance,))


def _determinant(view: View) -> Packed:
    n = view.input.shape[-1]
    return Packed("determinant_f32", {"count": view.output.size, "size": n}, needs=Needs(scratch=4 * n * n))


KERNELS = (
    *(
        Kernel(
            f"cumprod_{SUFFIXES[dtype]}",
            (CumProd,),
            signature(dtype, dtype),
            _cumprod,
            header="cumprod",
            costs=OTHER_F32 if dtype.real else OTHER,
        )
        for dtype in PRODUCTS
    ),
    Kernel("determinant_f32", (Determinant,), FLOAT32, _determinant, costs=OTHER_F32),
)
