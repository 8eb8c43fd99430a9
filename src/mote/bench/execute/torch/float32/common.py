"""Helpers of the PyTorch operators: the leading sample axis, fused activations, windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional

from mote.ir.graph import Graph
from mote.ir.graph.types import Activation
from mote.ir.ops.common import Axis

Value = torch.Tensor
"""A tensor's values for several samples, with a leading sample axis. Constants have one sample, which broadcasts."""
Operands = Sequence[Value | None]
Twin = Callable[[Graph, Any, Operands], Value | tuple[Value, ...]]
"""A differentiable PyTorch implementation of an operator."""


def given(values: Operands, position: int) -> Value:
    """A required operand."""
    value = values[position]
    assert value is not None
    return value


def optional(values: Operands, position: int) -> Value | None:
    """An optional operand."""
    return values[position] if position < len(values) else None


def activated(x: Value, activation: Activation) -> Value:
    """Applies a fused activation."""
    if activation is Activation.RELU:
        return functional.relu(x)
    return x if activation is Activation.NONE else torch.clamp(x, *activation.bounds)


def aligned(*values: Value) -> list[Value]:
    """Operands aligned for NumPy broadcasting, each with its leading sample axis."""
    rank = max(x.dim() for x in values)
    return [x.reshape(x.shape[0], *(1,) * (rank - x.dim()), *x.shape[1:]) for x in values]


def images(x: Value) -> Value:
    """[samples, n, height, width, channels] in PyTorch's layout: [samples * n, channels, height, width]. Volumes have
    one axis more."""
    return x.flatten(0, 1).movedim(-1, 1)


def like_images(x: Value, samples: int) -> Value:
    """Inverse of `images`: back to channels last."""
    back = x.movedim(1, -1)
    return back.reshape(samples, -1, *back.shape[1:])


def padded(x: Value, axes: Sequence[Axis], fill: float = 0.0) -> Value:
    """Images (or volumes) with the padding of windows; window axes are last."""
    around = [n for axis in reversed(axes) for n in (axis.before, axis.after)]
    return functional.pad(x, around, value=fill) if any(around) else x


def kernels(axes: Sequence[Axis]) -> tuple[int, ...]:
    return tuple(axis.kernel for axis in axes)


def strides(axes: Sequence[Axis]) -> tuple[int, ...]:
    return tuple(axis.stride for axis in axes)


def dilations(axes: Sequence[Axis]) -> tuple[int, ...]:
    return tuple(axis.dilation for axis in axes)
