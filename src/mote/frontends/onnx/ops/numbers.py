"""Less common element-wise and numeric operators: bitwise, Mod, trigonometric, CumSum, Det."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise, integers, reductions
from mote.frontends.build.orders import gathered
from mote.frontends.onnx.file.tensors import held_type
from mote.frontends.onnx.node import Key, Node, Parser
from mote.frontends.onnx.ops.elementwise import function
from mote.ir.graph.element_order import Atom
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.binary_integer import IntegerFunction
from mote.ir.ops.reductions.cumprod_det import CumProd, Determinant

LARGEST = float(np.finfo(np.float32).max)


def _bits(function: IntegerFunction) -> Parser:
    def parse(node: Node) -> Value:
        return integers.whole(node.b, function, node.input(0), node.input(1))

    return parse


def bit_shift(node: Node) -> Value:
    direction = node.text("direction")
    functions = {"LEFT": IntegerFunction.SHIFT_LEFT, "RIGHT": IntegerFunction.SHIFT_RIGHT}
    if direction not in functions:
        raise UnsupportedNodeError(f"the direction {direction} is not supported")
    return integers.whole(node.b, functions[direction], node.input(0), node.input(1))


def mod(node: Node) -> Value:
    """Remainder with the sign of the divisor, or of the dividend (fmod)."""
    b, x, y, as_c = node.b, node.input(0), node.input(1), node.flag("fmod", False)
    if x.dtype.integer:
        return integers.whole(b, IntegerFunction.REMAINDER if as_c else IntegerFunction.MODULO, x, y)
    if not as_c:
        return elementwise.floor_mod(b, x, y)
    size = elementwise.floor_mod(b, elementwise.abs_(b, x), elementwise.abs_(b, y))
    return elementwise.where(b, elementwise.less(b, x, elementwise.scalar(b, 0)), elementwise.neg(b, size), size)


def is_nan(node: Node) -> Value:
    """NaN is not equal to itself."""
    return elementwise.not_equal(node.b, node.input(), node.input())


def is_inf(node: Node) -> Value:
    """Whether |x| exceeds the largest finite number, for either sign or one."""
    b, x = node.b, node.input()
    positive, negative = node.flag("detect_positive", True), node.flag("detect_negative", True)
    if positive and negative:
        return elementwise.greater(b, elementwise.abs_(b, x), elementwise.scalar(b, LARGEST))
    if positive:
        return elementwise.greater(b, x, elementwise.scalar(b, LARGEST))
    if negative:
        return elementwise.less(b, x, elementwise.scalar(b, -LARGEST))
    return elementwise.full(b, x.shape, 0, DType.BOOL)


def cumulative_sum(node: Node) -> Value:
    exclusive, reverse = node.flag("exclusive", False), node.flag("reverse", False)
    (axis,) = node.known_integers(1, "the axis")
    x = node.input()
    wide = elementwise.cast(node.b, x, _wide(x.dtype))
    sums = reductions.cumulative_sum(node.b, wide, axis, exclusive=exclusive, reverse=reverse)
    return elementwise.cast(node.b, sums, x.dtype)


def cumulative_product(node: Node) -> Value:
    exclusive, reverse = node.flag("exclusive", False), node.flag("reverse", False)
    (axis,) = node.known_integers(1, "the axis")
    b, x = node.b, node.input()
    wide = elementwise.cast(b, x, _wide(x.dtype))
    axis = wide.axis(axis)
    atoms = gathered([Atom(a, 0, n) for a, n in enumerate(x.shape)] if wide.constant else wide.atoms, axis)
    source = b.ordered(wide, atoms, tuple(atom.size for atom in atoms))
    where = next(i for i, atom in enumerate(atoms) if atom.axis == axis)
    made = b.op(CumProd, [source], b.tensors[source].shape, axis=where, exclusive=exclusive, reverse=reverse)
    return elementwise.cast(b, b.value(made, x.shape, atoms), x.dtype)


def _wide(dtype: DType) -> DType:
    """The type in which narrower integers are summed and multiplied: its low bits are the same."""
    if not dtype.integer:
        return dtype
    return DType.INT64 if dtype.itemsize == 8 else DType.INT32


def determinant(node: Node) -> Value:
    b, x = node.b, node.input()
    return b.value(b.op(Determinant, [b.plain(x)], x.shape[:-2]), x.shape[:-2])


def eye_like(node: Node) -> Value:
    """Ones on a diagonal of a matrix with the input's shape."""
    x = node.input()
    if x.rank != 2:
        raise UnsupportedNodeError(f"a value of the shape {x.shape} is not a matrix")
    number = node.integer("dtype", node.element_type())
    rows, columns = x.shape
    return node.b.constant(np.eye(rows, columns, node.integer("k", 0)).astype(held_type(number).numpy))


def trilu(node: Node) -> Value:
    """The upper or lower triangle of matrices; zeros elsewhere."""
    b, x = node.b, node.input()
    place = node.known_integers(1, "the diagonal")[0] if node.has(1) else 0
    ones = np.ones(x.shape[-2:], bool)
    kept = np.triu(ones, place) if node.flag("upper", True) else np.tril(ones, place)
    return elementwise.where(b, b.constant(kept), x, elementwise.scalar(b, 0, x.dtype))


_FUNCTIONS: Mapping[str, Callable[[Builder, Value], Value]] = {
    "Acos": elementwise.acos,
    "Acosh": elementwise.acosh,
    "Asin": elementwise.asin,
    "Asinh": elementwise.asinh,
    "Atan": elementwise.atan,
    "Atanh": elementwise.atanh,
    "BitwiseNot": integers.complement,
    "Cosh": elementwise.cosh,
    "Sinh": elementwise.sinh,
    "Tan": elementwise.tan,
}

PARSERS: Mapping[Key, Parser] = {
    **{("", name): function(apply) for name, apply in _FUNCTIONS.items()},
    ("", "BitShift"): bit_shift,
    ("", "BitwiseAnd"): _bits(IntegerFunction.AND),
    ("", "BitwiseOr"): _bits(IntegerFunction.OR),
    ("", "BitwiseXor"): _bits(IntegerFunction.XOR),
    ("", "CumProd"): cumulative_product,
    ("", "CumSum"): cumulative_sum,
    ("", "Det"): determinant,
    ("", "EyeLike"): eye_like,
    ("", "IsInf"): is_inf,
    ("", "IsNaN"): is_nan,
    ("", "Mod"): mod,
    ("", "Trilu"): trilu,
}
