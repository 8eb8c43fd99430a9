"""Operators that treat every element by itself."""

from __future__ import annotations

from collections.abc import Callable

from mote.frontends.tflite.node import Node, UnsupportedNodeError
from mote.graph import Op
from mote.graph.types import DType
from mote.ops.arithmetic import Add, Arithmetic, Mul, Sub
from mote.ops.quantize import Dequantize, Quantize
from mote.ops.unary import HardSwish, LeakyRelu, Logistic, PRelu, Relu, Relu6, ReluN1To1, Requantize, Tanh


def _unary(kind: type[Op]) -> Callable[[Node], Op]:
    """The parser of an operator with one input and no options."""

    def parse(node: Node) -> Op:
        node.arity(1)
        return kind(**node.same())

    return parse


def _arithmetic(kind: type[Arithmetic]) -> Callable[[Node], Op]:
    """The parser of an operator with two inputs and a fused activation."""

    def parse(node: Node) -> Op:
        _check_broadcast(node)
        return kind(**node.same(), activation=node.activation())

    return parse


def _check_broadcast(node: Node) -> None:
    """There are two inputs, and on every axis they have as many elements, or one of them has one."""
    node.arity(2)
    a, b = node.input(0).shape, node.input(1).shape
    if any(m != n and 1 not in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False)):
        raise UnsupportedNodeError(f"inputs of the shapes {a} and {b} do not fit each other")


add, sub, mul = _arithmetic(Add), _arithmetic(Sub), _arithmetic(Mul)
relu, relu6, relu_n1_to_1 = _unary(Relu), _unary(Relu6), _unary(ReluN1To1)
logistic, tanh, hard_swish = _unary(Logistic), _unary(Tanh), _unary(HardSwish)
dequantize = _unary(Dequantize)


def leaky_relu(node: Node) -> Op:
    node.arity(1)
    return LeakyRelu(**node.same(), alpha=node.options.real("alpha"))


def prelu(node: Node) -> Op:
    _check_broadcast(node)
    return PRelu(**node.same())


def quantize(node: Node) -> Op:
    node.arity(1)
    from_bytes = node.input().dtype in (DType.INT8, DType.UINT8)
    return Requantize(**node.same()) if from_bytes else Quantize(**node.same())
