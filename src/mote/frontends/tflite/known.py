"""Operators that are resolved while a file is read: they only describe how a constant is stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import Node
from mote.ir.graph import Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.quantize import QUANTIZED, dequantized

AXES = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 0}
"""Layers that may have int8 weights (input 1) with float32 activations, and the axis of per-channel scales."""


def known_result(node: Node) -> Array | None:
    """The result of DENSIFY or DEQUANTIZE on a constant; None for other operators. DENSIFY and float16 are unsupported
    at run time."""
    first = node.tensors[node.inputs[0]] if node.inputs and node.inputs[0] >= 0 else None
    half = first is not None and first.dtype == DType.FLOAT16
    steps = first is not None and _steps(first)
    if node.code != "DENSIFY" and not (node.code == "DEQUANTIZE" and (half or steps)):
        return None
    node.arity(1)
    x, y = node.input(), node.output()
    if x.data is None and node.code == "DENSIFY":
        raise UnsupportedNodeError("only constants can be sparse")
    if x.data is None:
        remedy = "convert the model with float32 or int8 activations"
        raise UnsupportedNodeError(f"{x.dtype} that is computed at run time is not supported; {remedy}")
    if x.shape != y.shape or y.dtype != (x.dtype if node.code == "DENSIFY" else DType.FLOAT32):
        raise UnsupportedNodeError(f"{x.dtype} {x.shape} does not become {y.dtype} {y.shape}")
    if node.code == "DENSIFY":
        return x.data
    return x.data.astype(np.float32) if half else dequantized(x.data, x)


def _steps(x: Tensor) -> bool:
    """Whether a tensor is a quantized constant, per-tensor or, for 8-bit types, per-channel."""
    if x.data is None or x.dtype not in QUANTIZED or x.quant is None or np.any(x.quant.scale <= 0):
        return False
    if not x.quant.per_channel:
        return True
    return x.dtype != DType.INT16 and x.shape[x.quant.axis : x.quant.axis + 1] == x.quant.scale.shape


def with_small_weights(node: Node, bytes_of: dict[int, int]) -> Node:
    """The layer with the int8 weights that the file dequantizes: equal values in a quarter of the flash. `bytes_of`
    maps results of DEQUANTIZE to their constants."""
    if node.code not in AXES or len(node.inputs) < 2 or node.inputs[1] not in bytes_of:
        return node
    w = node.tensors[bytes_of[node.inputs[1]]]
    quant = w.quant
    if w.dtype != DType.INT8 or quant is None or quant.zero_point.any():
        return node
    if quant.per_channel and quant.axis != AXES[node.code]:
        return node
    small = replace(w, id=max(node.tensors) + 1, copy_of=node.inputs[1])
    node.tensors[small.id] = small
    return replace(node, inputs=(node.inputs[0], small.id, *node.inputs[2:]))
