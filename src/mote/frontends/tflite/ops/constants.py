"""SHAPE, FILL and ZEROS_LIKE: their results are known, because shapes are."""

from __future__ import annotations

from mote.frontends.tflite.node import Node, UnsupportedNodeError
from mote.graph import Op
from mote.graph.types import DType
from mote.ops.constant import Constant


def shape(node: Node) -> Op:
    node.arity(1)
    return _constant(node, node.input().shape)


def fill(node: Node) -> Op:
    """The output's shape is in the file, whatever the operator takes it from."""
    node.arity(2)
    value = node.constant(1, "the value to fill with")
    return _constant(node, (value.reshape(-1)[0].item(),))


def zeros_like(node: Node) -> Op:
    node.arity(1)
    dtype = node.input().dtype
    if dtype not in (DType.FLOAT32, DType.INT32, DType.INT64):
        raise UnsupportedNodeError(f"{dtype} is not supported (nor by LiteRT)")
    return _constant(node, (0,))


def _constant(node: Node, values: tuple[int | float, ...]) -> Op:
    return Constant(**{**node.same(), "inputs": ()}, values=values, shape=node.output().shape)
