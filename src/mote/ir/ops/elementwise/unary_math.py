"""Element-wise unary operators other than activations: roots, exponentials, rounding, sign, logical not.

Where LiteRT stops with an error, quantized functions give the nearest defined result: square roots of negative numbers
are 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.numeric.fixedpoint import Ints, quantize_multiplier, rescale, wrap32
from mote.ir.graph.numeric.fixedpoint16 import inverse_sqrt, saturate16
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import largest
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.activations import Floats, FloatTable, Interpolated, Unary, within
from mote.ir.ops.elementwise.arithmetic import INT8
from mote.ir.ops.signs import nonnegative


def _no_reference_kernel(op: Op) -> str:
    """Why an operator cannot be compared with LiteRT's reference: only its optimized kernels have it."""
    return f"LiteRT has no reference kernel for {op.kind}"


def _negative_root_problem(g: Graph, op: Op) -> str | None:
    """Why a quantized root cannot be compared with LiteRT (it stops with an error at negative inputs), or None."""
    x = op.input(g)
    never = x.dtype == DType.FLOAT32 or (x.id in g.ranges and int(g.ranges[x.id].low.min()) >= x.zero_point)
    return None if never or nonnegative(g, x) else f"LiteRT's {op.kind} stops at negative numbers"


def _in_double(values: Floats, function: np.ufunc) -> Floats:
    """Evaluate a function in double precision without warnings about infinities and NaN; result in float32."""
    with np.errstate(all="ignore"):
        results: Floats = function(values.astype(np.float64)).astype(np.float32)
        return results


class Exp(Interpolated):
    kind = "EXP"

    def real(self, x: Floats) -> Floats:
        return _in_double(x, np.exp)


class Log(Interpolated):
    """LOG. Quantized inputs <= 0 give the lowest output code."""

    kind = "LOG"

    def tabled(self, x: Floats, y: Tensor) -> Floats:
        least = np.float32(y.dtype.limits[0] - y.zero_point) * np.float32(y.scale)
        return np.where(x > 0, self.real(np.maximum(x, np.float32(0))), least).astype(np.float32)

    def real(self, x: Floats) -> Floats:
        return _in_double(x, np.log)


class Rsqrt(Interpolated):
    """RSQRT: 1 / sqrt(x). Quantized inputs <= 0 give the highest output code. int8: in fixed point."""

    kind = "RSQRT"

    def misjudged(self, g: Graph) -> str | None:
        return _negative_root_problem(g, self) or super().misjudged(g)

    def scales(self, x: Tensor, y: Tensor) -> list[tuple[int, int]]:
        if x.dtype != DType.INT8:
            return []
        mult, shift = quantize_multiplier(1.0 / float(np.sqrt(np.float32(x.scale)) * np.float32(y.scale)))
        return [(mult, shift - ROOT_BITS)]

    def quantized(self, x: Tensor, y: Tensor) -> Ints:
        steps = INT8 - x.zero_point
        scaled = wrap32(rescale(_inverse_roots()[np.maximum(steps, 0)], *self.scales(x, y)[0]) + y.zero_point)
        return np.where(steps > 0, scaled, 127)

    def tabled(self, x: Floats, y: Tensor) -> Floats:
        most = np.float32(32767) * np.float32(y.scale)
        return np.where(x > 0, self.real(np.maximum(x, np.float32(0))), most).astype(np.float32)

    def real(self, x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return (np.float32(1) / np.sqrt(x)).astype(np.float32)


ROOT_BITS = 20
"""Fraction bits of 1 / sqrt(x) before it is rescaled."""


@cache
def _inverse_roots() -> Ints:
    """1 / sqrt(q) for q from 0 to 255 with ROOT_BITS fraction bits; 0 has the value of 1."""
    pairs = np.array([inverse_sqrt(q) for q in range(256)], np.int64)
    return rescale(np.ones(256, np.int64), pairs[:, 0], pairs[:, 1] + ROOT_BITS)


GELU_ENDS = -6.0
"""Input below which 1 + erf (or tanh) of a GELU is exactly 0 in float32, in every runtime."""


class Gelu(Interpolated):
    """GELU: x times the standard normal CDF of x, or its tanh approximation."""

    approximate: bool
    symmetric = False
    kind = "GELU"

    def misjudged(self, g: Graph) -> str | None:
        """Why LiteRT's result is platform-dependent: erfc and tanh of C libraries differ in the last bit, which changes
        entries of the int16 table by one now and then."""
        interpolated = self.input(g).dtype == DType.INT16
        return "LiteRT's int16 GELU depends on the C library" if interpolated else super().misjudged(g)

    def cancelled_magnitude(self, g: Graph, values: Sequence[Array | None]) -> float:
        """Magnitude of the cancelling terms of x * (1 + erf(x / sqrt(2))) / 2 for negative x."""
        assert values[0] is not None
        return largest(np.clip(values[0], GELU_ENDS, 0))

    def real(self, x: Floats) -> Floats:
        half = np.float32(0.5)
        with np.errstate(all="ignore"):
            if self.approximate:
                argument = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
                return half * x * (np.float32(1) + _in_double(argument, np.tanh))
            return half * x * _erfc(x * np.float32(-math.sqrt(0.5)))


def _erfc(x: Floats) -> Floats:
    """The complementary error function 1 - erf(x), which NumPy lacks."""
    return np.array([math.erfc(v) for v in x.reshape(-1).tolist()], np.float32).reshape(x.shape)


class Elu(FloatTable):
    """ELU: x, or exp(x) - 1 where x < 0."""

    kind = "ELU"

    def misjudged(self, g: Graph) -> str | None:
        return _no_reference_kernel(self)

    def cancelled_magnitude(self, g: Graph, values: Sequence[Array | None]) -> float:
        """Magnitude of the cancelling terms of exp(x) - 1."""
        return 1.0

    def real(self, x: Floats) -> Floats:
        return np.where(x < 0, _in_double(x, np.expm1), x)


class Sqrt(Unary):
    """SQRT. Quantized: the root in float32, divided by the output's scale, rounded towards zero."""

    types = (DType.INT8, DType.INT16, DType.FLOAT32)
    kind = "SQRT"

    def misjudged(self, g: Graph) -> str | None:
        return _negative_root_problem(g, self)

    def quantized(self, x: Tensor, y: Tensor) -> Ints:
        return self._steps(INT8 - x.zero_point, x, y) + y.zero_point

    def wide(self, q: Ints, x: Tensor, y: Tensor) -> Ints:
        return saturate16(self._steps(q, x, y))

    @staticmethod
    def _steps(q: Ints, x: Tensor, y: Tensor) -> Ints:
        with np.errstate(all="ignore"):
            roots = np.sqrt(np.float32(x.scale) * np.maximum(q, 0).astype(np.float32)) / np.float32(y.scale)
        return np.trunc(within(roots)).astype(np.int64)

    def real(self, x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.sqrt(x)


class Abs(Unary):
    """ABS. Quantized: the distance from the zero point, rescaled. Unquantized: the smallest integer is its own absolute
    value."""

    types = (DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32)
    kind = "ABS"

    def unsupported(self, g: Graph) -> str | None:
        plain = self.input(g).dtype == DType.INT16 and not self.rescales(self.input(g))
        return _plain_problem(g, self) if plain else super().unsupported(g)

    @staticmethod
    def rescales(x: Tensor) -> bool:
        """Whether values are quantized and get rescaled; int16 tensors without a scale and int32 are unquantized
        integers."""
        return x.dtype in (DType.INT8, DType.INT16) and x.quant is not None

    def scales(self, x: Tensor, y: Tensor) -> list[tuple[int, int]]:
        return [quantize_multiplier(float(np.float32(x.scale) / np.float32(y.scale)))]

    def quantized(self, x: Tensor, y: Tensor) -> Ints:
        return wrap32(rescale(np.abs(INT8 - x.zero_point), *self.scales(x, y)[0]) + y.zero_point)

    def wide(self, q: Ints, x: Tensor, y: Tensor) -> Ints:
        return saturate16(rescale(np.abs(q), *self.scales(x, y)[0])) if self.rescales(x) else np.abs(q)

    def real(self, x: Floats) -> Floats:
        return np.abs(x)


def _plain_problem(g: Graph, op: Unary) -> str | None:
    """Why the types of an operator on unquantized values are not supported, or None."""
    x, y = op.input(g), op.output(g)
    if x.dtype not in op.types:
        return f"{x.dtype} input is not supported (only {', '.join(op.types)})"
    return None if y.dtype == x.dtype else f"{x.dtype} input with {y.dtype} output is not supported"


class UnaryUnscaled(Unary):
    """Base of functions of stored values that ignore scale and zero point."""

    def unsupported(self, g: Graph) -> str | None:
        return _plain_problem(g, self)


class Neg(UnaryUnscaled):
    """NEG; the smallest integer is its own negative."""

    types = (DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32)
    kind = "NEG"

    def table(self, g: Graph) -> NDArray[np.int8]:
        return (-INT8).astype(np.int8)

    def wide(self, q: Ints, x: Tensor, y: Tensor) -> Ints:
        return -q

    def real(self, x: Floats) -> Floats:
        return -x


class Sign(UnaryUnscaled):
    """SIGN: -1, 0 or 1; 0 for NaN."""

    types = (DType.INT32, DType.FLOAT32)
    kind = "SIGN"

    def wide(self, q: Ints, x: Tensor, y: Tensor) -> Ints:
        return np.sign(q)

    def real(self, x: Floats) -> Floats:
        return np.nan_to_num(np.sign(x))


class LogicalNot(UnaryUnscaled):
    types = (DType.BOOL,)
    kind = "LOGICAL_NOT"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        assert values[0] is not None
        return [np.logical_not(values[0])]


class UnaryFloat(UnaryUnscaled):
    """Base of unary functions that support only float32."""

    types = (DType.FLOAT32,)


class Sin(UnaryFloat):
    kind = "SIN"

    def real(self, x: Floats) -> Floats:
        return _in_double(x, np.sin)


class Cos(UnaryFloat):
    kind = "COS"

    def real(self, x: Floats) -> Floats:
        return _in_double(x, np.cos)


class Square(UnaryFloat):
    kind = "SQUARE"

    def real(self, x: Floats) -> Floats:
        return _in_double(x, np.square)


class Ceil(UnaryFloat):
    kind = "CEIL"

    def misjudged(self, g: Graph) -> str | None:
        return _no_reference_kernel(self)

    def real(self, x: Floats) -> Floats:
        return np.ceil(x)


class Floor(UnaryFloat):
    kind = "FLOOR"

    def real(self, x: Floats) -> Floats:
        return np.floor(x)


class Round(UnaryFloat):
    """ROUND: to the nearest integer, halves to even."""

    kind = "ROUND"

    def misjudged(self, g: Graph) -> str | None:
        return _no_reference_kernel(self)

    def real(self, x: Floats) -> Floats:
        return np.rint(x)
