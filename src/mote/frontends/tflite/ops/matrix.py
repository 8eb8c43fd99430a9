"""FULLY_CONNECTED, BATCH_MATMUL, SOFTMAX and normalizations: operators over all elements along an axis."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import Node
from mote.ir.graph import Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.matrix.batch_matmul import AXES, BatchMatmul
from mote.ir.ops.matrix.blockwise import BlockwiseFullyConnected
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.matrix.fully_connected_dynamic import Projection
from mote.ir.ops.reductions.normalize import L2Normalization, LocalResponseNormalization, LogSoftmax
from mote.ir.ops.reductions.softmax import Softmax


def fully_connected(node: Node) -> Op:
    node.arity(2, 3)
    x, w = node.input(), node.input(1)
    if len(w.shape) != 2 or x.size % w.shape[1]:
        raise UnsupportedNodeError(f"weights {w.shape} do not fit an input of shape {x.shape}")
    if node.options.choice("weights_format") != "DEFAULT":
        raise UnsupportedNodeError("shuffled weights are not supported")
    if x.dtype == DType.INT16:
        node.check_bias(2, DType.INT32 if w.dtype == DType.INT16 else DType.INT64)
    keep_dims = node.options.flag("keep_num_dims")
    if keep_dims and x.shape[-1] != w.shape[1]:
        raise UnsupportedNodeError(f"weights {w.shape} do not fit the last axis of an input of shape {x.shape}")
    if (scales := node.block_scales(1)) is not None:
        bias = node.inputs[2] if node.has(2) else ABSENT
        fields = {**node.same(), "inputs": (x.id, w.id, bias, scales)}
        return BlockwiseFullyConnected(**fields, activation=node.activation(), keep_dims=keep_dims)
    kind = Projection if w.data is None or _uncommon(x, w) else FullyConnected
    return kind(**node.same(), activation=node.activation(), keep_dims=keep_dims)


def _uncommon(x: Tensor, w: Tensor) -> bool:
    """Whether constant weights need the general layer: int16 with int16 inputs, or int8 with a nonzero zero point."""
    if (x.dtype, w.dtype) == (DType.INT16, DType.INT16):
        return True
    return (
        (x.dtype, w.dtype) == (DType.INT8, DType.INT8)
        and w.zero_point != 0
        and w.quant is not None
        and not w.quant.per_channel
    )


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
    if node.input(1).dtype == DType.INT8 and (node.input().dtype == DType.FLOAT32 or _per_channel(node.input(1))):
        return _layer_of(node, *turned)
    return BatchMatmul(**node.same(), left_turned=turned[0], right_turned=turned[1])


def _per_channel(t: Tensor) -> bool:
    return t.quant is not None and t.quant.per_channel


def _layer_of(node: Node, left_turned: bool, right_turned: bool) -> Op:
    """A fully connected layer for float32 times a constant int8 matrix, or int8 or int16 times a per-channel quantized
    one, which is transposed."""
    x, w = node.input(), node.input(1)
    if w.data is None or left_turned or math.prod(w.shape[:-2]) != 1:
        scales = " with several scales" if x.dtype.integer else ""
        raise UnsupportedNodeError(
            f"{x.dtype} times int8{scales} is not supported but for one constant matrix on the right"
        )
    matrix = w.data.reshape(w.shape[-2:])
    matrix = matrix if right_turned else np.ascontiguousarray(matrix.T)
    quant = w.quant
    if quant is not None and quant.per_channel:
        if quant.axis != len(w.shape) - (2 if right_turned else 1):
            raise UnsupportedNodeError(f"scales on axis {quant.axis} are not those of the result's columns")
        quant = replace(quant, axis=0)
    if node.output().shape != (*x.shape[:-1], len(matrix)):
        raise UnsupportedNodeError(f"matrices {x.shape} and {w.shape} do not fit the output {node.output().shape}")
    weights = replace(w, id=max(node.tensors) + 1, shape=matrix.shape, data=matrix, quant=quant)
    node.tensors[weights.id] = weights
    return FullyConnected(**{**node.same(), "inputs": (x.id, weights.id)}, keep_dims=True, product=True)


def softmax(node: Node) -> Op:
    node.arity(1)
    if not node.input().shape:
        raise UnsupportedNodeError("a scalar has no axis to take the softmax over")
    return Softmax(**node.same(), beta=node.options.real("beta"))


def log_softmax(node: Node) -> Op:
    _vectors(node)
    return LogSoftmax(**node.same())


def l2_normalization(node: Node) -> Op:
    _vectors(node)
    if node.activation() != Activation.NONE:
        raise UnsupportedNodeError(f"fused activation {node.activation()} is not supported")
    return L2Normalization(**node.same())


def local_response_normalization(node: Node) -> Op:
    _vectors(node)
    if len(node.input().shape) != 4:
        raise UnsupportedNodeError(f"the input must have 4 axes, it has the shape {node.input().shape}")
    numbers = {name: node.options.real(name) for name in ("bias", "alpha", "beta")}
    radius = node.options.integer("radius")
    if radius < 0 or not all(map(math.isfinite, numbers.values())):
        raise UnsupportedNodeError(f"a radius of {radius} with {numbers} is not supported")
    return LocalResponseNormalization(**{**node.same(), **numbers}, radius=min(radius, node.input().channels))


def _vectors(node: Node) -> None:
    """Refuse scalars, which have no last axis."""
    node.arity(1)
    if not node.input().shape:
        raise UnsupportedNodeError("a scalar has no axis to normalize")
