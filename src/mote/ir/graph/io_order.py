"""Layout of inputs and outputs in the model and in the generated code: images that are channels-first (NCHW) in the
model may be channels-last (NHWC) in the code. Python's arrays always have the model's layout."""

from __future__ import annotations

from math import prod

import numpy as np

from mote.ir.graph.element_order import ElementOrder
from mote.ir.graph.tensor import Array, Shape, Tensor


def channels_moved(shape: Shape) -> ElementOrder:
    """Layout of an input or output of the generated code with this shape, whose last axis is axis 1 in the model."""
    outer, *inner, channels = shape
    return ElementOrder((outer, channels, prod(inner)), (0, 2, 1)).canonical()


def model_shape(tensor: Tensor) -> Shape:
    """The shape of an input or output in the model."""
    shape = tensor.shape
    return shape if tensor.arrangement is None else (shape[0], shape[-1], *shape[1:-1])


def code_axis(tensor: Tensor, axis: int) -> int:
    """Convert an axis of the model to an axis of the generated code."""
    if tensor.arrangement is None or axis == 0:
        return axis
    return len(tensor.shape) - 1 if axis == 1 else axis - 1


def to_model(tensor: Tensor, value: Array) -> Array:
    """Convert a value from the layout of the generated code to that of the model."""
    return value if tensor.arrangement is None else np.moveaxis(value, -1, 1)


def to_code(tensor: Tensor, value: Array) -> Array | None:
    """Convert a value from the model's layout to that of the generated code, for one inference, or several along a
    batch axis (in place of the first axis or before it); None if its shape is neither that nor flat, so that the
    channel axis is unknown."""
    shape = model_shape(tensor)
    if tensor.arrangement is None:
        return value
    if value.ndim == 1 and value.size == tensor.size:
        value = value.reshape(shape)
    before = value.ndim - len(shape)
    if before not in (0, 1) or value.shape[before + 1] != shape[1]:
        return None
    return np.moveaxis(value, before + 1, -1)
