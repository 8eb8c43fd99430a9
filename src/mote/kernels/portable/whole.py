"""Functions of two tensors of integers that stand for themselves: `mote_whole_pairs.h`, with expressions built in."""

from __future__ import annotations

from mote.graph.types import DType
from mote.kernels.contract import OTHER, Kernel, Packed, Signature, View
from mote.kernels.pack.elements import CTYPES
from mote.kernels.pack.pairs import pair_kernel
from mote.ops.elementwise.binary_integer import Function, Whole

EXPRESSIONS = {
    Function.ADD: "a + b",
    Function.SUBTRACT: "a - b",
    Function.MULTIPLY: "a * b",
    Function.AND: "a & b",
    Function.OR: "a | b",
    Function.XOR: "a ^ b",
    Function.LEAST: "x < y ? x : y",
    Function.MOST: "x > y ? x : y",
    Function.EQUAL: "x == y",
    Function.GREATER: "x > y",
    Function.GREATER_EQUAL: "x >= y",
}
"""What is written alike for all types."""
SIGNED = {
    Function.DIVIDE: "y == 0 ? 0 : y == -1 ? (type)(0u - a) : (type)(x / y)",
    Function.MODULO: "y == 0 || y == -1 ? 0 : (type)mote_modulo(x, y)",
    Function.REMAINDER: "y == 0 || y == -1 ? 0 : (type)(x % y)",
    Function.POWER: "y < 0 ? 0 : (type)mote_wrapping_power((uint64_t)a, (uint64_t)b)",
    Function.SHIFT_LEFT: "y < 0 || y >= bits ? 0 : a << y",
    Function.SHIFT_RIGHT: "x >> (y < 0 || y >= bits ? bits - 1 : y)",
}
UNSIGNED = {
    Function.DIVIDE: "y == 0 ? 0 : (type)(x / y)",
    Function.MODULO: "y == 0 ? 0 : (type)(x % y)",
    Function.REMAINDER: "y == 0 ? 0 : (type)(x % y)",
    Function.POWER: "mote_wrapping_power(a, b)",
    Function.SHIFT_LEFT: "y >= bits ? 0 : a << y",
    Function.SHIFT_RIGHT: "y >= bits ? 0 : x >> y",
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
