"""Element-wise binary functions of unquantized integers: `mote_whole_pairs.h`, with the C expression as macro
argument."""

from __future__ import annotations

from mote.compiler.kernels.contract import OTHER, Kernel, Packed, Signature, View
from mote.compiler.kernels.pack.elements import CTYPES
from mote.compiler.kernels.pack.pairs import pair_kernel
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.binary_integer import IntegerFunction, Whole

EXPRESSIONS = {
    IntegerFunction.ADD: "a + b",
    IntegerFunction.SUBTRACT: "a - b",
    IntegerFunction.MULTIPLY: "a * b",
    IntegerFunction.AND: "a & b",
    IntegerFunction.OR: "a | b",
    IntegerFunction.XOR: "a ^ b",
    IntegerFunction.LEAST: "x < y ? x : y",
    IntegerFunction.MOST: "x > y ? x : y",
    IntegerFunction.EQUAL: "x == y",
    IntegerFunction.GREATER: "x > y",
    IntegerFunction.GREATER_EQUAL: "x >= y",
}
"""The C expression of each function that has the same one for signed and unsigned types."""
SIGNED = {
    IntegerFunction.DIVIDE: "y == 0 ? 0 : y == -1 ? (type)(0u - a) : (type)(x / y)",
    IntegerFunction.MODULO: "y == 0 || y == -1 ? 0 : (type)mote_modulo(x, y)",
    IntegerFunction.REMAINDER: "y == 0 || y == -1 ? 0 : (type)(x % y)",
    IntegerFunction.POWER: "y < 0 ? 0 : (type)mote_wrapping_power((uint64_t)a, (uint64_t)b)",
    IntegerFunction.SHIFT_LEFT: "y < 0 || y >= bits ? 0 : a << y",
    IntegerFunction.SHIFT_RIGHT: "x >> (y < 0 || y >= bits ? bits - 1 : y)",
}
UNSIGNED = {
    IntegerFunction.DIVIDE: "y == 0 ? 0 : (type)(x / y)",
    IntegerFunction.MODULO: "y == 0 ? 0 : (type)(x % y)",
    IntegerFunction.REMAINDER: "y == 0 ? 0 : (type)(x % y)",
    IntegerFunction.POWER: "mote_wrapping_power(a, b)",
    IntegerFunction.SHIFT_LEFT: "y >= bits ? 0 : a << y",
    IntegerFunction.SHIFT_RIGHT: "y >= bits ? 0 : x >> y",
}


def _whole(view: View) -> Packed:
    function, dtype = view.the(Whole).function, view.input.dtype
    low, _ = dtype.limits
    text = {**EXPRESSIONS, **(SIGNED if low < 0 else UNSIGNED)}[function]
    ctype, bits = CTYPES[dtype], 8 * dtype.itemsize
    result = text.replace("(type)", f"({ctype})").replace("bits", str(bits))
    word = "uint64_t" if bits == 64 else "uint32_t"
    return pair_kernel(view, f"whole_{function}", "MOTE_WHOLE_PAIRS", (ctype, word, CTYPES[view.output.dtype], result))


KERNELS = (
    Kernel(
        "whole",
        (Whole,),
        Signature(Whole.types, Whole.types | {DType.BOOL}),
        _whole,
        header="whole_pairs",
        costs=OTHER,
    ),
)
