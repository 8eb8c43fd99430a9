"""Element-wise unary operators."""

from __future__ import annotations

from collections.abc import Callable

from mote.frontends.tflite.node import Node
from mote.ir.graph import Op
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise import unary_math
from mote.ir.ops.elementwise.activations import (
    HardSwish,
    LeakyRelu,
    Logistic,
    Relu,
    Relu0To1,
    Relu6,
    ReluN1To1,
    RequantizeInt8,
    Tanh,
)
from mote.ir.ops.elementwise.cast import Cast
from mote.ir.ops.elementwise.quantize import Dequantize, Quantize, Rescale


def unary(kind: type[Op]) -> Callable[[Node], Op]:
    """The parser of an operator with one input and no options."""

    def parse(node: Node) -> Op:
        node.arity(1)
        return kind(**node.same())

    return parse


relu, relu6, relu_n1_to_1, relu_0_to_1 = unary(Relu), unary(Relu6), unary(ReluN1To1), unary(Relu0To1)
logistic, tanh, hard_swish, elu = unary(Logistic), unary(Tanh), unary(HardSwish), unary(unary_math.Elu)
exp, log, sqrt, rsqrt = (
    unary(unary_math.Exp),
    unary(unary_math.Log),
    unary(unary_math.Sqrt),
    unary(unary_math.Rsqrt),
)
ceil, floor, round_ = unary(unary_math.Ceil), unary(unary_math.Floor), unary(unary_math.Round)
sin, cos, square = unary(unary_math.Sin), unary(unary_math.Cos), unary(unary_math.Square)
abs_, neg, sign, logical_not = (
    unary(kind) for kind in (unary_math.Abs, unary_math.Neg, unary_math.Sign, unary_math.LogicalNot)
)
dequantize, cast = unary(Dequantize), unary(Cast)


def leaky_relu(node: Node) -> Op:
    node.arity(1)
    return LeakyRelu(**node.same(), alpha=node.options.real("alpha"))


def gelu(node: Node) -> Op:
    node.arity(1)
    return unary_math.Gelu(**node.same(), approximate=node.options.flag("approximate"))


def quantize(node: Node) -> Op:
    node.arity(1)
    given, wanted = node.input().dtype, node.output().dtype
    if given == DType.FLOAT32:
        return Quantize(**node.same())
    bytes_ = {given, wanted} <= {DType.INT8, DType.UINT8}
    return RequantizeInt8(**node.same()) if bytes_ else Rescale(**node.same())
