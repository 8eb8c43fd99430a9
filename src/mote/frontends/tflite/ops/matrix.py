"""FULLY_CONNECTED, MEAN and SOFTMAX: what is computed of all the elements along some axes."""

from __future__ import annotations

from mote.frontends.tflite.node import Node, UnsupportedNodeError
from mote.graph import Op
from mote.ops.fully_connected import FullyConnected
from mote.ops.mean import Mean
from mote.ops.softmax import Softmax


def fully_connected(node: Node) -> Op:
    node.arity(2, 3)
    x, w = node.input(), node.input(1)
    if len(w.shape) != 2 or x.size % w.shape[1]:
        raise UnsupportedNodeError(f"weights {w.shape} do not fit an input of shape {x.shape}")
    if node.options.choice("weights_format") != "DEFAULT":
        raise UnsupportedNodeError("shuffled weights are not supported")
    keep_dims = node.options.flag("keep_num_dims")
    return FullyConnected(**node.same(), activation=node.activation(), keep_dims=keep_dims)


def mean(node: Node) -> Op:
    node.arity(2)
    rank = len(node.input().shape)
    axes = node.integers(1, "the axes of a mean")
    if any(not -rank <= a < rank for a in axes):
        raise UnsupportedNodeError(f"axes {axes} do not fit an input of {rank} axes")
    return Mean(
        **{**node.same(), "inputs": node.inputs[:1]},
        axes=tuple(sorted({a % rank for a in axes})),
        keep_dims=node.options.flag("keep_dims"),
    )


def softmax(node: Node) -> Op:
    node.arity(1)
    if not node.input().shape:
        raise UnsupportedNodeError("a scalar has no axis to take the softmax over")
    return Softmax(**node.same(), beta=node.options.real("beta"))
