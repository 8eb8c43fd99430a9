"""QuantizeLinear and DequantizeLinear decomposed into float operators, for what integer operators do not take:
per-channel or blockwise scales of activations, computed scales, sub-byte types."""

from __future__ import annotations

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.base.integers import repeat
from mote.frontends.build import Builder, Value, elementwise, moves, quantized
from mote.frontends.onnx.file.tensors import held_type
from mote.frontends.onnx.node import Node
from mote.frontends.onnx.ops.casts import FEW_BITS, FORMATS, narrowed
from mote.ir.graph.types import DType

UINT8 = 2
UNSIGNED = (21, 25)
"""Unsigned sub-byte integer types, by their numbers in TensorProto."""


def codes_type(node: Node) -> int:
    """The file's type of the codes that QuantizeLinear makes."""
    return node.element_type(2) if node.has(2) else node.integer("output_dtype", 0) or UINT8


def written_out(node: Node, number: int) -> bool:
    """Whether no integer operator takes codes of that type with the scales of a node."""
    scale = node.maybe_known(1)
    few = number in FEW_BITS or number in FORMATS
    return few or bool(node.integer("block_size", 0)) or scale is None or scale.size > 1


def quantize_in_steps(node: Node) -> Value:
    """x / scale, rounded to even, plus the zero point, saturated to the type."""
    number, saturates = codes_type(node), node.flag("saturate", True)
    node.integer("precision", 0)
    b, x = node.b, node.input()
    steps = elementwise.div(b, x, _spread(node, 1, x))
    if number in FORMATS:
        return narrowed(b, steps, number, saturates=saturates)
    dtype = held_type(number)
    if not dtype.integer:
        raise UnsupportedNodeError(f"codes of the type {number} are not supported")
    moved = elementwise.round_(b, steps)
    if node.has(2):
        moved = elementwise.add(b, moved, _spread(node, 2, x))
    return elementwise.cast(b, elementwise.clip(b, moved, *_limits(number, dtype)), dtype)


def dequantize_in_steps(node: Node) -> Value:
    node.integer("output_dtype", 0)
    b, x = node.b, quantized.uncoded(node.b, node.input())
    codes = elementwise.cast(b, x, DType.FLOAT32)
    if node.has(2):
        codes = elementwise.sub(b, codes, _spread(node, 2, x))
    return elementwise.mul(b, codes, _spread(node, 1, x))


def _limits(number: int, dtype: DType) -> tuple[int, int]:
    """The smallest and the largest code."""
    if number not in FEW_BITS:
        return dtype.limits
    bits = FEW_BITS[number]
    return (0, (1 << bits) - 1) if number in UNSIGNED else (-(1 << bits - 1), (1 << bits - 1) - 1)


def _spread(node: Node, position: int, x: Value) -> Value:
    """A scale or a zero point as float, broadcast to every element of a value."""
    b, given = node.b, node.input(position)
    real = elementwise.cast(b, given, DType.FLOAT32)
    if given.size == 1:
        return moves.reshape(b, real, ())
    axis, block = x.axis(node.integer("axis", 1)), node.integer("block_size", 0)
    if not block:
        return moves.reshape(b, real, [-1 if a == axis else 1 for a in range(x.rank)])
    return _blocks(b, real, axis, block, x.shape[axis])


def _blocks(b: Builder, x: Value, axis: int, block: int, size: int) -> Value:
    """Each element along an axis repeated for its block, cropped to the axis."""
    places = repeat(np.arange(x.shape[axis], dtype=np.int64), block)[:size]
    return moves.gather(b, x, axis, b.constant(places))
