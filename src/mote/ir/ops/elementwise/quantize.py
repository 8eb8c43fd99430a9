"""QUANTIZE and DEQUANTIZE: between float32 and integers, and between integer types. (Between 8-bit types QUANTIZE is a
lookup table, see `activations`.)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from mote.ir.graph import Graph, Tensor
from mote.ir.graph.numeric.fixedpoint import quantize_multiplier, rescale, wrap32
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType, Rounding
from mote.ir.ops.common import scale_problem
from mote.ir.ops.elementwise.arithmetic import quantization_problem
from mote.ir.ops.pointwise import Pointwise

QUANTIZED = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)
"""The integer types that floats can be quantized to."""


class Conversion(Pointwise):
    """Base of QUANTIZE and DEQUANTIZE between float32 and integers."""

    def problem(self, g: Graph, real: Tensor, quantized: Tensor) -> str | None:
        if real.dtype != DType.FLOAT32 or quantized.dtype not in QUANTIZED:
            names = ", ".join(QUANTIZED)
            return f"{self.input(g).dtype} to {self.output(g).dtype} is not supported (only float32 and {names})"
        return quantization_problem(quantized)


def quantized(x: Array, like: Tensor, rounding: Rounding = Rounding.ONCE, factor: float | None = None) -> Array:
    """Quantize floats to the type and quantization of the tensor `like`; with `factor` by multiplication instead of
    division by the scale."""
    with np.errstate(over="ignore"):
        real = x.astype(np.float32)
        steps = (real / np.float32(like.scale) if factor is None else real * np.float32(factor)).astype(np.float64)
    away = np.copysign(np.floor(np.abs(steps) + 0.5), steps)
    rounded: Array = (np.rint(steps) if rounding is Rounding.EVEN else away) + like.zero_point
    return np.clip(rounded, *like.dtype.limits).astype(like.dtype.numpy)


def dequantized(q: Array, like: Tensor) -> Array:
    """Dequantize values with the quantization of the tensor `like`."""
    quant = like.quant
    assert quant is not None
    shape = [quant.scale.size if axis == quant.axis else 1 for axis in range(q.ndim)] if quant.per_channel else 1
    scale, zero = quant.scale.reshape(shape), quant.zero_point.reshape(shape)
    return scale * (q.astype(np.int64) - zero).astype(np.float32)


class Quantize(Conversion):
    """QUANTIZE: round(x / scale) + zero point, halves away from zero or to even, clamped. The result for NaN is
    undefined."""

    rounding: Rounding = Rounding.ONCE
    factor: float | None = None
    """Reciprocal of the scale, for runtimes that multiply by it instead of dividing by the scale; else None."""
    kind = "QUANTIZE"

    def unsupported(self, g: Graph) -> str | None:
        return self.problem(g, self.input(g), self.output(g))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        assert values[0] is not None
        return [quantized(values[0], self.output(g), self.rounding, self.factor)]


class Dequantize(Conversion):
    """DEQUANTIZE: scale * (q - zero point)."""

    kind = "DEQUANTIZE"

    def unsupported(self, g: Graph) -> str | None:
        return self.problem(g, self.output(g), self.input(g))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        assert values[0] is not None
        return [dequantized(values[0], self.input(g))]


class Rescale(Pointwise):
    """QUANTIZE between integer types: requantization. LiteRT supports these type pairs except int8 to int32, which
    TensorFlow Lite Micro has."""

    kind = "QUANTIZE"
    PAIRS: ClassVar = (
        (DType.INT8, DType.INT16),
        (DType.INT8, DType.INT32),
        (DType.UINT8, DType.INT16),
        (DType.INT16, DType.INT8),
        (DType.INT16, DType.INT16),
        (DType.INT16, DType.INT32),
        (DType.INT32, DType.INT8),
        (DType.INT32, DType.INT16),
    )

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if (x.dtype, y.dtype) not in self.PAIRS:
            return f"{x.dtype} input with {y.dtype} output is not supported"
        problem = quantization_problem(x) or quantization_problem(y)
        return problem or scale_problem(self.scale(g))

    def scale(self, g: Graph) -> tuple[int, int]:
        """Multiplier and shift from the input's scale to the output's."""
        return quantize_multiplier(self.input(g).scale / self.output(g).scale)

    def misjudged(self, g: Graph) -> str | None:
        pair = self.input(g).dtype, self.output(g).dtype
        return "LiteRT has no QUANTIZE from int8 to int32" if pair == (DType.INT8, DType.INT32) else None

    def is_identity(self, g: Graph) -> bool:
        x, y = self.input(g), self.output(g)
        return x.dtype == y.dtype and x.quant is not None and x.quant.same_as(y.quant)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        q, y = values[0], self.output(g)
        assert q is not None
        steps = wrap32(q.astype(np.int64) - self.input(g).zero_point)
        scaled = wrap32(rescale(steps, *self.scale(g)) + y.zero_point)
        return [np.clip(scaled, *y.dtype.limits).astype(y.dtype.numpy)]
