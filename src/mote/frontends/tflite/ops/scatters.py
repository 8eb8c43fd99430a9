"""SCATTER_ND, SPARSE_TO_DENSE, ONE_HOT, DYNAMIC_UPDATE_SLICE, diagonals and REVERSE_SEQUENCE: scatters."""

from __future__ import annotations

from math import prod

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import Node
from mote.ir.graph import Op
from mote.ir.ops.indexing.scatter import (
    DynamicUpdateSlice,
    MatrixDiag,
    MatrixSetDiag,
    OneHot,
    ReverseSequence,
    ScatterNd,
    SparseToDense,
)


def scatter_nd(node: Node) -> Op:
    node.arity(3)
    indices, updates = node.input(0).shape, node.input(1).shape
    shape = tuple(node.integers(2, "the output's shape"))
    depth = indices[-1] if indices else 0
    fits = 1 <= depth <= len(shape) and min(shape) >= 1 and updates == (*indices[:-1], *shape[depth:])
    if not fits:
        raise UnsupportedNodeError(
            f"updates of {updates} at indices of {indices} do not fit an output of shape {shape}"
        )
    return ScatterNd(**{**node.same(), "inputs": (node.inputs[1], node.inputs[0])}, shape=shape)


def sparse_to_dense(node: Node) -> Op:
    node.arity(4)
    indices, values = node.input(0).shape, node.input(2).shape
    shape = tuple(node.integers(1, "the output's shape"))
    depth = indices[1] if len(indices) == 2 else 1
    count = prod(indices) // depth
    fits = len(indices) <= 2 and depth == len(shape) and values in ((), (count,)) and node.input(3).size == 1
    if not fits or min(shape) < 1:
        raise UnsupportedNodeError(f"values of {values} at indices of {indices} do not fit an output of shape {shape}")
    return SparseToDense(**{**node.same(), "inputs": tuple(node.inputs[p] for p in (2, 0, 3))}, shape=shape)


def one_hot(node: Node) -> Op:
    node.arity(4)
    rank = len(node.input().shape)
    depth, axis = node.integers(1, "the size of the new axis"), node.options.integer("axis")
    if len(depth) != 1 or depth[0] < 1 or not -1 <= axis <= rank or any(node.input(p).size != 1 for p in (2, 3)):
        raise UnsupportedNodeError(
            f"a depth of {depth} on axis {axis} does not fit an input of shape {node.input().shape}"
        )
    inputs = (node.inputs[0], *node.inputs[2:])
    return OneHot(**{**node.same(), "inputs": inputs}, axis=rank if axis == -1 else axis, depth=depth[0])


def dynamic_update_slice(node: Node) -> Op:
    node.arity(3)
    x, update, begin = (node.input(p).shape for p in range(3))
    if len(update) != len(x) or begin != (len(x),) or any(m > n for n, m in zip(x, update, strict=True)):
        raise UnsupportedNodeError(f"{update} elements from {begin} indices on do not fit an input of shape {x}")
    return DynamicUpdateSlice(**node.same())


def matrix_diag(node: Node) -> Op:
    node.arity(1)
    if not node.input().shape:
        raise UnsupportedNodeError("a scalar is not a diagonal")
    return MatrixDiag(**node.same())


def matrix_set_diag(node: Node) -> Op:
    node.arity(2)
    x, diagonal = node.input().shape, node.input(1).shape
    if len(x) < 2 or diagonal != (*x[:-2], min(x[-2:])):
        raise UnsupportedNodeError(f"elements of shape {diagonal} are not diagonals of an input of shape {x}")
    return MatrixSetDiag(**node.same())


def reverse_sequence(node: Node) -> Op:
    node.arity(2)
    x, lengths = node.input().shape, node.input(1).shape
    axis, batch = node.options.integer("seq_dim"), node.options.integer("batch_dim")
    if not (0 <= axis < len(x) and 0 <= batch < len(x) and axis != batch and lengths == (x[batch],)):
        raise UnsupportedNodeError(f"axes {axis} and {batch} of lengths {lengths} do not fit an input of shape {x}")
    return ReverseSequence(**node.same(), axis=axis, batch_axis=batch)
