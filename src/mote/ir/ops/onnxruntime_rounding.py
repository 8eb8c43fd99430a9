"""Quantized operators with ONNX Runtime's rounding on x86-64: in single precision, each step rounded as in its kernels,
and results rounded to even. int8 values with `unsigned` stand for the runtime's uint8 values, which are 128 higher:
zero points then differ, which changes some roundings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints, scale_even, wrap32
from mote.ir.graph.ranges import LEAST, Peak, Range, between
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.tensor import Array, Shape, Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.common import MOST_SUMMED, WindowOp
from mote.ir.ops.elementwise.arithmetic import INT8, Add, Arithmetic, Mul, quantization_problem
from mote.ir.ops.pointwise import end, rising
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.reduce import RowReduction
from mote.ir.ops.reductions.reduce import quantization_problem as pair_problem
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.windows.pool import AveragePool

Reals = NDArray[np.float32]
LOW, HIGH = DType.INT8.limits
OFFSET = 128
"""Difference between a uint8 value and the int8 value that stands for it."""
MOST_AVERAGED = 1 << 24
"""Upper bound of the elements that ONNX Runtime averages."""


def fused(a: Array | np.floating[Any], b: Array | np.floating[Any], c: Array | np.floating[Any]) -> Reals:
    """Fused multiply-add a * b + c in single precision, for products of at most 53 bits: the sum in double precision is
    rounded to odd, so that rounding it again is correct."""
    x, y = np.broadcast_arrays(np.asarray(a, np.float64) * np.asarray(b, np.float64), np.asarray(c, np.float64))
    total = x + y
    other = total - x
    lost = (x - (total - other)) + (y - other)
    bits = np.ascontiguousarray(total).view(np.int64)
    outward = np.where((lost > 0) == (total > 0), 1, -1)
    odd = np.where((lost != 0) & (bits & 1 == 0), bits + outward, bits)
    with np.errstate(over="ignore"):
        return odd.view(np.float64).astype(np.float32)


def saturated(real: Reals) -> Ints:
    """Round floats to integers, halves to even, clamped to +-2^31."""
    rounded: Ints = np.rint(np.clip(real.astype(np.float64), -(2.0**31), 2.0**31)).astype(np.int64)
    return rounded


def _type_problem(x: Tensor, y: Tensor) -> str | None:
    """Why an operator does not take these tensors: it computes int8 only."""
    if (x.dtype, y.dtype) != (DType.INT8, DType.INT8):
        return f"{x.dtype} input with {y.dtype} output is not supported"
    return quantization_problem(x) or quantization_problem(y)


class EvenAdd(Add):
    """ADD as in ONNX Runtime: (a - zero point) * scale ratio + (b - zero point) * scale ratio, with two fused
    multiply-adds. The second operand is multiplied first; with `turned` (the second is broadcast less often) the first
    one."""

    unsigned: bool = False
    turned: bool = False

    def scales_problem(self, g: Graph) -> str | None:
        return None if self.output(g).dtype == DType.INT8 else "only int8 is supported"

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        return self.results(g)[a + OFFSET, b + OFFSET]

    def results(self, g: Graph) -> Ints:
        """[256, 256]: the quantized sums of all pairs of int8 values."""
        tensors = self.input(g), self.input(g, 1), self.output(g)
        scales, zeros = [t.scale for t in tensors], [t.zero_point + OFFSET * self.unsigned for t in tensors]
        return _sums(tuple(scales), tuple(zeros), self.unsigned, self.turned)

    def constants(self, g: Graph) -> tuple[np.float32, Reals]:
        """Constants of the kernel: scale ratio of the operand that is added last, and the table of the other operand's
        terms."""
        tensors = self.input(g), self.input(g, 1), self.output(g)
        scales, zeros = [t.scale for t in tensors], [t.zero_point + OFFSET * self.unsigned for t in tensors]
        return _terms(tuple(scales), tuple(zeros), self.unsigned, self.turned)

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        return None


Three = tuple[Any, ...]


def _terms(scales: Three, zeros: Three, unsigned: bool, turned: bool) -> tuple[np.float32, Reals]:
    ratios = [np.float32(s) / np.float32(scales[2]) for s in scales[:2]]
    last, first = (1, 0) if turned else (0, 1)
    between_zeros = fused(ratios[last], np.float32(zeros[last]), ratios[first] * np.float32(zeros[first]))
    fixed = np.float32(zeros[2]) - between_zeros[()]
    return ratios[last], fused(INT8 + OFFSET * unsigned, ratios[first], np.float32(fixed))


@lru_cache(maxsize=64)
def _sums(scales: Three, zeros: Three, unsigned: bool, turned: bool) -> Ints:
    """[256, 256]: the quantized sums of all pairs of int8 values."""
    ratio, terms = _terms(scales, zeros, unsigned, turned)
    real = fused((INT8 + OFFSET * unsigned)[:, None], ratio, terms[None, :])
    results = np.clip(saturated(real) - OFFSET * unsigned, LOW, HIGH)
    return results.T if turned else results


class EvenMul(Arithmetic):
    """MUL as in ONNX Runtime: the product of the inputs minus their zero points, times a scale ratio, plus the output's
    zero point, rounded once."""

    unsigned: bool = False
    kind = "MUL"

    def scales_problem(self, g: Graph) -> str | None:
        return None if self.output(g).dtype == DType.INT8 else "only int8 is supported"

    def ratio(self, g: Graph) -> np.float32:
        a, b, y = (np.float32(t.scale) for t in (self.input(g), self.input(g, 1), self.output(g)))
        return np.float32(a * b / y)

    def scaled(self, g: Graph, products: Ints) -> Ints:
        """Requantize products of integers: a step function."""
        zero = np.float32(self.output(g).zero_point + OFFSET * self.unsigned)
        real = products.astype(np.float32) * self.ratio(g) + zero
        return np.clip(saturated(real) - OFFSET * self.unsigned, LOW, HIGH)

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        return self.scaled(g, (a - self.input(g).zero_point) * (b - self.input(g, 1).zero_point))

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        """Range of the product, from the products of the ends of both ranges."""
        first, second = ([end(g, self, p, inputs[p], up=up) for up in (False, True)] for p in (0, 1))
        return between(self.evaluate(g, pair)[0] for pair in product(first, second))

    def real(self, a: Array, b: Array) -> Array:
        return np.multiply(a, b)


class EvenMean(RowReduction):
    """MEAN as in ONNX Runtime: an integer sum times a scale ratio."""

    kind = "MEAN"
    types = (DType.INT8,)

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g) or pair_problem(self.input(g), self.output(g)):
            return problem
        return None if self.count(g) < min(MOST_SUMMED, MOST_AVERAGED) else f"a mean of {self.count(g)} elements"

    def ratio(self, g: Graph) -> float:
        x, y = np.float32(self.input(g).scale), np.float32(self.output(g).scale)
        return float(x / (y * np.float32(self.count(g))))

    def reduced(self, g: Graph, x: Array) -> NDArray[Any]:
        total = wrap32(x.astype(np.int64).sum(axis=self.axes) - self.input(g).zero_point * self.count(g))
        return np.clip(scale_even(total, self.ratio(g)) + self.output(g).zero_point, LOW, HIGH)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs)

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        zero, count = self.input(g).zero_point, self.count(g)
        largest = count * (abs(zero) - LEAST)
        return Peak(largest, largest) if inputs[0] else None


class EvenAveragePool(WindowOp):
    """AVERAGE_POOL_2D as in ONNX Runtime: dequantized elements summed sequentially in single precision, divided by the
    count and the output's scale, rounded after the zero point is added."""

    count: int = 0
    """The divisor; 0: the number of window elements inside the image."""
    unsigned: bool = False
    kind = "AVERAGE_POOL_2D"

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g).shape
        return [(x[0], *self.spatial(g), x[3])]

    def work(self, g: Graph) -> int:
        return 8 * self.output(g).size * self.vertical.kernel * self.horizontal.kernel

    def unsupported(self, g: Graph) -> str | None:
        return _type_problem(self.input(g), self.output(g))

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        return {0: np.arange(self.output(g).channels, dtype=np.int64)}

    def reals(self, g: Graph) -> Reals:
        """Lookup table: the dequantized value of each int8 value."""
        x = self.input(g)
        return np.float32(x.scale) * (INT8 - x.zero_point).astype(np.float32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, y = values[0], self.output(g)
        assert x is not None
        padded = np.append(self.reals(g), np.float32(0))
        codes = x.astype(np.int64) + OFFSET
        parts: list[Reals] = []
        for windows in self.windows(codes, 256):
            part: Reals = np.zeros(windows.shape[:4], np.float32)
            for k, t in np.ndindex(windows.shape[4:]):
                part = part + padded[windows[..., k, t]]
            parts.append(part)
        rows, columns = (
            (a.positions(n) != OUTSIDE).sum(axis=1)
            for a, n in zip((self.vertical, self.horizontal), x.shape[1:3], strict=True)
        )
        inside = rows[:, None, None] * columns[:, None]
        count = self.count or inside
        zero = np.float32(y.zero_point + OFFSET * self.unsigned)
        total: Reals = np.concatenate(parts, axis=1)
        mean: Reals = np.divide(total, np.asarray(count, np.float32))
        real: Reals = np.divide(mean, np.float32(y.scale)) + zero
        return [np.clip(saturated(real) - OFFSET * self.unsigned, LOW, HIGH).astype(np.int8)]


class EvenSoftmax(Op):
    """SOFTMAX as in ONNX Runtime: exponentials from a float32 table, summed sequentially, times the reciprocal of the
    output's scale (rounded down), divided by the sum."""

    kind = "SOFTMAX"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)

    def unsupported(self, g: Graph) -> str | None:
        return _type_problem(self.input(g), self.output(g))

    def exponentials(self, g: Graph) -> Reals:
        """Lookup table of exponentials of x - max, from -255 to 0 steps."""
        x = self.input(g)
        scale, size = float(np.float32(x.scale)), x.shape[-1]
        room = max(0.0, float(np.log(float(np.finfo(np.float32).max) / size)) - RESERVED) / scale
        with np.errstate(under="ignore"):
            table: Reals = np.exp((np.arange(256, dtype=np.int64) - 255 + room) * scale).astype(np.float32)
        return table

    def factor(self, g: Graph) -> np.float32:
        """The reciprocal of the output's scale, rounded down."""
        return np.float32(np.floor(np.float32(1) / np.float32(self.output(g).scale)))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, y = values[0], self.output(g)
        assert x is not None
        codes = x.astype(np.int64)
        e = self.exponentials(g)[codes - codes.max(axis=-1, keepdims=True) + 255]
        total = np.zeros(e.shape[:-1], np.float32)
        for i in range(e.shape[-1]):
            total = total + e[..., i]
        real = e * self.factor(g) / total[..., None]
        return [np.clip(saturated(real) + y.zero_point, LOW, HIGH).astype(np.int8)]


RESERVED = 5
"""Margin below the logarithm of the largest float32 against overflow of the sum of exponentials."""


TWINS: Mapping[type[Op], type[Op]] = {
    EvenAdd: Add,
    EvenAveragePool: AveragePool,
    EvenMean: Mean,
    EvenMul: Mul,
    EvenSoftmax: Softmax,
}
"""LiteRT's operator for each of ONNX Runtime's that only differs in rounding."""
