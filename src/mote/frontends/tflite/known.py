"""Operators of which nothing is left once a file is read: they only say how a constant is stored."""

from __future__ import annotations

from mote.frontends.tflite.node import Node, UnsupportedNodeError
from mote.graph.tensor import Array
from mote.graph.types import DType


def known_result(node: Node) -> Array | None:
    """What DENSIFY makes of a constant, and DEQUANTIZE of one of float16; None: it is an operator like others."""
    half = node.code == "DEQUANTIZE" and any(node.tensors[i].dtype == DType.FLOAT16 for i in node.inputs if i >= 0)
    if node.code != "DENSIFY" and not half:
        return None
    node.arity(1)
    x, y = node.input(), node.output()
    if x.data is None:
        remedy = "convert the model with float32 or int8 activations"
        raise UnsupportedNodeError(f"{x.dtype} that is computed at run time is not supported; {remedy}")
    if x.shape != y.shape or y.dtype != (DType.FLOAT32 if half else x.dtype):
        raise UnsupportedNodeError(f"{x.dtype} {x.shape} does not become {y.dtype} {y.shape}")
    return x.data.astype(y.dtype.numpy) if half else x.data
