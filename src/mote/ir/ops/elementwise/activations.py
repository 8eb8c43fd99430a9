"""Element-wise unary operators: their base class and the activations (the others are in `unary_math`). int8 functions
are lookup tables of 256 results, computed at compile time."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.numeric.fixedpoint import Ints, quantize_multiplier, rescale, rounding_shift_right, wrap32
from mote.ir.graph.numeric.fixedpoint16 import interpolate, line_ends, logistic_by_table, saturate16, tanh_by_table
from mote.ir.graph.ranges import Range
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import largest
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import activation_type, quantized_range, round_half_away, scale_problem
from mote.ir.ops.elementwise.arithmetic import INT8
from mote.ir.ops.pointwise import Pointwise

Floats = NDArray[np.float32]


class Unary(Pointwise):
    """y[i] = f(x[i]). A subclass declares its types and implements f for float32 (`real`), int8 (`quantized`) and wider
    integers (`wide`)."""

    types: ClassVar[tuple[DType, ...]] = (DType.INT8, DType.FLOAT32)
    symmetric: ClassVar[bool] = True
    """Whether the operator requires zero point 0 of int16 tensors."""

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if problem := activation_type(g, self, dtypes=self.types):
            return problem
        if x.dtype == DType.INT16 and self.symmetric and (problem := _zero_point_problem(x, y)):
            return problem
        return scale_problem(*self.scales(x, y)) if x.dtype in (DType.INT8, DType.INT16) else None

    def scales(self, x: Tensor, y: Tensor) -> list[tuple[int, int]]:
        """The multipliers and shifts that quantized values are rescaled by."""
        return []

    def is_identity(self, g: Graph) -> bool:
        x, y = self.input(g), self.output(g)
        if x.dtype != DType.INT8 or x.quant is None or not x.quant.same_as(y.quant):
            return False
        return np.array_equal(self.table(g), INT8)

    def quantized(self, x: Tensor, y: Tensor) -> Ints:
        """The results of the function for all int8 inputs, from -128 to 127, before clamping to int8."""
        raise NotImplementedError

    def wide(self, q: Ints, x: Tensor, y: Tensor) -> Ints:
        """The results of the function for int16 or int32 inputs; overflow wraps."""
        raise NotImplementedError

    def real(self, x: Floats) -> Floats:
        raise NotImplementedError

    def table(self, g: Graph) -> NDArray[np.int8]:
        """The lookup table: the int8 result for input q at index q + 128."""
        return np.clip(self.quantized(self.input(g), self.output(g)), -128, 127).astype(np.int8)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        (x,) = inputs
        if x is None:
            return None
        table = self.table(g)
        ends, channels = np.unique(np.stack([x.low, x.high], axis=1), axis=0, return_inverse=True)
        reached = [table[low + 128 : high + 129] for low, high in ends]
        extremes = (np.array([pick(values) for values in reached], np.int64) for pick in (np.min, np.max))
        return Range(*(values[channels.reshape(-1)] for values in extremes))

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        return {0: np.arange(self.output(g).channels, dtype=np.int64)}

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x = values[0]
        assert x is not None
        if x.dtype == np.float32:
            return [self.real(x.astype(np.float32))]
        if x.dtype.itemsize > 1:
            return [self.wide(x.astype(np.int64), self.input(g), self.output(g)).astype(x.dtype)]
        return [self.table(g)[x.astype(np.int8).astype(np.int64) + 128]]


class LookupTable(Unary, eq=False):
    """TABLE: an arbitrary unary int8 function, by its results for -128..127. Passes fuse chains of operators into
    it."""

    values: NDArray[np.int8]
    kind = "TABLE"

    def unsupported(self, g: Graph) -> str | None:
        return _byte_problem(g, self)

    def quantized(self, x: Tensor, y: Tensor) -> Ints:
        return self.values.astype(np.int64)


class FloatTable(Unary):
    """A function for which LiteRT's int8 kernel has a lookup table of the float32 function, computed from the two
    scales."""

    def misjudged(self, g: Graph) -> str | None:
        """LiteRT's conversion of results outside of int32 (int16 functions: of infinite results) depends on the
        platform."""
        x, y = self.input(g), self.output(g)
        if x.dtype not in (DType.INT8, DType.INT16):
            return None
        codes = np.linspace(*x.dtype.limits, 256, dtype=np.int64)
        with np.errstate(all="ignore"):
            inputs = np.float32(x.scale) * (codes - x.zero_point).astype(np.float32)
            steps = self.tabled(inputs, y) / np.float32(y.scale)
        most = 2.0**31 if x.dtype == DType.INT8 else math.inf
        return None if np.all(np.abs(steps) < most) else f"LiteRT's {self.kind} overflows"

    def quantized(self, x: Tensor, y: Tensor) -> Ints:
        inputs = np.float32(x.scale) * (INT8 - x.zero_point).astype(np.float32)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            scaled = self.tabled(inputs, y) * (np.float32(1) / np.float32(y.scale))
        return np.array([round_half_away(v) for v in within(scaled)], np.int64) + y.zero_point

    def tabled(self, x: Floats, y: Tensor) -> Floats:
        """The float32 function in the lookup table; subclasses replace its results where they are undefined."""
        return self.real(x)


FAR = 2.0**20
"""Number of quantization steps beyond which any result saturates, whatever the zero point is."""


def within(steps: Floats) -> list[float]:
    """Results in quantization steps, clamped to +-FAR; NaN becomes 0."""
    clamped: list[float] = np.nan_to_num(np.clip(steps.astype(np.float64), -FAR, FAR)).tolist()
    return clamped


class Interpolated(FloatTable):
    """A function for which LiteRT's int16 kernel interpolates between 513 table entries of the float32 function."""

    types = (DType.INT8, DType.INT16, DType.FLOAT32)

    def misjudged(self, g: Graph) -> str | None:
        """Why LiteRT's result is platform-dependent: on Arm it is built with fused multiply-adds, which changes table
        entries by one now and then."""
        if self.input(g).dtype == DType.INT16 and platform.machine() in ("aarch64", "arm64"):
            return f"LiteRT's int16 {self.kind} depends on the machine"
        return super().misjudged(g)

    def ends(self, x: Tensor, y: Tensor) -> NDArray[np.int16]:
        def function(values: NDArray[np.floating]) -> NDArray[np.floating]:
            return self.tabled(values.astype(np.float32), y)

        return line_ends(function, (x.scale, x.zero_point), (y.scale, y.zero_point))

    def wide(self, q: Ints, x: Tensor, y: Tensor) -> Ints:
        return interpolate(q, self.ends(x, y))


class Sigmoid(FloatTable):
    """LOGISTIC and TANH: LiteRT's int16 kernels share one sigmoid table."""

    types = (DType.INT8, DType.INT16, DType.FLOAT32)
    most_doubled: ClassVar[int] = 0
    """Input scales of 2^-12 up to 2^(most_doubled - 12) use an exact multiplier without shift."""

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if problem := super().unsupported(g):
            return problem
        if x.dtype != DType.INT16:
            return None
        if not self.has_required_scale(y):
            return f"the output's scale is {y.scale:g}, LiteRT wants 1/32768"
        mult, _ = self.argument(x)
        return None if mult <= 65535 else f"the input's scale {x.scale:g} does not fit LiteRT's 32 bits"

    def has_required_scale(self, y: Tensor) -> bool:
        """Whether an int16 output has the scale that LiteRT requires: 1/32768."""
        return y.scale == 1 / 32768

    def argument(self, x: Tensor) -> tuple[int, int]:
        """Multiplier and right shift that rescale int16 inputs to 12 * 2^10 steps per unit."""
        power, exact = _power_of_two(x.scale)
        if exact and 0 <= power + 12 <= self.most_doubled:
            return 3 << power + 12, 0
        mult, shift = x.scale * 4096.0 * 3.0, 0
        while mult <= 32767.0 / 2.0 and shift <= 30:
            mult, shift = mult * 2.0, shift + 1
        return int(mult), shift


def _power_of_two(scale: float) -> tuple[int, bool]:
    """Exponent of the nearest power of two, and whether the scale is close enough to it for LiteRT."""
    exponent = np.log(np.float32(scale)) * (np.float32(1) / np.log(np.float32(2)))
    nearest = round_half_away(float(exponent))
    return nearest, bool(abs(np.float32(exponent) - np.float32(nearest)) < np.float32(1e-3))


class Logistic(Sigmoid):
    kind = "LOGISTIC"

    def unsupported(self, g: Graph) -> str | None:
        y = self.output(g)
        if problem := super().unsupported(g):
            return problem
        if y.dtype == DType.INT8 and y.scale != 1 / 256:
            return f"the output's scale is {y.scale:g}, LiteRT wants 1/256"
        return None

    def wide(self, q: Ints, x: Tensor, y: Tensor) -> Ints:
        return logistic_by_table(q, *self.argument(x))

    def cancelled_magnitude(self, g: Graph, values: Sequence[Array | None]) -> float:
        """Some runtimes compute it as (1 + tanh(x / 2)) / 2, whose terms of size 1 cancel."""
        return 1.0

    def real(self, x: Floats) -> Floats:
        one = np.float32(1)
        with np.errstate(over="ignore"):
            return (one / (one + np.exp(-x.astype(np.float64)).astype(np.float32))).astype(np.float32)


class Tanh(Sigmoid):
    most_doubled = 1
    kind = "TANH"

    def has_required_scale(self, y: Tensor) -> bool:
        return _power_of_two(y.scale) == (-15, True)

    def wide(self, q: Ints, x: Tensor, y: Tensor) -> Ints:
        return tanh_by_table(q, *self.argument(x))

    def real(self, x: Floats) -> Floats:
        return np.tanh(x.astype(np.float64)).astype(np.float32)


class Clamp(Unary):
    """Base of RELU, RELU6 and others: integers are rescaled to the output's quantization, then clamped."""

    clamp: ClassVar[Activation]

    def scales(self, x: Tensor, y: Tensor) -> list[tuple[int, int]]:
        return [quantize_multiplier(float(np.float32(x.scale) / np.float32(y.scale)))]

    def quantized(self, x: Tensor, y: Tensor) -> Ints:
        scaled = wrap32(rescale(INT8 - x.zero_point, *self.scales(x, y)[0]) + y.zero_point)
        return np.clip(scaled, *quantized_range(self.clamp, y))

    def wide(self, q: Ints, x: Tensor, y: Tensor) -> Ints:
        return np.clip(rescale(q, *self.scales(x, y)[0]), *quantized_range(self.clamp, y))

    def real(self, x: Floats) -> Floats:
        return np.clip(x, *self.clamp.bounds).astype(np.float32)


class Relu(Clamp):
    clamp = Activation.RELU
    types = (DType.INT8, DType.INT16, DType.FLOAT32)
    kind = "RELU"


class Relu6(Clamp):
    clamp = Activation.RELU6
    types = (DType.INT8, DType.INT16, DType.FLOAT32)
    kind = "RELU6"


class Relu0To1(Clamp):
    clamp = Activation.RELU_0_TO_1
    kind = "RELU_0_TO_1"


class ReluN1To1(Clamp):
    clamp = Activation.RELU_N1_TO_1
    kind = "RELU_N1_TO_1"


class LeakyRelu(Unary):
    """LEAKY_RELU: x, or alpha * x where x < 0; alpha may be negative."""

    alpha: float
    types = (DType.INT8, DType.INT16, DType.FLOAT32)
    kind = "LEAKY_RELU"

    def unsupported(self, g: Graph) -> str | None:
        if not abs(self.alpha) <= float(np.finfo(np.float32).max):
            return f"a slope of {self.alpha:g} is more than float32 holds"
        return super().unsupported(g)

    def scales(self, x: Tensor, y: Tensor) -> list[tuple[int, int]]:
        """Multiplier and shift for x >= 0, and those of |alpha| for x < 0."""
        ratio = np.float32(x.scale) / np.float32(y.scale)
        slope = np.float32(x.scale) * np.float32(self.alpha) / np.float32(y.scale)
        return [quantize_multiplier(abs(float(real))) for real in (ratio, slope)]

    def quantized(self, x: Tensor, y: Tensor) -> Ints:
        return wrap32(self._scaled(INT8 - x.zero_point, x, y) + y.zero_point)

    def wide(self, q: Ints, x: Tensor, y: Tensor) -> Ints:
        return saturate16(self._scaled(q, x, y))

    def _scaled(self, q: Ints, x: Tensor, y: Tensor) -> Ints:
        above, below = (rescale(q, *scale) for scale in self.scales(x, y))
        return np.where(q >= 0, above, below if self.alpha >= 0 else -below)

    def real(self, x: Floats) -> Floats:
        return np.where(x > 0, x, x * np.float32(self.alpha)).astype(np.float32)


class HardSwish(Unary):
    """HARD_SWISH: x * clamp(x + 3, 0, 6) / 6. int8: in 16-bit fixed point, with LiteRT's rounding and saturation."""

    kind = "HARD_SWISH"

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g):
            return problem
        if self.input(g).dtype == DType.FLOAT32:
            return None
        (_, out_shift), (_, unit_shift) = self.multipliers(self.input(g), self.output(g))
        if out_shift > 0 or min(out_shift, unit_shift) < -15:
            return f"scales {self.input(g).scale:g} and {self.output(g).scale:g} overflow LiteRT's 16 bits"
        return None

    @staticmethod
    def multipliers(x: Tensor, y: Tensor) -> tuple[tuple[int, int], tuple[int, int]]:
        """16-bit multipliers and shifts that rescale from the input's scale / 128: to the output's scale, and to 3 /
        32768."""
        fine = np.float32(x.scale) * np.float32(1 / 128)
        out = _int16_multiplier(float(fine / np.float32(y.scale)))
        unit = _int16_multiplier(float(fine / (np.float32(3) / np.float32(32768))))
        return out, unit

    def quantized(self, x: Tensor, y: Tensor) -> Ints:
        (out_mult, out_shift), (unit_mult, unit_shift) = self.multipliers(x, y)
        fine = (INT8 - x.zero_point) << 7
        value = _high_mul16(fine, out_mult)
        gate = fine
        if unit_shift > 0:
            gate = _clamp16(gate << (unit_shift - 1))
        gate = _high_mul16(gate, unit_mult)
        gate = _clamp16(gate << 1) if unit_shift > 0 else rounding_shift_right(gate, -unit_shift)
        product = ((gate + (1 << 15)) >> 1) * value
        truncated = np.where(product < 0, -(-product >> 15), product >> 15)
        return rounding_shift_right(truncated, -out_shift) + y.zero_point

    def cancelled_magnitude(self, g: Graph, values: Sequence[Array | None]) -> float:
        """Magnitude of the cancelling terms of x * (x + 3) / 6 for x in -3..0."""
        assert values[0] is not None
        return largest(np.clip(values[0], -3, 0))

    def real(self, x: Floats) -> Floats:
        gate: Floats = np.clip(x + np.float32(3), np.float32(0), np.float32(6))
        return (x * gate / np.float32(6)).astype(np.float32)


class RequantizeInt8(Unary):
    """QUANTIZE between 8-bit types (int8, uint8): requantization by a lookup table."""

    kind = "QUANTIZE"

    def unsupported(self, g: Graph) -> str | None:
        return _byte_problem(g, self) or scale_problem(*self.scales(self.input(g), self.output(g)))

    def scales(self, x: Tensor, y: Tensor) -> list[tuple[int, int]]:
        return [quantize_multiplier(x.scale / y.scale)]

    def quantized(self, x: Tensor, y: Tensor) -> Ints:
        values = INT8 & 0xFF if x.dtype == DType.UINT8 else INT8
        return wrap32(rescale(values - x.zero_point, *self.scales(x, y)[0]) + y.zero_point)

    def table(self, g: Graph) -> NDArray[np.int8]:
        """The lookup table as bytes: the result (int8 or uint8) for each byte of input."""
        y = self.output(g)
        limits = np.iinfo(y.dtype)
        return np.clip(self.quantized(self.input(g), y), limits.min, limits.max).astype(np.int8)


class Flip(RequantizeInt8):
    """QUANTIZE between uint8 and int8 with equal scales and zero points 128 apart: flips the highest bit."""


class ConcatRescale(Unary):
    """Requantization in float32, as in LiteRT's CONCATENATION of uint8 inputs."""

    kind = "QUANTIZE"

    def quantized(self, x: Tensor, y: Tensor) -> Ints:
        """The results for the uint8 values (128 higher) that the int8 values stand for."""
        scale = np.float32(x.scale) * (np.float32(1) / np.float32(y.scale))
        bias = np.float32(-(x.zero_point + 128)) * scale
        real = (INT8 + 128).astype(np.float32) * scale + bias
        rounded = np.copysign(np.floor(np.abs(real.astype(np.float64)) + 0.5), real)
        whole: Ints = np.clip(rounded, -(1 << 30), 1 << 30).astype(np.int64)
        return whole + y.zero_point


def _zero_point_problem(x: Tensor, y: Tensor) -> str | None:
    """Why int16 tensors of a unary function are not supported (zero point other than 0), or None."""
    for t in (x, y):
        if t.zero_point != 0:
            return f"int16 tensor '{t.name}' has the zero point {t.zero_point}, LiteRT wants 0"
    return None


def _byte_problem(g: Graph, op: Op) -> str | None:
    """Why input or output of a unary 8-bit function is not supported, or None."""
    for t in (op.input(g), op.output(g)):
        if t.dtype not in (DType.INT8, DType.UINT8):
            return f"{op.input(g).dtype} input with {op.output(g).dtype} output is not supported"
        if t.quant is None or t.quant.per_channel or t.scale <= 0:
            return f"{t.dtype} tensor '{t.name}' has no per-tensor quantization"
    return None


def _int16_multiplier(real: float) -> tuple[int, int]:
    mult, shift = quantize_multiplier(real)
    return min((mult + (1 << 15)) >> 16, (1 << 15) - 1), shift


def _high_mul16(a: Ints, b: int) -> Ints:
    return (a * b + (1 << 14)) >> 15


def _clamp16(x: Ints) -> Ints:
    return np.clip(x, -(1 << 15), (1 << 15) - 1)
