"""SHAPE, RANK, FILL, ZEROS_LIKE, RANGE, BROADCAST_ARGS and WHERE: their results are constant, because shapes are."""

from __future__ import annotations

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.remedies import RUN_TIME_SIZES
from mote.frontends.tflite.node import Node
from mote.ir.graph import Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.moves.constant import ConstantOutput

MOST_RANGE = 1 << 20
"""Element limit of a range."""


def shape(node: Node) -> Op:
    node.arity(1)
    return _constant(node, node.input().shape, (len(node.input().shape),))


def rank(node: Node) -> Op:
    node.arity(1)
    return _constant(node, (len(node.input().shape),), ())


def fill(node: Node) -> Op:
    """FILL, whose output shape is in the file."""
    node.arity(2)
    value = node.constant(1, "the value to fill with")
    if value.size != 1:
        raise UnsupportedNodeError(f"a value of shape {value.shape} cannot fill a tensor")
    size = tuple(node.integers(0, "the shape to fill")) if node.is_open() else node.output().shape
    if min(size, default=1) < 1:
        raise UnsupportedNodeError(f"a shape of {size} cannot be filled")
    return _constant(node, (value.reshape(-1)[0].item(),), size)


def zeros_like(node: Node) -> Op:
    node.arity(1)
    dtype = node.input().dtype
    if dtype not in (DType.FLOAT32, DType.INT32, DType.INT64):
        raise UnsupportedNodeError(f"{dtype} is not supported (nor by LiteRT)")
    return _constant(node, (0,), node.input().shape)


def range_(node: Node) -> Op:
    """RANGE; floats are accumulated as in LiteRT."""
    node.arity(3)
    dtype = node.output().dtype
    if dtype not in (DType.FLOAT32, DType.INT32, DType.INT64) or any(node.input(p).dtype != dtype for p in range(3)):
        raise UnsupportedNodeError(f"a range of {dtype} is not supported (only float32, int32 and int64)")
    given = [node.constant(p, "a range's begin, end and step") for p in range(3)]
    if any(value.size != 1 for value in given):
        raise UnsupportedNodeError("a range's begin, end and step must be numbers")
    start, limit, delta = (value.reshape(-1)[0] for value in given)
    if delta == 0 or (limit < start if delta > 0 else limit > start):
        raise UnsupportedNodeError(f"a range from {start} to {limit} in steps of {delta} has no end")
    if dtype == DType.FLOAT32:
        count = float(np.ceil(np.abs((limit - start) / delta)))
    else:
        count = -(-abs(int(limit) - int(start)) // abs(int(delta)))
    if not 1 <= count <= MOST_RANGE:
        raise UnsupportedNodeError(f"a range of {count:.0f} elements is not supported (1 to {MOST_RANGE:,})")
    summed = np.cumsum(np.array([start, *[delta] * (int(count) - 1)], dtype.numpy), dtype=dtype.numpy)
    return _constant(node, tuple(summed.tolist()), (int(count),))


def broadcast_args(node: Node) -> Op:
    """The shape that tensors of two shapes are broadcast to."""
    node.arity(2)
    a, b = (tuple(node.integers(p, "a shape to broadcast")) for p in (0, 1))
    size = max(len(a), len(b))
    pairs = list(zip((1,) * (size - len(a)) + a, (1,) * (size - len(b)) + b, strict=True))
    if any(n != m and 1 not in (n, m) for n, m in pairs) or min((*a, *b), default=1) < 0:
        raise UnsupportedNodeError(f"tensors of the shapes {a} and {b} cannot be broadcast")
    return _constant(node, tuple(m if n == 1 else n for n, m in pairs), (size,))


def where(node: Node) -> Op:
    """The indices of nonzero elements, whose number must be constant."""
    node.arity(1)
    data = node.input().data
    if data is None:
        raise UnsupportedNodeError(
            "the number of its results is only known at run time, and with it all shapes that follow", RUN_TIME_SIZES
        )
    indices: Array = np.argwhere(data) if data.ndim else np.zeros((int(data != 0), 0), np.int64)
    if not indices.size:
        raise UnsupportedNodeError("no element is true, so that the output has no elements")
    return _constant(node, tuple(indices.reshape(-1).tolist()), indices.shape)


def _constant(node: Node, values: tuple[int | float, ...], shape: Shape) -> Op:
    return ConstantOutput(**{**node.same(), "inputs": ()}, values=values, shape=shape)
