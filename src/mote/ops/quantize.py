"""QUANTIZE and DEQUANTIZE: between float32 and int8. (From byte to byte it is a table, see `unary`.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mote.graph import Graph, Tensor
from mote.graph.tensor import Array
from mote.graph.types import DType
from mote.ops.analysis import Pointwise


@dataclass(frozen=True, kw_only=True)
class Conversion(Pointwise):
    """The same numbers in another type."""

    def problem(self, g: Graph, real: Tensor, quantized: Tensor) -> str | None:
        if real.dtype != DType.FLOAT32 or quantized.dtype != DType.INT8:
            return f"{self.input(g).dtype} to {self.output(g).dtype} is not supported (only float32 and int8)"
        quant = quantized.quant
        if quant is None or quant.per_channel or quantized.scale <= 0:
            return f"int8 tensor '{quantized.name}' has no per-tensor quantization"
        return None


def quantized(x: Array, like: Tensor) -> Array:
    """Real numbers as an int8 tensor holds them."""
    with np.errstate(over="ignore"):
        steps = (x.astype(np.float32) / np.float32(like.scale)).astype(np.float64)
    rounded: Array = np.copysign(np.floor(np.abs(steps) + 0.5), steps) + like.zero_point
    return np.clip(rounded, -128, 127).astype(np.int8)


@dataclass(frozen=True, kw_only=True)
class Quantize(Conversion):
    """round(x / scale) + zero point, halves away from zero, clamped. NaN may become anything."""

    kind = "QUANTIZE"

    def unsupported(self, g: Graph) -> str | None:
        return self.problem(g, self.input(g), self.output(g))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        assert values[0] is not None
        return [quantized(values[0], self.output(g))]


@dataclass(frozen=True, kw_only=True)
class Dequantize(Conversion):
    """scale * (q - zero point)."""

    kind = "DEQUANTIZE"

    def unsupported(self, g: Graph) -> str | None:
        return self.problem(g, self.output(g), self.input(g))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        q, x = values[0], self.input(g)
        assert q is not None
        return [np.float32(x.scale) * (q.astype(np.int64) - x.zero_point).astype(np.float32)]
