"""The planar (CHW within a row) layout, in which one instruction widens adjacent pixels of a channel
(`mote_planar_s8.h`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mote.ir.graph import Tensor
from mote.ir.graph.tensor import Array, Shape


@dataclass(frozen=True)
class Planar:
    """Each row has one line of `line` bytes (a multiple of four) for each channel, including the window's zero padding
    before and after the pixels. Bytes are value + 128, with zero point -128 stored as 0, and the middle two of each
    four are swapped."""

    name: ClassVar[str] = "planar"

    line: int
    before: int
    """Padding bytes before a line's first pixel."""

    @property
    def planes(self) -> tuple[int, int]:
        return self.line, self.before

    def row_bytes(self, tensor: Tensor, rows: int) -> int:
        return self.line * tensor.shape[-1]

    def load(self, flat: Array, shape: Shape) -> Array:
        lines = flat.reshape(*shape[:-2], shape[-1], self.line // 4, 4)[..., [0, 2, 1, 3]]
        pixels = lines.reshape(*shape[:-2], shape[-1], self.line)[..., self.before : self.before + shape[-2]]
        return np.swapaxes(pixels ^ np.int8(-128), -1, -2)

    def store(self, values: Array) -> Array:
        after = self.line - self.before - values.shape[-2]
        pad = [(0, 0)] * (values.ndim - 1) + [(self.before, after)]
        lines = np.pad(np.swapaxes(values, -1, -2) ^ np.int8(-128), pad)
        return np.ascontiguousarray(lines.reshape(*lines.shape[:-1], -1, 4)[..., [0, 2, 1, 3]]).reshape(lines.shape)

    def __str__(self) -> str:
        return f"{self.name}, lines of {self.line}"
