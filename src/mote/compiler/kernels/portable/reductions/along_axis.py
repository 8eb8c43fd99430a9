"""ARG_MAX and ARG_MIN, CUMSUM, TOPK_V2, SEGMENT_SUM: `mote_arg.h`, `mote_cumsum.h` and `mote_cumsum_s8.h`,
`mote_topk.h`, `mote_segment_sum.h`."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from mote.compiler.kernels.contract import (
    INT8,
    OTHER,
    OTHER_F32,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Refusal,
    Signature,
    View,
    units_of,
)
from mote.ir.graph import Op
from mote.ir.graph.rows import row_count
from mote.ir.graph.types import DType
from mote.ir.ops.reductions.along_axis import INDEX_TYPES, ArgExtreme, CumSum, SegmentSum, TopK
from mote.ir.ops.reductions.reduce import outer_axes

ELEMENTS = {
    DType.INT8: ("s8", "int8_t"),
    DType.UINT8: ("u8", "uint8_t"),
    DType.INT16: ("s16", "int16_t"),
    DType.INT32: ("s32", "int32_t"),
    DType.INT64: ("s64", "int64_t"),
    DType.FLOAT32: ("f32", "float"),
    DType.BOOL: ("u8", "uint8_t"),
}
"""Suffix of kernel names and C type of each element type."""
SUMS = {DType.INT32: "uint32_t", DType.INT64: "uint64_t", DType.FLOAT32: "float"}
"""C type of accumulators, by element type."""


def _along(view: View, axis: int) -> tuple[int, int]:
    """Size and stride of an axis, in elements."""
    shape = view.input.shape
    return shape[axis], prod(shape[axis + 1 :])


def _arg_instance(view: View, form: str) -> tuple[str, Instance]:
    """Name of the function, and the macro instance that defines it."""
    suffix, element = ELEMENTS[view.input.dtype]
    index_suffix, index = ELEMENTS[view.output.dtype]
    what, better = ("max", "MOTE_ARG_ABOVE") if view.the(ArgExtreme).largest else ("min", "MOTE_ARG_BELOW")
    better += "_F32" if view.input.dtype == DType.FLOAT32 else ""
    name = f"arg_{what}{form}_{suffix}_{index_suffix}"
    return name, Instance(f"MOTE_ARG{form.upper()}", (name, element, index, better))


def _arg(view: View) -> Packed:
    count, inner = _along(view, view.the(ArgExtreme).axis)
    name, instance = _arg_instance(view, "")
    units = units_of(view.output.shape, inner)
    return Packed(name, {"count": count, "inner": inner}, Entry(Call.FLAT, units), instances=(instance,))


def _arg_add(view: View) -> Packed | Refusal:
    """Packs ARG_MAX or ARG_MIN with running results, for outputs of one row that holds the indices of all input
    rows."""
    shape, axis = view.input.shape, view.the(ArgExtreme).axis
    rows = row_count(shape)
    if rows == 1 or row_count(view.output.shape) != 1 or axis < outer_axes(shape):
        return Refusal("the output is not one row computed from several, one by one")
    count, inner = _along(view, axis)
    lines = units_of(shape, count * inner) // rows
    name, instance = _arg_instance(view, "_add")
    params: Params = {"over": {"count": count, "inner": inner}, "lines": lines, "rows": rows}
    return Packed(name, params, Entry(Call.ADDS), Needs(sums=view.output.nbytes), instances=(instance,))


def _cumsum(view: View) -> Packed:
    suffix, element = ELEMENTS[view.input.dtype]
    name = f"cumsum_{suffix}"
    return _summed(view, name, _lines(view), Instance("MOTE_CUMSUM", (name, element, SUMS[view.input.dtype])))


def _cumsum_s8(view: View) -> Packed:
    mult, shift = view.the(CumSum).scale(view.graph)
    zeros: Params = {"zero": view.input.zero_point, "out_zero": view.output.zero_point}
    return _summed(view, "cumsum_s8", {"over": _lines(view), **zeros, "mult": mult, "shift": -shift - 1})


def _lines(view: View) -> Params:
    """Length, stride and flags of a cumulative sum (`mote_cumsum_t`)."""
    op = view.the(CumSum)
    count, inner = _along(view, op.axis)
    return {"count": count, "inner": inner, "exclusive": int(op.exclusive), "reverse": int(op.reverse)}


def _summed(view: View, name: str, params: Params, *instances: Instance) -> Packed:
    units = units_of(view.input.shape, prod(_along(view, view.the(CumSum).axis)))
    return Packed(name, params, Entry(Call.FLAT, units), Needs(in_place=(0,)), instances=instances)


def _top_k(view: View) -> Packed:
    op, depth = view.the(TopK), view.input.shape[-1]
    suffix, element = ELEMENTS[view.input.dtype]
    larger = "MOTE_TOPK_LARGER_F32" if view.input.dtype == DType.FLOAT32 else "MOTE_TOPK_LARGER"
    if op.indices:
        index_suffix, index = ELEMENTS[view.output.dtype]
        name, key = f"topk_at_{suffix}_{index_suffix}", "MOTE_TOPK_AT"
        entry = "MOTE_TOPK_SHORT_INDEX" if view.output.dtype == DType.INT16 else "MOTE_TOPK_INDEX"
    else:
        name, index, key, entry = f"topk_{suffix}", element, "MOTE_TOPK_VALUE", "MOTE_TOPK_VALUE_OF"
    instance = Instance("MOTE_TOPK", (name, element, index, larger, key, entry))
    units = units_of(view.input.shape, depth)
    return Packed(name, {"depth": depth, "k": op.k}, Entry(Call.FLAT, units), instances=(instance,))


def _segment_sum(view: View) -> Packed:
    lengths = view.the(SegmentSum).lengths
    suffix, element = ELEMENTS[view.input.dtype]
    name = f"segment_sum_{suffix}"
    inner = prod(view.input.shape[1:])
    params: Params = {"segments": len(lengths), "inner": inner, "length": np.array(lengths, np.int32)}
    return Packed(name, params, instances=(Instance("MOTE_SEGMENT_SUM", (name, element, SUMS[view.input.dtype])),))


def _kernels(
    name: str, op: type[Op], types: tuple[DType, ...], outputs: tuple[DType, ...], pack: Callable[[View], Packed]
) -> tuple[Kernel, Kernel]:
    """Catalogue entries for integers and for float32; without `outputs`, results have the input's type."""
    whole, real = frozenset(types) - {DType.FLOAT32}, frozenset({DType.FLOAT32})
    output_types = frozenset(outputs)
    return (
        Kernel(name, (op,), Signature(whole, output_types or whole), pack, header=name, costs=OTHER),
        Kernel(f"{name}_f32", (op,), Signature(real, output_types or real), pack, header=name, costs=OTHER_F32),
    )


ARGS = Signature(frozenset(ArgExtreme.types), frozenset(INDEX_TYPES))
KERNELS = (
    *_kernels("arg", ArgExtreme, ArgExtreme.types, INDEX_TYPES, _arg),
    Kernel("arg_add", (ArgExtreme,), ARGS, _arg_add, header="arg", costs=OTHER, call=Call.ADDS),
    Kernel("cumsum_s8", (CumSum,), INT8, _cumsum_s8, costs=OTHER),
    *_kernels("cumsum", CumSum, tuple(SUMS), (), _cumsum),
    *_kernels("topk", TopK, TopK.types, TopK.types, _top_k),
    *_kernels("segment_sum", SegmentSum, SegmentSum.types, (), _segment_sum),
)
