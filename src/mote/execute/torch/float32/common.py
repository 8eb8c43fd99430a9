"""What the twins share: values with an axis for the samples in front, fused activations, windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional

from mote.graph import Graph
from mote.graph.types import Activation
from mote.ops.common import Axis

Value = torch.Tensor
"""What a tensor of the graph holds for several samples: one axis more than the tensor has, in front. Constants have one
sample, which stands for all."""
Operands = Sequence[Value | None]
Twin = Callable[[Graph, Any, Operands], Value | tuple[Value, ...]]
"""An operator of PyTorch that computes what one of Mote's does, of real numbers, and can be differentiated."""


def given(values: Operands, position: int) -> Value:
    """An operand that is there."""
    found = values[position]
    assert found is not None
    return found


def optional(values: Operands, position: int) -> Value | None:
    """An operand that may be absent."""
    return values[position] if position < len(values) else None


def activated(x: Value, activation: Activation) -> Value:
    """Results of a layer as it stores them."""
    if activation is Activation.RELU:
        return functional.relu(x)
    return x if activation is Activation.NONE else torch.clamp(x, *activation.bounds)


def aligned(*values: Value) -> list[Value]:
    """Operands whose axes meet from the last one on, as NumPy has it, each still with the samples in front."""
    rank = max(x.dim() for x in values)
    return [x.reshape(x.shape[0], *(1,) * (rank - x.dim()), *x.shape[1:]) for x in values]


def images(x: Value) -> Value:
    """[samples, n, height, width, channels] as PyTorch has pictures: [samples * n, channels, height, width].
    Volumes have one axis more."""
    return x.flatten(0, 1).movedim(-1, 1)


def like_images(found: Value, samples: int) -> Value:
    """The way back."""
    back = found.movedim(1, -1)
    return back.reshape(samples, -1, *back.shape[1:])


def padded(x: Value, axes: Sequence[Axis], fill: float = 0.0) -> Value:
    """Pictures (or volumes) with what windows see around them; the axes of the windows are the last ones."""
    around = [n for axis in reversed(axes) for n in (axis.before, axis.after)]
    return functional.pad(x, around, value=fill) if any(around) else x


def kernels(axes: Sequence[Axis]) -> tuple[int, ...]:
    return tuple(axis.kernel for axis in axes)


def strides(axes: Sequence[Axis]) -> tuple[int, ...]:
    return tuple(axis.stride for axis in axes)


def dilations(axes: Sequence[Axis]) -> tuple[int, ...]:
    return tuple(axis.dilation for axis in axes)
