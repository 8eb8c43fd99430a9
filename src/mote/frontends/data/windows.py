"""A recording as the inputs of a model: windows of its frames, or the new frames of each hop for a stateful model."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mote.base.errors import MoteError
from mote.ir.graph import Tensor
from mote.ir.graph.io_order import model_shape
from mote.ir.graph.tensor import Array


def windows(tensor: Tensor, frames: Array, where: str, axis: int | None = None) -> Array:
    """[windows, *shape] of frames in the order of time: each window a frame later than the one before; or, where the
    model takes only what is new along an `axis`, one after another."""
    shape = model_shape(tensor)
    size = frames[0].size
    fitting = [i for i, n in enumerate(shape) if n > 1 and n * size == tensor.size] or [0] * (size == tensor.size)
    along = axis if axis is not None else fitting[0] if fitting else None
    if along is None or shape[along] * size != tensor.size:
        raise MoteError(
            f"has frames of {size} values, of which the model's {'x'.join(map(str, shape))} cannot be made",
            where=where,
            remedy="say with --preprocess how frames are made, as they were when the model was trained",
        )
    length = shape[along]
    if len(frames) < length:
        raise MoteError(
            f"has {len(frames)} frames, and a window of the model takes {length}",
            where=where,
            remedy="give a longer recording",
        )
    rows = frames.reshape(len(frames), *shape[:along], *shape[along + 1 :])
    steps = sliding_window_view(rows, length, 0)[:: 1 if axis is None else length]
    return np.moveaxis(steps, -1, along + 1)
