"""Order in which Ethos-U85 reads the weights of a kernel, with one or several weight decoders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.hardware.npu.functional.kernels import UNUSED
from mote.hardware.npu.functional.memory import Ints

TOGETHER = 4
"""Consecutive output channels of a weight decoder."""


@dataclass(frozen=True)
class TraversalU85:
    """Parameters of the weight order of a convolution's streams."""

    height: int
    width: int
    inputs: int
    outputs: int
    block: int
    """Channels per output block."""
    unit: int
    """Channels per output microblock."""
    parts: tuple[int, int]
    """Rows and columns of the parts into which kernels are split."""
    stride: tuple[int, int]
    """Distance of consecutive elements; 1 if all channels of an element come first."""
    input_block: int
    input_unit: int
    """Input channels read per element."""
    step: int
    """Input channels read per output."""
    together: int
    """Elements of a part are padded to a multiple of this."""
    gap: int
    """Further padding elements per such multiple, for depthwise convolutions."""
    streams: int

    @property
    def at_once(self) -> int:
        """Weights of a stream that fast decoders read before switching to the next stream."""
        return self.unit * self.input_unit * self.together // self.streams


def kernel_u85(streams: list[NDArray[np.int16]], t: TraversalU85, where: str) -> Ints:
    """The kernel (outputs, height, width, inputs) from the streams of all weight decoders."""
    weights = np.zeros(t.outputs * t.height * t.width * t.inputs, np.int64)
    for number, stream in enumerate(streams):
        places = order_u85(t, number)
        if len(stream) < len(places):
            raise MoteError(
                f"{len(stream)} weights are in stream {number}, and its kernel takes {len(places)}",
                where=where,
                remedy="the weights are damaged or do not belong to this command stream: compile the model again",
            )
        used = places != UNUSED
        weights[places[used]] = stream[: len(places)][used]
    return weights.reshape(t.outputs, t.height, t.width, t.inputs)


def apart(stream: NDArray[np.int16], t: TraversalU85) -> list[NDArray[np.int16]]:
    """Separates the interleaved streams of the fast format."""
    whole = stream[: len(stream) // (t.at_once * t.streams) * t.at_once * t.streams]
    turns = whole.reshape(-1, t.streams, t.at_once)
    return [turns[:, number].reshape(-1) for number in range(t.streams)]


@lru_cache(maxsize=64)
def order_u85(t: TraversalU85, stream: int) -> Ints:
    """Kernel index of each weight of a stream. Every other output block reads inputs backwards."""
    channels = list(range(0, t.inputs, t.input_block))
    return np.concatenate(
        [
            _part(t, stream, first, channel, top, left)
            for number, first in enumerate(range(0, t.outputs, t.block))
            for channel in (channels[::-1] if number % 2 else channels)
            for left in range(0, t.width, t.parts[1])
            for top in range(0, t.height, t.parts[0])
        ]
    )


def _part(t: TraversalU85, stream: int, first: int, channel: int, top: int, left: int) -> Ints:
    """Weight order of one part of a kernel, for one block of outputs and inputs."""
    elements = np.array(_elements(t, min(t.parts[0], t.height - top), min(t.parts[1], t.width - left)))
    depth = min(t.input_block, t.inputs - channel)
    i, o, e, j, u, p, q = np.ix_(
        np.arange(0, depth, t.input_unit, dtype=np.int64),
        np.arange(0, min(t.block, t.outputs - first), t.unit, dtype=np.int64),
        np.arange(len(elements), dtype=np.int64),
        np.arange(0, t.input_unit, t.step, dtype=np.int64),
        np.arange(stream * TOGETHER, t.unit, TOGETHER * t.streams, dtype=np.int64),
        np.arange(TOGETHER, dtype=np.int64),
        np.arange(t.step, dtype=np.int64),
    )
    row, column = elements[e, 0], elements[e, 1]
    output, source = first + o + u + p, channel + i + j + q
    index = ((output * t.height + top + row) * t.width + left + column) * t.inputs + source
    used = (output < t.outputs) & (source < t.inputs) & (row >= 0)
    return np.where(used, index, UNUSED).reshape(-1)


def _elements(t: TraversalU85, height: int, width: int) -> list[tuple[int, int]]:
    """(row, column) of a part's elements in serpentine order; (-1, -1) is padding."""
    filler = (UNUSED, UNUSED)
    down, across = t.stride
    left = -(-height * width // t.together) * t.together
    elements: list[tuple[int, int]] = []
    for y in range(down):
        for x in range(across):
            for number, row in enumerate(range(y, height, down)):
                columns = list(range(x, width, across))
                for column in columns[::-1] if number % 2 else columns:
                    elements.append((row, column))
                    left -= 1
                    if left % t.together == 0:
                        elements += [filler] * t.gap
    return elements + [filler] * (left + t.gap if left else 0)
