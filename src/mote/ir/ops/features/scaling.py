"""AFFINE_MAP: from integers of preprocessing to the model's input, with scale, offset, clipping and quantization
fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.arithmetic import quantization_problem
from mote.ir.ops.elementwise.quantize import QUANTIZED, quantized

SOURCES = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32)


@dataclass(frozen=True)
class AffineLine:
    """clip(value * factor + offset, low, high) in float64; each parameter is one number, or one per channel."""

    factor: Array
    offset: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, factor: float) -> AffineLine:
        return cls(*(np.array([x], np.float64) for x in (factor, 0.0, -np.inf, np.inf)))

    def __call__(self, values: Array) -> Array:
        """Apply scale, offset and clipping to integers; the result is rounded to float32 once."""
        real = values.astype(np.float64) * self.factor + self.offset
        return np.clip(real, self.low, self.high).astype(np.float32)


class AffineMap(Op):
    """AFFINE_MAP: clip(x * factor + offset, low, high) of integers in float64, rounded to float32, then quantized if
    the output is. Each parameter is one number, or one per channel (the last axis with more than one element)."""

    shape: Shape
    factor: tuple[float, ...]
    offset: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    kind = "AFFINE_MAP"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if x.dtype not in SOURCES or y.dtype not in (*QUANTIZED, DType.FLOAT32):
            return f"{x.dtype} input with {y.dtype} output is not supported"
        return None if y.dtype == DType.FLOAT32 else quantization_problem(y)

    @property
    def channels(self) -> int:
        """Number of channels with parameters of their own; 1 if all channels share them."""
        return max(map(len, (self.factor, self.offset, self.low, self.high)))

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,) if row_count(self.input(g).shape) == row_count(self.shape) else None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [self.of(g, x.reshape(-1, self.channels)).reshape(self.shape)]

    def of(self, g: Graph, integers: Array) -> Array:
        """The outputs for integers [..., channels]."""
        line = AffineLine(*(np.array(p, np.float64) for p in (self.factor, self.offset, self.low, self.high)))
        real = line(integers)
        y = self.output(g)
        return real if y.dtype == DType.FLOAT32 else quantized(real, y)
