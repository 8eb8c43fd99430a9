"""SUM, REDUCE_MAX and other reductions (`mote_reduce.h`): over adjacent axes, over any axes, and with running sums.

MEAN of int8 and float32, and SUM of int8, have kernels of their own; REDUCE_MAX of int8 has `mote_most_s8.h`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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
    Price,
    Refusal,
    Signature,
    Structs,
    View,
    units_of,
)
from mote.ir.graph.numeric.fixedpoint import wrap32
from mote.ir.graph.rows import row_count
from mote.ir.graph.types import DType
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.reduce import (
    LOOPS,
    QUANTIZED,
    ReduceAll,
    ReduceAny,
    ReduceExtreme,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    Reduction,
    ScaledSum,
    Sum,
    outer_axes,
)

ELEMENTS = {
    DType.INT8: ("s8", "int8_t", "INT8"),
    DType.INT16: ("s16", "int16_t", "INT16"),
    DType.INT32: ("s32", "int32_t", "INT32"),
    DType.INT64: ("s64", "int64_t", "INT64"),
    DType.FLOAT32: ("f32", "float", ""),
    DType.UINT8: ("u8", "uint8_t", "UINT8"),
    DType.BOOL: ("u8", "uint8_t", "UINT8"),
}
"""Suffix of kernel names, C type, and prefix of the C macros for its limits."""
FLOAT_MAX = "3.402823466e+38f"
NAMES: dict[type[Reduction], str] = {
    Sum: "sum",
    Mean: "mean",
    ReduceMax: "max",
    ReduceMin: "min",
    ReduceProd: "prod",
    ReduceAny: "max",
    ReduceAll: "min",
}
"""Kernel names. For bools the maximum means any and the minimum all; their sum and product are treated likewise."""


@dataclass(frozen=True)
class _ReduceMacro:
    """A reduction as arguments of the macros in `mote_reduce.h`: accumulator type, initial value, step and final
    conversion."""

    name: str
    sum: str
    begin: str
    step: str
    finish: str
    params: str = "plain"
    """Part of the struct's name that says how results are finished."""
    more: tuple[tuple[str, int | Params], ...] = ()
    """Extra fields of the parameter struct."""
    sum_bytes: int = 0

    def packed(self, view: View, form: str, over: Params, call: Call, units: int = 0, sums: int = 0) -> Packed:
        """Packs the reduction; `form` is the suffix of macro and struct names."""
        suffix, element, _ = ELEMENTS[view.input.dtype]
        name = f"reduce_{self.name}{form}_{suffix}"
        struct = f"mote_reduce_{self.params}{form}_t"
        what = (name, struct, element, self.sum, self.begin, self.step, self.finish)
        instance = Instance(f"MOTE_REDUCE{form.upper()}", what)
        return Packed(
            name,
            {"over": over, **dict(self.more)},
            Entry(call, units),
            Needs(sums=sums * self.sum_bytes),
            instances=(instance,),
        )


def _reduce_macro(view: View) -> _ReduceMacro:
    """The macro arguments for an operator and its element type."""
    op, dtype = view.the(Reduction), view.input.dtype
    suffix, element, limits = ELEMENTS[dtype]
    name, size, plain = NAMES[type(op)], dtype.itemsize, f"MOTE_REDUCED_{suffix.upper()}"
    if dtype == DType.BOOL:
        name = {"sum": "max", "prod": "min"}.get(name, name)
    if name in ("max", "min"):
        sign, step = ("-", "MOST") if name == "max" else ("", "LEAST")
        begin = f"{sign}{FLOAT_MAX}"
        if dtype == DType.FLOAT32 and op.every_axis(view.graph):
            name, begin = f"{name}_all", "*x"
        elif dtype == DType.FLOAT32 and isinstance(op, ReduceExtreme) and op.infinite:
            name, begin = f"{name}_or_infinite", f"{sign}MOTE_INFINITY"
        elif dtype != DType.FLOAT32:
            begin = f"{limits}_MAX" if name == "min" else "0" if limits == "UINT8" else f"{limits}_MIN"
        return _ReduceMacro(name, element, begin, f"MOTE_REDUCE_STEP_{step}", plain, sum_bytes=size)
    if isinstance(op, ScaledSum) and dtype in QUANTIZED:
        mult, shift = op.scale(view.graph)
        bias = int(wrap32(np.array(-view.input.zero_point * op.count(view.graph))))
        scale: Params = {"bias": bias, "mult": mult, "shift": -shift - 1, "zero": view.output.zero_point}
        return _ReduceMacro(
            "sum",
            "uint32_t",
            "(uint32_t)p->scale.bias",
            "MOTE_REDUCE_STEP_PLUS_U32",
            f"MOTE_REDUCED_SCALED_{suffix.upper()}",
            "scaled",
            (("scale", scale),),
            4,
        )
    verb, begin = ("PLUS", "0") if name in ("sum", "mean") else ("TIMES", "1")
    if dtype == DType.FLOAT32:
        return _ReduceMacro(name, "float", f"{begin}.0f", f"MOTE_REDUCE_STEP_{verb}", plain, sum_bytes=size)
    bits = 64 if dtype == DType.INT64 or name == "mean" else 32
    gathered = _ReduceMacro(
        name, f"uint{bits}_t", f"{begin}u", f"MOTE_REDUCE_STEP_{verb}_U{bits}", plain, sum_bytes=bits // 8
    )
    if name != "mean":
        return gathered
    divisor = (("divisor", op.count(view.graph)),)
    finish = f"MOTE_REDUCED_MEAN_{suffix.upper()}"
    return _ReduceMacro(name, gathered.sum, gathered.begin, gathered.step, finish, "divided", divisor)


def _scaled_product(view: View) -> bool:
    return isinstance(view.op, ReduceProd) and view.op.quantized(view.graph)


def _adjacent(view: View) -> tuple[int, int] | None:
    """Number of elements per result and number of adjacent results, where the reduced axes are adjacent; None where
    they are not."""
    kept, reduced, inner = view.the(Reduction).loops(view.graph)
    if len(reduced) > 1:
        return None
    if not reduced:
        return 1, 1
    return (reduced[0][0], inner) if len(kept) <= 1 else None


def _flat(view: View) -> Packed | Refusal:
    adjacent = _adjacent(view)
    if isinstance(view.op, ReduceMax) and view.input.dtype == DType.INT8:
        return Refusal("REDUCE_MAX of int8 has a kernel of its own")
    if adjacent is None or _scaled_product(view):
        return Refusal("axes are not adjacent, or the order matters")
    count, inner = adjacent
    packed = _reduce_macro(view).packed(
        view, "", {"count": count, "inner": inner}, Call.FLAT, units_of(view.output.shape, inner)
    )
    return _priced(view, packed)


def _priced(view: View, packed: Packed) -> Packed:
    """The kernel with a cost family of its own for int16 MEAN, which many models have."""
    own = isinstance(view.op, Mean) and view.input.dtype == DType.INT16
    return replace(packed, price=Price(costs="mean_s16")) if own else packed


def _loops(view: View) -> Packed | Refusal:
    kept, reduced, inner = view.the(Reduction).loops(view.graph)
    over: Params = {"inner": inner, "kept": _structs(kept), "reduced": _structs(reduced)}
    if _scaled_product(view):
        return _product(view, over)
    if _adjacent(view) is not None:
        return Refusal("axes are adjacent")
    return _reduce_macro(view).packed(view, "_loops", over, Call.WHOLE)


def _structs(loops: list[tuple[int, int]]) -> Structs:
    """Nested loops (size, stride) as `mote_loop_t[3]`; unused ones come first."""
    return Structs("mote_loop_t", np.array([(1, 0)] * (LOOPS - len(loops)) + loops, np.int64))


def _product(view: View, over: Params) -> Packed:
    suffix, element, limits = ELEMENTS[view.input.dtype]
    mult, shift = view.the(ReduceProd).scale(view.graph)
    name = f"reduce_product_{suffix}"
    scale: Params = {"mult": mult, "shift": 15 - shift}
    zeros: Params = {"zero": view.input.zero_point, "out_zero": view.output.zero_point}
    instance = Instance("MOTE_REDUCE_PROD", (name, element, f"{limits}_MIN", f"{limits}_MAX"))
    return Packed(name, {"over": over, **scale, **zeros}, instances=(instance,))


def _add(view: View) -> Packed | Refusal:
    """Packs the reduction with running sums, for outputs of one row: each input row contributes to all results, or to
    some of its own."""
    op, shape = view.the(Reduction), view.input.shape
    outer = outer_axes(shape)
    if row_count(shape) == 1 or row_count(view.output.shape) != 1:
        return Refusal("the output is not one row computed from several")
    if _scaled_product(view) or (view.input.dtype == DType.FLOAT32 and op.every_axis(view.graph)):
        return Refusal("the order of elements matters")
    macro = _reduce_macro(view)
    if macro.sum_bytes not in (1, 2, 4):
        return Refusal("running sums of 64 bits are not supported")
    groups = [(n, i in op.axes) for i, n in enumerate(shape[:outer]) if n > 1]
    kept = [i for i, (_, reduced) in enumerate(groups) if not reduced]
    if kept and kept != list(range(kept[0], kept[-1] + 1)):
        return Refusal("rows that are not reduced are not adjacent")
    below = prod(n for n, _ in groups[kept[-1] + 1 :]) if kept else 1
    places = prod(groups[i][0] for i in kept)
    count, inner, lines = _in_row(op, shape)
    over: Params = {"count": count, "inner": inner, "lines": lines, "below": below, "kept": places}
    return _priced(view, macro.packed(view, "_add", over, Call.ADDS, sums=view.output.size))


def _most(view: View) -> Packed | Refusal:
    adjacent = _adjacent(view)
    if adjacent is None:
        return Refusal("axes are not adjacent")
    count, inner = adjacent
    params: Params = {"count": count, "inner": inner, "lines": 1}
    price = Price(costs="most_lines" if inner == 1 else "")
    return Packed("most_s8", params, Entry(Call.FLAT, units_of(view.output.shape, inner)), price=price)


def _most_add(view: View) -> Packed | Refusal:
    """Packs int8 REDUCE_MAX with running maxima, for inputs whose rows are all reduced to one."""
    shape, axes = view.input.shape, view.the(Reduction).axes
    if any(n > 1 and i not in axes for i, n in enumerate(shape[: outer_axes(shape)])):
        return Refusal("not all rows are reduced")
    if row_count(shape) == 1 or row_count(view.output.shape) != 1:
        return Refusal("the output is not one row computed from several")
    count, inner, lines = _in_row(view.the(Reduction), shape)
    params: Params = {"count": count, "inner": inner, "lines": lines}
    return Packed("most_add_s8", params, Entry(Call.ADDS), Needs(sums=view.output.size))


def _in_row(op: Reduction, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """For one input row: elements per result, adjacent results, and number of such groups."""
    axes = [(n, i in op.axes) for i, n in enumerate(shape) if i >= outer_axes(shape)]
    (pixels, pixels_reduced), (channels, channels_reduced) = [(1, False)] * (2 - len(axes)) + axes
    if channels_reduced:
        return (pixels * channels, 1, 1) if pixels_reduced else (channels, 1, pixels)
    return (pixels, channels, 1) if pixels_reduced else (1, pixels * channels, 1)


def _kernels(op: type[Reduction], types: tuple[DType, ...]) -> tuple[Kernel, ...]:
    """Catalogue entries of one operator for these types."""
    kernels: list[Kernel] = []
    forms: tuple[tuple[str, Callable[[View], Packed | Refusal], Call | None], ...] = (
        ("reduce", _flat, None),
        ("reduce_loops", _loops, None),
        ("reduce_add", _add, Call.ADDS),
    )
    real = tuple(t for t in types if t == DType.FLOAT32)
    whole = tuple(t for t in types if t != DType.FLOAT32)
    for some, suffix, costs in ((whole, "", OTHER), (real, "_f32", OTHER_F32)):
        between = Signature(frozenset(some), frozenset(some))
        for name, pack, call in forms if some else ():
            kernels.append(Kernel(f"{name}{suffix}", (op,), between, pack, header="reduce", costs=costs, call=call))
    return tuple(kernels)


KERNELS = (
    Kernel("most", (ReduceMax,), INT8, _most, header="most_s8", tuned=True),
    Kernel("most_add", (ReduceMax,), INT8, _most_add, header="most_s8", costs=OTHER, call=Call.ADDS, tuned=True),
    *(kernel for op in NAMES if op is not Mean for kernel in _kernels(op, op.types)),
    *_kernels(Mean, (DType.INT16, DType.INT32, DType.INT64)),
)
