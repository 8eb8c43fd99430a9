"""Element-wise operators on two or more tensors, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import Node
from mote.ir.graph import Op
from mote.ir.graph.tensor import Shape
from mote.ir.ops.elementwise.add_n import AddN
from mote.ir.ops.elementwise.arithmetic import Add, Arithmetic, Binary, Mul, Sub, power_shifts
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
from mote.ir.ops.elementwise.comparison import Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual
from mote.ir.ops.elementwise.division import Div, FloorDiv, FloorMod
from mote.ir.ops.elementwise.prelu import PRelu
from mote.ir.ops.elementwise.select import Select
from mote.ir.ops.elementwise.squared_difference import SquaredDifference


def _binary(kind: type[Binary]) -> Callable[[Node], Op]:
    """The parser of an operator with two inputs and no options."""

    def parse(node: Node) -> Op:
        _check_pair(node)
        return kind(**node.same())

    return parse


def _arithmetic(kind: type[Arithmetic]) -> Callable[[Node], Op]:
    """The parser of an operator with two inputs and a fused activation."""

    def parse(node: Node) -> Op:
        _check_pair(node)
        return kind(**node.same(), activation=node.activation())

    return parse


def _sum(kind: type[Add]) -> Callable[[Node], Op]:
    """The parser of ADD and SUB, whose option for int16 says whether power-of-two scales are a case of their own."""

    def parse(node: Node) -> Op:
        _check_pair(node)
        powers = node.options.flag("pot_scale_int16")
        shifts = power_shifts(node.input(0), node.input(1), node.output()) if powers else None
        return kind(**node.same(), activation=node.activation(), shifts=shifts)

    return parse


def _check_pair(node: Node) -> None:
    node.arity(2)
    _check_fit(node.input(0).shape, node.input(1).shape)


def _check_fit(*shapes: Shape) -> None:
    """Refuse inputs that do not broadcast."""
    for axis in range(1, max(map(len, shapes)) + 1):
        if len({shape[-axis] for shape in shapes if len(shape) >= axis} - {1}) > 1:
            raise UnsupportedNodeError(f"inputs of the shapes {' and '.join(map(str, shapes))} do not fit each other")


add, sub = _sum(Add), _sum(Sub)
mul, div = _arithmetic(Mul), _arithmetic(Div)
prelu, squared_difference = _binary(PRelu), _binary(SquaredDifference)
floor_div, floor_mod, pow_, atan2 = _binary(FloorDiv), _binary(FloorMod), _binary(Pow), _binary(Atan2)
maximum, minimum = _binary(Maximum), _binary(Minimum)
bitwise_xor, right_shift = _binary(BitwiseXor), _binary(RightShift)
logical_and, logical_or = _binary(LogicalAnd), _binary(LogicalOr)
equal, not_equal = _binary(Equal), _binary(NotEqual)
greater, greater_equal, less, less_equal = _binary(Greater), _binary(GreaterEqual), _binary(Less), _binary(LessEqual)


def select(node: Node) -> Op:
    """SELECT: the condition has the others' shape, one element, or one per index of their first axis."""
    node.arity(3)
    condition, x, y = (node.input(p).shape for p in range(3))
    if x != y:
        raise UnsupportedNodeError(f"inputs of the shapes {x} and {y}, which SELECT requires to be equal")
    if condition in ((), x):
        return Select(**node.same())
    if len(condition) != 1 or condition[0] != x[0]:
        raise UnsupportedNodeError(f"a condition of the shape {condition} does not fit inputs of the shape {x}")
    return Select(**node.same(), leading=True)


def select_v2(node: Node) -> Op:
    node.arity(3)
    _check_fit(*(node.input(p).shape for p in range(3)))
    return Select(**node.same())


def add_n(node: Node) -> Op:
    node.arity(2, max(2, len(node.inputs)))
    shapes = {node.input(p).shape for p in range(len(node.inputs))}
    if len(shapes) > 1:
        raise UnsupportedNodeError(f"inputs of the shapes {' and '.join(map(str, sorted(shapes)))} are not equal")
    return AddN(**node.same())
