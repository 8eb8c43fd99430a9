"""Layout of inputs and outputs in the model and in the generated code: where images of the model are channels-first
(NCHW), those of the code may be channels-last (NHWC). Python's arrays are always as in the model."""

from __future__ import annotations

from math import prod

import numpy as np

from mote.ir.graph.element_order import ElementOrder
from mote.ir.graph.tensor import Array, Shape, Tensor


def channels_moved(shape: Shape) -> ElementOrder:
    """The order of an input or output of the generated code with this shape, with the model's axis 1 last."""
    outer, *inner, channels = shape
    return ElementOrder((outer, channels, prod(inner)), (0, 2, 1)).canonical()


def model_shape(tensor: Tensor) -> Shape:
    """The shape of an input or output in the model."""
    shape = tensor.shape
    return shape if tensor.arrangement is None else (shape[0], shape[-1], *shape[1:-1])


def code_axis(tensor: Tensor, axis: int) -> int:
    """The axis of the code that an axis of the model is."""
    if tensor.arrangement is None or axis == 0:
        return axis
    return len(tensor.shape) - 1 if axis == 1 else axis - 1


def to_model(tensor: Tensor, value: Array) -> Array:
    """A value as the code has it, as the model has it."""
    return value if tensor.arrangement is None else np.moveaxis(value, -1, 1)


def to_code(tensor: Tensor, value: Array) -> Array | None:
    """A value as the model has it, of one inference or of several along an axis before or instead of the first one, as
    the code has it; None where it has neither that shape nor is flat, so that nobody knows where channels are."""
    shape = model_shape(tensor)
    if tensor.arrangement is None:
        return value
    if value.ndim == 1 and value.size == tensor.size:
        value = value.reshape(shape)
    before = value.ndim - len(shape)
    if before not in (0, 1) or value.shape[before + 1] != shape[1]:
        return None
    return np.moveaxis(value, before + 1, -1)
