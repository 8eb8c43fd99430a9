"""RESHAPE, PAD, CONCATENATION, PACK, TRANSPOSE and similar operators, which only move elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import MANY, Node
from mote.ir.graph import Op, Tensor
from mote.ir.graph.tensor import Shape
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.elementwise.activations import ConcatRescale
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Pack, Pad, Transpose, same_steps
from mote.ir.ops.moves.reshape import Reshape


def reshape(node: Node) -> Op:
    """The new shape is the output tensor's where the file states it, else that of the option or the second input."""
    node.arity(1, 2)
    x, y = node.input(), node.output()
    return reshaped(node) if x.size == y.size or not node.is_open() else reshaped(node, shape=_new_shape(node))


def _new_shape(node: Node) -> Shape:
    """The shape operand of RESHAPE, with -1 inferred."""
    size = node.input().size
    given = node.integers(1, "the new shape") if node.has(1) else node.options.integers("new_shape")
    known = prod(n for n in given if n != -1)
    if given.count(-1) > 1 or min(given, default=1) < -1 or known == 0 or size % known:
        raise UnsupportedNodeError(f"an input of shape {node.input().shape} cannot be reshaped to {given}")
    return tuple(size // known if n == -1 else n for n in given)


def squeeze(node: Node) -> Op:
    node.arity(1)
    shape, given = node.input().shape, node.options.integers("squeeze_dims")
    rank = len(shape)
    if any(not -rank <= axis < rank or shape[axis] != 1 for axis in given):
        raise UnsupportedNodeError(f"axes {given} cannot be removed from an input of shape {shape}")
    gone = {axis % rank for axis in given} or {axis for axis, n in enumerate(shape) if n == 1}
    return reshaped(node, shape=tuple(n for axis, n in enumerate(shape) if axis not in gone))


def expand_dims(node: Node) -> Op:
    """EXPAND_DIMS; an axis that is computed at run time follows from the output shape."""
    node.arity(1, 2)
    if not node.is_open() and not (node.has(1) and node.input(1).data is not None):
        return reshaped(node)
    shape, given = node.input().shape, node.integers(1, "the new axis")
    if len(given) != 1 or not -len(shape) - 1 <= given[0] <= len(shape):
        raise UnsupportedNodeError(f"an input of shape {shape} cannot be expanded at axis {given}")
    axis = given[0] % (len(shape) + 1)
    return reshaped(node, shape=(*shape[:axis], 1, *shape[axis:]))


def reshaped(node: Node, position: int = 0, shape: Shape | None = None) -> Op:
    """A reshape of an input, also for other operators that move nothing. The default shape is the output's, or the
    input's where that is dynamic."""
    x, y = node.input(position), node.output()
    if shape is None:
        shape = x.shape if node.is_open() and x.size != y.size else y.shape
    if x.size != prod(shape):
        raise UnsupportedNodeError(f"an input of shape {x.shape} does not fill the output's shape {shape}")
    return Reshape(**{**node.same(), "inputs": (x.id,)}, shape=shape)


def pad(node: Node) -> Op:
    node.arity(2, 3)
    x, y = node.input(), node.output()
    table = node.constant(1, "the paddings")
    if table.shape != (len(x.shape), 2) or np.any(table < 0):
        raise UnsupportedNodeError(f"paddings {table.tolist()} do not fit an input of shape {x.shape}")
    paddings = tuple((int(before), int(after)) for before, after in table)
    value: int | float = 0.0 if y.dtype == DType.FLOAT32 else y.zero_point
    if node.has(2):
        given = node.input(2)
        value = node.constant(2, "the value to pad with").reshape(-1)[0].item()
        if given.dtype != y.dtype or (y.dtype in (DType.INT8, DType.UINT8) and not same_steps(given, y)):
            raise UnsupportedNodeError("the value to pad with must have the output's type and quantization")
    if not np.any(table):
        return reshaped(node)
    return Pad(**{**node.same(), "inputs": node.inputs[:1]}, paddings=paddings, value=value)


def concatenation(node: Node) -> Op | list[Op]:
    """CONCATENATION without its empty inputs."""
    node.arity(1, MANY)
    parts = [p for p in range(len(node.inputs)) if node.input(p).size]
    shapes = [node.input(p).shape for p in parts or [0]]
    rank = len(shapes[0])
    axis = node.options.integer("axis")
    if not -rank <= axis < rank or (rank != len(node.output().shape) and not node.is_open()):
        raise UnsupportedNodeError(f"axis {axis} does not fit inputs of {rank} axes or the output")
    axis %= rank
    if any(s[:axis] + s[axis + 1 :] != shapes[0][:axis] + shapes[0][axis + 1 :] for s in shapes):
        raise UnsupportedNodeError(f"inputs of the shapes {shapes} cannot be joined along axis {axis}")
    if (activation := node.activation()) != Activation.NONE:
        raise UnsupportedNodeError(f"fused activation {activation} is not supported (nor by LiteRT)")
    if len(parts) < 2:
        return reshaped(node, parts[0] if parts else 0)
    inputs, rescaled = _on_one_scale(node, [node.input(p) for p in parts])
    return [*rescaled, Concatenation(**{**node.same(), "inputs": inputs}, axis=axis)]


def _on_one_scale(node: Node, parts: Sequence[Tensor]) -> tuple[tuple[int, ...], list[Op]]:
    """The inputs, those of a uint8 file requantized to the output's scale as in LiteRT's uint8 kernel (the int8 kernel
    requires equal scales), and the operators that do so."""
    y = node.output()
    if y.quant is None or not y.quant.unsigned:
        return tuple(x.id for x in parts), []
    inputs: list[int] = []
    ops: list[Op] = []
    for x in parts:
        if same_steps(x, y):
            inputs.append(x.id)
            continue
        inner = replace(y, id=max(node.tensors) + 1, name=f"{x.name} (rescaled)", shape=x.shape, inner=True)
        node.tensors[inner.id] = inner
        ops.append(ConcatRescale(inputs=(x.id,), outputs=(inner.id,), name=inner.name, index=node.index))
        inputs.append(inner.id)
    return tuple(inputs), ops


def pack(node: Node) -> Op:
    node.arity(1, MANY)
    shapes = [node.input(p).shape for p in range(len(node.inputs))]
    rank = len(shapes[0]) + 1
    axis = node.options.integer("axis")
    fits = rank == len(node.output().shape) or node.is_open()
    if not -rank <= axis < rank or not fits or any(s != shapes[0] for s in shapes):
        raise UnsupportedNodeError(f"inputs of the shapes {shapes} cannot be packed along axis {axis}")
    packed = (*shapes[0][: axis % rank], 1, *shapes[0][axis % rank :])
    return reshaped(node, shape=packed) if len(shapes) == 1 else Pack(**node.same(), axis=axis % rank)


def transpose(node: Node) -> Op:
    node.arity(2)
    shape = node.input().shape
    given = node.integers(1, "the permutation")
    permutation = [p + len(shape) if p < 0 else p for p in given]
    if sorted(permutation) != list(range(len(shape))):
        raise UnsupportedNodeError(f"{given} is not a permutation of {len(shape)} axes")
    moved = [p for p in permutation if shape[p] > 1]
    if moved == sorted(moved):
        return reshaped(node)
    return Transpose(**{**node.same(), "inputs": node.inputs[:1]}, permutation=tuple(permutation))
