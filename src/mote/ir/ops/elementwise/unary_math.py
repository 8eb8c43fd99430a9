"""Element-wise unary operators other than activations: roots, exponentials, roundings, signs, `not`.

Where LiteRT stops with an error, quantized functions give the nearest result: roots of negative numbers are those of
zero.
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


def _missing(op: Op) -> str:
    """Why an operator that LiteRT has only among its other kernels is not judged by its reference."""
    return f"LiteRT has no reference kernel for {op.kind}"


def _stops(g: Graph, op: Op) -> str | None:
    """Why a quantized root is not judged by LiteRT, which stops with an error at negative numbers, or None."""
    x = op.input(g)
    never = x.dtype == DType.FLOAT32 or (x.id in g.ranges and int(g.ranges[x.id].low.min()) >= x.zero_point)
    return None if never or nonnegative(g, x) else f"LiteRT's {op.kind} stops at negative numbers"


def _quietly(values: Floats, function: np.ufunc) -> Floats:
    """A function in double precision: infinities and NaN are results as others."""
    with np.errstate(all="ignore"):
        results: Floats = function(values.astype(np.float64)).astype(np.float32)
        return results


class Exp(Interpolated):
    kind = "EXP"

    def real(self, x: Floats) -> Floats:
        return _quietly(x, np.exp)


class Log(Interpolated):
    """Quantized it is as small as it can be for what has no logarithm."""

    kind = "LOG"

    def tabled(self, x: Floats, y: Tensor) -> Floats:
        least = np.float32(y.dtype.limits[0] - y.zero_point) * np.float32(y.scale)
        return np.where(x > 0, self.real(np.maximum(x, np.float32(0))), least).astype(np.float32)

    def real(self, x: Floats) -> Floats:
        return _quietly(x, np.log)


class Rsqrt(Interpolated):
    """1 / sqrt(x); quantized it is as large as it can be for what has no such root. int8: in fixed point."""

    kind = "RSQRT"

    def misjudged(self, g: Graph) -> str | None:
        return _stops(g, self) or super().misjudged(g)

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
"""Bits behind the point of the root, before it is scaled."""


@cache
def _inverse_roots() -> Ints:
    """1 / sqrt(q) for q from 0 to 255 in fixed point; of 0 as of 1."""
    pairs = np.array([inverse_sqrt(q) for q in range(256)], np.int64)
    return rescale(np.ones(256, np.int64), pairs[:, 0], pairs[:, 1] + ROOT_BITS)


GELU_ENDS = -6.0
"""Below it the sum in a GELU is 0 in float32, whoever computes it."""


class Gelu(Interpolated):
    """x times the share of a normal distribution below x, or an approximation of that with tanh."""

    approximate: bool
    symmetric = False
    kind = "GELU"

    def misjudged(self, g: Graph) -> str | None:
        """In the last bits of erfc and tanh C libraries differ, which moves an end of a line by one now and then."""
        interpolated = self.input(g).dtype == DType.INT16
        return "LiteRT's int16 GELU depends on the C library" if interpolated else super().misjudged(g)

    def cancelled(self, g: Graph, values: Sequence[Array | None]) -> float:
        """It is x * (1 + erf(x / sqrt(2))) / 2."""
        assert values[0] is not None
        return largest(np.clip(values[0], GELU_ENDS, 0))

    def real(self, x: Floats) -> Floats:
        half = np.float32(0.5)
        with np.errstate(all="ignore"):
            if self.approximate:
                argument = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
                return half * x * (np.float32(1) + _quietly(argument, np.tanh))
            return half * x * _erfc(x * np.float32(-math.sqrt(0.5)))


def _erfc(x: Floats) -> Floats:
    """1 - erf(x), which NumPy does not have."""
    return np.array([math.erfc(v) for v in x.reshape(-1).tolist()], np.float32).reshape(x.shape)


class Elu(FloatTable):
    """x, or exp(x) - 1 below zero."""

    kind = "ELU"

    def misjudged(self, g: Graph) -> str | None:
        return _missing(self)

    def cancelled(self, g: Graph, values: Sequence[Array | None]) -> float:
        """It is exp(x) - 1 below zero."""
        return 1.0

    def real(self, x: Floats) -> Floats:
        return np.where(x < 0, _quietly(x, np.expm1), x)


class Sqrt(Unary):
    """Quantized: the root in float32, divided by the output's scale, rounded towards zero."""

    types = (DType.INT8, DType.INT16, DType.FLOAT32)
    kind = "SQRT"

    def misjudged(self, g: Graph) -> str | None:
        return _stops(g, self)

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
    """Quantized: the distance from the zero point, rescaled. Of plain integers the least one stays what it is."""

    types = (DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32)
    kind = "ABS"

    def unsupported(self, g: Graph) -> str | None:
        plain = self.input(g).dtype == DType.INT16 and not self.rescales(self.input(g))
        return _plain_problem(g, self) if plain else super().unsupported(g)

    @staticmethod
    def rescales(x: Tensor) -> bool:
        """Whether values are quantized: int16 ones may be plain integers, int32 ones are."""
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
    """Why an operator on unquantized values does not take these types, or None."""
    x, y = op.input(g), op.output(g)
    if x.dtype not in op.types:
        return f"{x.dtype} input is not supported (only {', '.join(op.types)})"
    return None if y.dtype == x.dtype else f"{x.dtype} input with {y.dtype} output is not supported"


class UnaryUnscaled(Unary):
    """A function of the numbers as they are stored, whatever they stand for."""

    def unsupported(self, g: Graph) -> str | None:
        return _plain_problem(g, self)


class Neg(UnaryUnscaled):
    """The least integer stays what it is."""

    types = (DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32)
    kind = "NEG"

    def table(self, g: Graph) -> NDArray[np.int8]:
        return (-INT8).astype(np.int8)

    def wide(self, q: Ints, x: Tensor, y: Tensor) -> Ints:
        return -q

    def real(self, x: Floats) -> Floats:
        return -x


class Sign(UnaryUnscaled):
    """-1, 0 or 1; 0 of what is no number."""

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
    """A function of float32 numbers only."""

    types = (DType.FLOAT32,)


class Sin(UnaryFloat):
    kind = "SIN"

    def real(self, x: Floats) -> Floats:
        return _quietly(x, np.sin)


class Cos(UnaryFloat):
    kind = "COS"

    def real(self, x: Floats) -> Floats:
        return _quietly(x, np.cos)


class Square(UnaryFloat):
    kind = "SQUARE"

    def real(self, x: Floats) -> Floats:
        return _quietly(x, np.square)


class Ceil(UnaryFloat):
    kind = "CEIL"

    def misjudged(self, g: Graph) -> str | None:
        return _missing(self)

    def real(self, x: Floats) -> Floats:
        return np.ceil(x)


class Floor(UnaryFloat):
    kind = "FLOOR"

    def real(self, x: Floats) -> Floats:
        return np.floor(x)


class Round(UnaryFloat):
    """To the nearest integer, halves to the even one."""

    kind = "ROUND"

    def misjudged(self, g: Graph) -> str | None:
        return _missing(self)

    def real(self, x: Floats) -> Floats:
        return np.rint(x)
