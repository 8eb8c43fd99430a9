"""FULLY_CONNECTED, BATCH_MATMUL and SOFTMAX: what is computed of all the elements along an axis."""

from __future__ import annotations

from mote.frontends.tflite.node import Node, UnsupportedNodeError
from mote.graph import Op
from mote.graph.types import DType
from mote.ops.batch_matmul import AXES, BatchMatmul
from mote.ops.fully_connected import FullyConnected
from mote.ops.softmax import Softmax


def fully_connected(node: Node) -> Op:
    node.arity(2, 3)
    x, w = node.input(), node.input(1)
    if len(w.shape) != 2 or x.size % w.shape[1]:
        raise UnsupportedNodeError(f"weights {w.shape} do not fit an input of shape {x.shape}")
    if node.options.choice("weights_format") != "DEFAULT":
        raise UnsupportedNodeError("shuffled weights are not supported")
    if x.dtype == DType.INT16:
        node.check_bias(2)
    keep_dims = node.options.flag("keep_num_dims")
    return FullyConnected(**node.same(), activation=node.activation(), keep_dims=keep_dims)


def batch_matmul(node: Node) -> Op:
    node.arity(2)
    left, right = node.input().shape, node.input(1).shape
    if not all(AXES[0] <= len(shape) <= AXES[1] for shape in (left, right)):
        raise UnsupportedNodeError(f"matrices {left} and {right} must have {AXES[0]} to {AXES[1]} axes")
    turned = node.options.flag("adj_x"), node.options.flag("adj_y")
    depths = left[-2 if turned[0] else -1], right[-1 if turned[1] else -2]
    batches = zip(reversed(left[:-2]), reversed(right[:-2]), strict=False)
    if depths[0] != depths[1] or any(m != n and 1 not in (m, n) for m, n in batches):
        raise UnsupportedNodeError(f"matrices {left} and {right} do not fit each other")
    return BatchMatmul(**node.same(), left_turned=turned[0], right_turned=turned[1])


def softmax(node: Node) -> Op:
    node.arity(1)
    if not node.input().shape:
        raise UnsupportedNodeError("a scalar has no axis to take the softmax over")
    return Softmax(**node.same(), beta=node.options.real("beta"))
