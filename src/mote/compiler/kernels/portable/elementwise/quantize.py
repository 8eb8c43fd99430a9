"""QUANTIZE and DEQUANTIZE between float32 and int8 (`mote_quantize.h`), between other types (`mote_convert.h`), and
CAST (`mote_convert.h`)."""

from __future__ import annotations

from mote.compiler.kernels.contract import (
    OTHER,
    OTHER_F32,
    OTHER_S16,
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
    signature,
)
from mote.compiler.kernels.pack.params import scale_params
from mote.ir.graph.types import DType, Rounding
from mote.ir.ops.elementwise.cast import TYPES, BitCast, Cast
from mote.ir.ops.elementwise.quantize import Dequantize, Quantize, Rescale

NAMES = {
    DType.BOOL: ("bool", "uint8_t"),
    DType.INT8: ("s8", "int8_t"),
    DType.UINT8: ("u8", "uint8_t"),
    DType.INT16: ("s16", "int16_t"),
    DType.INT32: ("s32", "int32_t"),
    DType.UINT16: ("u16", "uint16_t"),
    DType.UINT32: ("u32", "uint32_t"),
    DType.UINT64: ("u64", "uint64_t"),
    DType.INT64: ("s64", "int64_t"),
    DType.FLOAT32: ("f32", "float"),
}
"""Suffix in function names and C type of each element type."""
LIMITS = {
    DType.INT8: ("INT8_MIN", "INT8_MAX", "128.0f"),
    DType.UINT8: ("0", "UINT8_MAX", "256.0f"),
    DType.INT16: ("INT16_MIN", "INT16_MAX", "32768.0f"),
    DType.INT32: ("INT32_MIN", "INT32_MAX", "2147483648.0f"),
    DType.UINT16: ("0", "UINT16_MAX", "65536.0f"),
    DType.UINT32: ("0", "UINT32_MAX", "4294967296.0f"),
    DType.UINT64: ("0", "UINT64_MAX", "18446744073709551616.0f"),
    DType.INT64: ("INT64_MIN", "INT64_MAX", "9223372036854775808.0f"),
}
"""For each integer type in C: minimum, maximum, and the smallest float above the maximum."""
OTHERS = frozenset({DType.UINT8, DType.INT16, DType.UINT16})
REAL = frozenset({DType.FLOAT32})
EVEN = Refusal("ties are rounded to even")
NOT_EVEN = Refusal("ties are rounded away from zero")


def _quantize(view: View) -> Packed | Refusal:
    y = view.output
    if view.the(Quantize).rounding is Rounding.EVEN:
        return EVEN
    return Packed("quantize_f32_s8", {"scale": y.scale, "zero": y.zero_point}, Entry(Call.FLAT, y.size))


def _dequantize(view: View) -> Packed:
    x = view.input
    return Packed("dequantize_s8_f32", {"scale": x.scale, "zero": x.zero_point}, Entry(Call.FLAT, x.size))


def _typed(view: View, verb: str, macro: str, params: Params, *arguments: str | int, in_place: bool = False) -> Packed:
    """Packs an element-wise function `<verb>_<input type>_<output type>` that a macro defines."""
    name = f"{verb}_{NAMES[view.input.dtype][0]}_{NAMES[view.output.dtype][0]}"
    instance = Instance(macro, (name, *arguments))
    over = (0,) if in_place else ()
    return Packed(name, params, Entry(Call.FLAT, view.output.size), Needs(in_place=over), instances=(instance,))


def _quantize_to(view: View) -> Packed | Refusal:
    y = view.output
    if view.the(Quantize).rounding is Rounding.EVEN:
        return EVEN
    params: Params = {"scale": y.scale, "zero": y.zero_point}
    return _typed(view, "quantize", "MOTE_QUANTIZE", params, NAMES[y.dtype][1], *y.dtype.limits)


def _dequantize_from(view: View) -> Packed:
    x = view.input
    return _typed(view, "dequantize", "MOTE_DEQUANTIZE", {"scale": x.scale, "zero": x.zero_point}, NAMES[x.dtype][1])


def _requantize(view: View) -> Packed:
    x, y = view.input, view.output
    low, high = y.dtype.limits
    params: Params = {
        "offset": -x.zero_point,
        **scale_params(*view.the(Rescale).scale(view.graph)),
        "zero": y.zero_point,
        "lo": low,
        "hi": high,
    }
    types = NAMES[x.dtype][1], NAMES[y.dtype][1]
    return _typed(view, "requantize", "MOTE_REQUANTIZE", params, *types, in_place=x.dtype == y.dtype)


def _cast(view: View) -> Packed:
    x, y = view.input.dtype, view.output.dtype
    given, wanted = NAMES[x][1], NAMES[y][1]
    same = x == y or x.itemsize == y.itemsize == 1  # in C pointers to other types must not alias
    if y == DType.BOOL:
        return _typed(view, "cast", "MOTE_CAST_BOOL", {"unused": 0}, given, in_place=same)
    if x == DType.FLOAT32 and y.integer:
        return _typed(view, "cast", "MOTE_CAST_REAL", {"unused": 0}, wanted, *LIMITS[y], in_place=same)
    return _typed(view, "cast", "MOTE_CAST_PLAIN", {"unused": 0}, given, wanted, in_place=same)


def _bitcast(view: View) -> Packed:
    x, y = view.input.dtype, view.output.dtype
    return _typed(view, "bitcast", "MOTE_BITCAST", {"unused": 0}, NAMES[x][1], NAMES[y][1], in_place=x.itemsize == 1)


KERNELS = (
    Kernel("quantize", (Quantize,), signature(DType.FLOAT32, DType.INT8), _quantize, header="quantize"),
    Kernel("dequantize", (Dequantize,), signature(DType.INT8, DType.FLOAT32), _dequantize, header="quantize"),
    Kernel("quantize_to", (Quantize,), Signature(REAL, OTHERS), _quantize_to, header="convert", costs=OTHER_F32),
    Kernel(
        "dequantize_from", (Dequantize,), Signature(OTHERS, REAL), _dequantize_from, header="convert", costs=OTHER_F32
    ),
    *(
        Kernel(
            f"requantize_{NAMES[x][0]}_{NAMES[y][0]}",
            (Rescale,),
            signature(x, y),
            _requantize,
            "convert",
            costs=OTHER_S16,
        )
        for x, y in Rescale.PAIRS
    ),
    Kernel("cast", (Cast,), Signature(frozenset(TYPES), frozenset(TYPES)), _cast, header="convert", costs=OTHER),
    Kernel("bitcast", (BitCast,), Signature(frozenset(TYPES), frozenset(TYPES)), _bitcast, "bitcast", costs=OTHER),
)
