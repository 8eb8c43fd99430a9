"""Operators that treat every element of a tensor by itself."""

from __future__ import annotations

from collections.abc import Callable

from mote.frontends.tflite.node import Node
from mote.graph import Op
from mote.graph.types import DType
from mote.ops import functions
from mote.ops.cast import Cast
from mote.ops.quantize import Dequantize, Quantize, Rescale
from mote.ops.unary import HardSwish, LeakyRelu, Logistic, Relu, Relu0To1, Relu6, ReluN1To1, Requantize, Tanh


def _unary(kind: type[Op]) -> Callable[[Node], Op]:
    """The parser of an operator with one input and no options."""

    def parse(node: Node) -> Op:
        node.arity(1)
        return kind(**node.same())

    return parse


relu, relu6, relu_n1_to_1, relu_0_to_1 = _unary(Relu), _unary(Relu6), _unary(ReluN1To1), _unary(Relu0To1)
logistic, tanh, hard_swish, elu = _unary(Logistic), _unary(Tanh), _unary(HardSwish), _unary(functions.Elu)
exp, log, sqrt, rsqrt = _unary(functions.Exp), _unary(functions.Log), _unary(functions.Sqrt), _unary(functions.Rsqrt)
ceil, floor, round_ = _unary(functions.Ceil), _unary(functions.Floor), _unary(functions.Round)
sin, cos, square = _unary(functions.Sin), _unary(functions.Cos), _unary(functions.Square)
abs_, neg, sign, logical_not = (
    _unary(kind) for kind in (functions.Abs, functions.Neg, functions.Sign, functions.LogicalNot)
)
dequantize, cast = _unary(Dequantize), _unary(Cast)


def leaky_relu(node: Node) -> Op:
    node.arity(1)
    return LeakyRelu(**node.same(), alpha=node.options.real("alpha"))


def gelu(node: Node) -> Op:
    node.arity(1)
    return functions.Gelu(**node.same(), approximate=node.options.flag("approximate"))


def quantize(node: Node) -> Op:
    node.arity(1)
    given, wanted = node.input().dtype, node.output().dtype
    if given == DType.FLOAT32:
        return Quantize(**node.same())
    bytes_ = {given, wanted} <= {DType.INT8, DType.UINT8}
    return Requantize(**node.same()) if bytes_ else Rescale(**node.same())
