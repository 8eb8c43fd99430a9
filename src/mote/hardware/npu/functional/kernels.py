"""Order in which the hardware reads the weights of a kernel, and the kernel of a decoded stream."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.hardware.npu.functional.memory import Ints

UNUSED = -1
"""Marks padding weights of a block."""


@dataclass(frozen=True)
class Traversal:
    """Parameters of the weight order of a stream."""

    height: int
    width: int
    inputs: int
    """Input channels per weight: 1 if depthwise."""
    outputs: int
    block: int
    """Channels per output block."""
    parts: tuple[int, int]
    """Rows and columns of the parts into which kernels are split."""
    input_unit: int
    output_unit: int
    input_block: int
    """Input channels read together."""
    depthwise: bool
    parts_first: bool
    """Order: all elements of a part for a few channels first, rather than all channels of an element."""
    together: int
    """Elements of a part are padded to a multiple of this."""


@lru_cache(maxsize=64)
def order(t: Traversal) -> Ints:
    """Kernel index (outputs, height, width, inputs) of each weight in a stream."""
    blocks = [
        _block(t, first, channel, top, left)
        for first in range(0, t.outputs, t.block)
        for channel in range(0, t.inputs, t.input_block)
        for top in range(0, t.height, t.parts[0])
        for left in range(0, t.width, t.parts[1])
    ]
    return np.concatenate(blocks)


def kernel(stream: NDArray[np.int16], t: Traversal, where: str) -> Ints:
    """The kernel (outputs, height, width, inputs) of a decoded stream."""
    places = order(t)
    if len(stream) < len(places) or stream[len(places) :].any():
        raise MoteError(
            f"{len(stream)} weights are in the stream, and its kernel takes {len(places)}",
            where=where,
            remedy="the weights are damaged or do not belong to this command stream: compile the model again",
        )
    weights = np.zeros((t.outputs, t.height, t.width, t.inputs), np.int64)
    used = places != UNUSED
    weights.reshape(-1)[places[used]] = stream[: len(places)][used]
    return weights


def _block(t: Traversal, first: int, channel: int, top: int, left: int) -> Ints:
    """Weight order of one part of a kernel, for one block of outputs and inputs."""
    height, width = min(t.parts[0], t.height - top), min(t.parts[1], t.width - left)
    elements = -(-height * width // t.together) * t.together
    outputs = min(t.block, t.outputs - first)
    depth = min(t.input_block, t.inputs - channel) if t.parts_first else t.input_block
    units = np.arange(0, 1 if t.depthwise else depth, t.input_unit, dtype=np.int64)
    outer, inner = (units, units[:1]) if t.parts_first else (units[:1], units)
    i, o, e, j, p, q = np.ix_(
        outer,
        np.arange(0, outputs, t.output_unit, dtype=np.int64),
        np.arange(elements, dtype=np.int64),
        inner,
        np.arange(t.output_unit, dtype=np.int64),
        np.arange(1 if t.depthwise else t.input_unit, dtype=np.int64),
    )
    output, source = first + o + p, channel + i + j + q
    y, x = e // width, e % width
    index = ((output * t.height + top + y) * t.width + left + x) * t.inputs + source
    used = (output < t.outputs) & (source < t.inputs) & (y < height)
    return np.where(used, index, UNUSED).reshape(-1)
