"""Element-wise binary operators: `mote_pairs.h` and the headers that include it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from mote.compiler.kernels.contract import (
    OTHER,
    OTHER_F32,
    OTHER_S16,
    Call,
    Kernel,
    Packed,
    Params,
    Price,
    Refusal,
    Signature,
    View,
)
from mote.compiler.kernels.pack.elements import CTYPES
from mote.compiler.kernels.pack.pairs import pair_kernel, plain_kernel, result_params, term_params
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import integer_range, quantized_range
from mote.ir.ops.elementwise.arithmetic import Add, Arithmetic, Binary, Mul
from mote.ir.ops.elementwise.binary_unscaled import (
    Atan2,
    BitwiseXor,
    LogicalAnd,
    LogicalOr,
    Maximum,
    Minimum,
    Pow,
    RightShift,
)
from mote.ir.ops.elementwise.comparison import Comparison, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual
from mote.ir.ops.elementwise.division import Div, FloorDiv, FloorMod
from mote.ir.ops.elementwise.squared_difference import PLACES, SquaredDifference

Pack = Callable[[View], Packed | Refusal]
INTEGERS = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64})
WHOLE = frozenset({DType.INT16, DType.INT32, DType.INT64})
ONLY_FLOAT = frozenset({DType.FLOAT32})
ONLY_BOOL = frozenset({DType.BOOL})
ONLY_INT16 = frozenset({DType.INT16})
SCALED = Refusal("tensors are quantized")
UNSCALED = Refusal("tensors are not quantized")


def _kernel(name: str, kind: type[Binary], types: Collection[DType], pack: Pack, header: str) -> Kernel:
    """Catalogue entry for operands and results of equal type; comparisons return bool."""
    inputs = frozenset(types)
    outputs = ONLY_BOOL if issubclass(kind, Comparison) else inputs
    costs = OTHER_F32 if inputs == ONLY_FLOAT else OTHER_S16 if inputs == ONLY_INT16 else OTHER
    return Kernel(name, (kind,), Signature(inputs, outputs), pack, header=header, costs=costs)


def _plain(name: str, kind: type[Binary], types: Collection[DType], header: str = "pairs") -> Kernel:
    """Entry for a function without parameters, the macro `MOTE_<NAME>` of its header."""

    def pack(view: View) -> Packed | Refusal:
        scaled = isinstance(view.op, Comparison) and view.op.scaled(view.graph)
        return SCALED if scaled else plain_kernel(view, name.removesuffix("_f32"), f"MOTE_{name.upper()}")

    return _kernel(name, kind, types, pack, header)


def _of_any(name: str, kind: type[Binary], types: Collection[DType] = INTEGERS) -> tuple[Kernel, Kernel]:
    """Entries for integers and for float32 of a function with the same C code for both."""

    def real(view: View) -> Packed:
        return plain_kernel(view, name, f"MOTE_{name.upper()}")

    return _plain(name, kind, types), _kernel(f"{name}_f32", kind, ONLY_FLOAT, real, "pairs")


def _comparison(name: str, kind: type[Comparison]) -> tuple[Kernel, ...]:
    """Entries of a comparison for unquantized and for quantized tensors."""

    def scaled(view: View) -> Packed | Refusal:
        op, g = view.the(Comparison), view.graph
        if not op.scaled(g):
            return UNSCALED
        params: Params = {side: term_params(op.input(g, p), op.scale(g, p)) for p, side in enumerate("ab")}
        return pair_kernel(
            view, f"{name}_scaled", "MOTE_COMPARE", (CTYPES[view.input.dtype], f"MOTE_{name.upper()}"), params
        )

    codes = {DType.INT8, DType.INT16} if kind.scaled16 else {DType.INT8}
    of_codes = _kernel(f"{name}_scaled", kind, codes, scaled, "compare")
    return *_of_any(name, kind, WHOLE | (kind.types & ONLY_BOOL)), of_codes


def _limits(activation: Activation, dtype: DType) -> Params:
    """The fields of `mote_limits_t`: the range of the fused activation."""
    low, high = integer_range(activation, dtype)
    return {"low": low, "high": high}


def _long_limits(activation: Activation) -> Params:
    """The fields of `mote_long_limits_t`: the range of the fused activation for int64."""
    least, most = DType.INT32.limits
    low, high = integer_range(activation, DType.INT64)
    limits = {"has_low": int(low >= least), "has_high": int(high <= most)}
    return {"low": max(low, least), "high": min(high, most), **limits}


def _whole(stem: str, kind: type[Arithmetic], sign: Callable[[View], str]) -> Kernel:
    """Entry for wrapping integer arithmetic with a fused activation."""

    def pack(view: View) -> Packed | Refusal:
        op, dtype = view.the(Arithmetic), view.output.dtype
        if not op.whole(view.graph):
            return SCALED
        if dtype == DType.INT64:
            limits, params = ("mote_long_limits_t", "mote_limit_long"), _long_limits(op.activation)
        else:
            limits, params = ("mote_limits_t", "mote_limit"), _limits(op.activation, dtype)
        return pair_kernel(view, f"{op.kind.lower()}_whole", "MOTE_WHOLE", (CTYPES[dtype], sign(view), *limits), params)

    return _kernel(f"{stem}_whole", kind, WHOLE, pack, "whole")


def _add_s16(view: View) -> Packed | Refusal:
    op, g = view.the(Add), view.graph
    if op.whole(g):
        return UNSCALED
    if op.shifts is not None:
        return _shifted(view, op, op.shifts)
    first, second, result = op.multipliers(g)
    params: Params = {
        "a": term_params(op.input(g), first),
        "b": term_params(op.input(g, 1), second),
        "sign": op.sign,
        "y": result_params(result, op.activation, view.output),
    }
    return plain_kernel(view, op.kind.lower(), "mote_sum_of_s16", "mote_sum_s16_t", params)


def _shifted(view: View, op: Add, shifts: tuple[int, int]) -> Packed:
    """Packs int16 ADD or SUB whose scales are powers of two, so that shifts suffice."""
    lo, hi = quantized_range(op.activation, view.output)
    params: Params = {"sign": op.sign, "lo": lo, "hi": hi}
    for side, right in zip("ab", shifts, strict=True):
        params |= {f"{side}_half": 1 << right >> 1, f"{side}_right": right}
    return plain_kernel(view, f"{op.kind.lower()}_shifted", "mote_shifted_sum", "mote_shifted_sum_t", params)


def _mul_s16(view: View) -> Packed | Refusal:
    op = view.the(Mul)
    if op.whole(view.graph):
        return UNSCALED
    params = result_params(op.multiplier(view.graph), op.activation, view.output)
    return plain_kernel(view, "mul", "mote_product_of_s16", "mote_result_t", params)


def _squared_difference(view: View) -> Packed:
    op, g = view.the(SquaredDifference), view.graph
    first, second, result = op.multipliers(g)
    params: Params = {
        "a": term_params(op.input(g), first),
        "b": term_params(op.input(g, 1), second),
        "unit": 1 << PLACES[view.output.dtype],
        "y": result_params(result, Activation.NONE, view.output),
    }
    packed = plain_kernel(view, "squared_difference", "mote_square_of", "mote_square_t", params)
    rows = "_rows" if packed.entry.call is Call.ROWS else ""
    own = view.output.dtype == DType.INT8
    return replace(packed, price=Price(costs=f"squared_difference{rows}")) if own else packed


def _div(view: View) -> Packed:
    op, g = view.the(Div), view.graph
    mult, shift = op.multiplier(g)
    lo, hi = quantized_range(op.activation, view.output)
    zeros = {"a_zero": op.input(g).zero_point, "b_zero": op.input(g, 1).zero_point, "zero": view.output.zero_point}
    return plain_kernel(
        view, "div", "mote_quotient", "mote_divide_t", {**zeros, "mult": mult, "shift": shift, "lo": lo, "hi": hi}
    )


def _div_whole(view: View) -> Packed:
    params = _limits(view.the(Div).activation, view.output.dtype)
    return plain_kernel(view, "div_whole", "mote_divide", "mote_limits_t", params)


def _div_f32(view: View) -> Packed:
    low, high = view.the(Div).real_range
    return plain_kernel(view, "div", "MOTE_DIV_F32", "mote_limits_f32_t", {"low": low, "high": high})


def _floor_mod(view: View) -> Packed:
    return pair_kernel(view, "floor_mod", "MOTE_FLOOR_MOD", (CTYPES[view.input.dtype],))


def _pow_f32(view: View) -> Packed:
    params: Params = {"rounds": int(view.the(Pow).rounds(view.graph))}
    return plain_kernel(view, "pow", "mote_power", "mote_power_t", params)


def _right_shift(view: View) -> Packed:
    most = 8 * view.input.dtype.itemsize - 1
    return plain_kernel(view, "right_shift", "mote_right_shift", "mote_places_t", {"most": most})


def _sign(view: View) -> str:
    return "+" if view.the(Add).sign > 0 else "-"


KERNELS = (
    _whole("add", Add, _sign),
    _whole("mul", Mul, lambda _: "*"),
    _kernel("add_s16", Add, {DType.INT16}, _add_s16, "quantized"),
    _kernel("mul_s16", Mul, {DType.INT16}, _mul_s16, "quantized"),
    _kernel("div", Div, {DType.INT8, DType.INT16}, _div, "divide"),
    _kernel("div_whole", Div, {DType.INT32}, _div_whole, "whole"),
    _kernel("div_f32", Div, ONLY_FLOAT, _div_f32, "pairs_f32"),
    _plain("floor_div", FloorDiv, FloorDiv.types - ONLY_FLOAT, "whole"),
    _plain("floor_div_f32", FloorDiv, ONLY_FLOAT, "pairs_f32"),
    _kernel("floor_mod", FloorMod, FloorMod.types - ONLY_FLOAT, _floor_mod, "whole"),
    _plain("floor_mod_f32", FloorMod, ONLY_FLOAT, "pairs_f32"),
    _kernel("squared_difference", SquaredDifference, PLACES, _squared_difference, "quantized"),
    _plain("whole_squared_difference", SquaredDifference, {DType.INT32}, "whole"),
    _plain("squared_difference_f32", SquaredDifference, ONLY_FLOAT, "pairs_f32"),
    _plain("pow", Pow, {DType.INT32}, "whole"),
    _kernel("pow_f32", Pow, ONLY_FLOAT, _pow_f32, "pairs_f32"),
    _plain("atan2_f32", Atan2, ONLY_FLOAT, "pairs_f32"),
    *_of_any("maximum", Maximum),
    *_of_any("minimum", Minimum),
    *_comparison("equal", Equal),
    *_comparison("not_equal", NotEqual),
    *_comparison("greater", Greater),
    *_comparison("greater_equal", GreaterEqual),
    *_comparison("less", Less),
    *_comparison("less_equal", LessEqual),
    _plain("logical_and", LogicalAnd, ONLY_BOOL),
    _plain("logical_or", LogicalOr, ONLY_BOOL),
    _plain("bitwise_xor", BitwiseXor, BitwiseXor.types),
    _kernel("right_shift", RightShift, RightShift.types, _right_shift, "pairs"),
)
