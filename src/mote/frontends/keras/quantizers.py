"""The quantizers of QKeras: of weights at compile time, and of activations at run time."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import quantized
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras import activations
from mote.ir.graph import Quantization
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

EPSILON = np.float32(1e-7)
"""Epsilon that Keras adds against divisions by zero."""
PLACES: Mapping[str, tuple[str, ...]] = {
    "binary": ("use_01", "alpha", "use_stochastic_rounding"),
    "quantized_bits": ("bits", "integer", "symmetric", "keep_negative", "alpha", "use_stochastic_rounding"),
    "quantized_hswish": ("bits", "integer", "symmetric", "alpha", "use_stochastic_rounding"),
    "quantized_linear": ("bits", "integer", "symmetric", "keep_negative", "alpha", "use_stochastic_rounding"),
    "quantized_po2": ("bits", "max_value", "use_stochastic_rounding", "quadratic_approximation", "log2_rounding"),
    "quantized_relu": (
        *("bits", "integer", "use_sigmoid", "negative_slope", "use_stochastic_rounding", "relu_upper_bound"),
        "is_quantized_clip",
    ),
    "quantized_relu_po2": (
        *("bits", "max_value", "negative_slope", "use_stochastic_rounding", "quadratic_approximation"),
        "log2_rounding",
    ),
    "quantized_sigmoid": ("bits", "symmetric", "use_real_sigmoid", "use_stochastic_rounding"),
    "quantized_tanh": ("bits", "use_stochastic_rounding", "symmetric", "use_real_tanh"),
    "stochastic_binary": ("alpha", "temperature", "use_real_sigmoid"),
    "stochastic_ternary": ("alpha", "threshold", "temperature", "use_real_sigmoid", "number_of_unrolls"),
    "ternary": ("alpha", "threshold", "use_stochastic_rounding", "number_of_unrolls"),
}
"""The supported quantizers, and the names of their options in the order of their arguments. Stochastic ones round
deterministically in inference."""
AUTO = ("auto", "auto_po2")
FOUND = "post_training_scale"
"""The option with a scale that training has found; QKeras 0.9 has none, and rounds once less."""
THRESHOLD = 0.33
"""QKeras's threshold of ternary numbers with a fixed alpha."""
FIXED_ALPHA = "give the quantizer a number as its alpha, train with it, and save the model again"
GRIDS = "quantize these activations with quantized_bits, quantized_linear or quantized_relu, and save the model again"
LONGEST = 1000
"""Length limit of a quantizer that is given as a string."""


@dataclass(frozen=True)
class Grid:
    """A uniform quantization grid: `step` times the integers from `low` to `high`."""

    step: float
    low: int
    high: int

    @property
    def dtype(self) -> DType | None:
        """The 8-bit type that holds all of its integers."""
        if self.low >= -128 and self.high <= 127:
            return DType.INT8
        return DType.UINT8 if self.low >= 0 and self.high <= 255 else None

    @property
    def is_whole(self) -> bool:
        """Whether its integers are the full range of an 8-bit type, at which codes saturate."""
        return (self.low, self.high) in ((-128, 127), (0, 255))

    @property
    def quantization(self) -> Quantization:
        return quantized.quantization(self.step, 0, self.dtype or DType.INT8)

    def codes(self, b: Builder, x: Value) -> Value:
        """The nearest grid point, halves to even, as an 8-bit code."""
        within = x if self.is_whole else e.clip(b, x, self.low * self.step, self.high * self.step)
        return quantized.quantize(b, within, self.quantization, self.dtype or DType.INT8)

    def of(self, b: Builder, x: Value) -> Value:
        """The nearest grid point."""
        if self.dtype is not None:
            return quantized.dequantize(b, self.codes(b, x))
        steps = e.round_(b, e.scaled(b, x, 1 / self.step))
        return e.scaled(b, e.clip(b, steps, float(self.low), float(self.high)), self.step)


@dataclass(frozen=True)
class Quantizer:
    """A quantizer by its name and options."""

    name: str
    options: Mapping[str, Any]

    def number(self, option: str, default: float) -> float:
        value = self.options.get(option, default)
        value = default if value is None else value
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if not isinstance(value, int | float) or not np.isfinite(value) or abs(value) > 1 << 16:
            raise UnsupportedNodeError(f"{option} of {self.name} is {value!r}, which is not a supported number")
        return float(value)

    def integer(self, option: str, default: int) -> int:
        value = self.number(option, default)
        if value != int(value) or not -64 <= value <= 64:
            raise UnsupportedNodeError(f"{option} of {self.name} is {value:g}, which is not a supported integer")
        return int(value)

    @property
    def alpha(self) -> Any:
        return self.options.get("alpha")

    @property
    def without_factor(self) -> Quantizer:
        return Quantizer(self.name, {**self.options, "alpha": None})

    # Constants

    def of_weights(self, x: Array) -> Array:
        """Quantized constants, in single precision as QKeras computes them."""
        if x.dtype.kind not in "fiub" or not x.ndim or not x.size:
            raise UnsupportedNodeError(f"weights of the type {x.dtype} and the shape {x.shape} are not supported")
        with np.errstate(all="ignore"):
            made = self._of_weights(x.astype(np.float32))
        if not np.all(np.isfinite(made)):
            raise UnsupportedNodeError(f"{self.name} gives weights that are not finite")
        rounded: Array = np.asarray(made, np.float32)
        return rounded

    def _of_weights(self, x: Array) -> Array:
        automatic = isinstance(self.alpha, str)
        if automatic and self.alpha not in AUTO:
            raise UnsupportedNodeError(f"alpha '{self.alpha}' of {self.name} is not supported")
        if self.name == "quantized_bits":
            return self._bits_by_itself(x) if automatic else self._bits(x)
        if self.name == "quantized_linear" and (automatic or self.is_sign):
            return self._linear_by_itself(x) if automatic else np.asarray(_signs(x) * np.float32(self.unit / 2))
        if self.name in ("binary", "stochastic_binary"):
            signs = _signs(x)
            signs = (signs + 1) / 2 if self.options.get("use_01") else signs
            return _scale(self.alpha, x, signs) * signs if automatic else np.float32(self.number("alpha", 1.0)) * signs
        if self.name in ("ternary", "stochastic_ternary"):
            return self._ternary_by_itself(x) if automatic else self._ternary(x)
        if self.name == "quantized_po2":
            return np.asarray(_signs(x) * self._power(np.abs(x), self.integer("bits", 8) - 1))
        if self.name == "quantized_relu_po2" and not self.number("negative_slope", 0):
            return self._power(np.maximum(x, 0), self.integer("bits", 8))
        if (grid := self.grid) is not None:
            step = np.float32(grid.step)
            return np.asarray(np.clip(np.rint(x / step), grid.low, grid.high) * step)
        raise UnsupportedNodeError(f"{self.name} is not supported for weights")

    def _bits(self, x: Array) -> Array:
        factor = np.float32(self.number("alpha", 1.0))
        plain = self.without_factor.grid
        if plain is None:
            signs = _signs(x)
            return factor * (signs if self.options.get("keep_negative", True) else (signs + 1) / 2)
        step = np.float32(plain.step)
        return np.asarray(factor * (np.clip(np.rint(x / step), plain.low, plain.high) * step))

    def _bits_by_itself(self, x: Array) -> Array:
        """Weights with automatic per-channel scales, from the largest weight of each channel."""
        bits, whole = self.integer("bits", 8), np.float32(2.0 ** self.integer("integer", 0))
        axes = self._axes(x)
        x = x / whole
        levels = np.float32((2 ** (bits - 1) - 1) * 2)
        scale = np.max(np.abs(x), axis=axes, keepdims=True) * 2 / levels

        def steps(scale: Array) -> Array:
            return np.sign(x) * np.minimum(np.floor(np.abs(x) / scale + np.float32(0.5)), levels / 2)

        trained = self.options.get(FOUND)
        if trained is not None:
            scale = self._given_scale(trained, x) / np.float32(
                2 ** (bits - bool(self.options.get("keep_negative", True)))
            )
        if self.alpha == "auto" or trained is not None:
            return np.asarray(steps(scale) * scale * whole)
        scale, codes = _power_of_two(scale), np.zeros_like(x)
        for _ in range(5):
            codes = steps(scale)
            scale = _scale(self.alpha, x, codes, axes)
        return np.asarray((steps(scale) if FOUND in self.options else codes) * scale * whole)

    def _given_scale(self, trained: Any, x: Array) -> Array:
        """The scale that training has found, which broadcasts to the weights."""
        try:
            scale = np.asarray(trained, np.float32)
            fits = np.broadcast_shapes(scale.shape, x.shape) == x.shape and bool(np.all(scale > 0))
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise UnsupportedNodeError(f"{FOUND} of {self.name} does not fit weights of the shape {x.shape}")
        return scale

    def _linear_by_itself(self, x: Array) -> Array:
        """Weights on a grid of quantized_linear, whose per-channel steps follow from the weights."""
        half = 0.5 * self.is_sign
        low, high = (-0.5, 0.5) if self.is_sign else self._ends
        axes = tuple(a for a in range(x.ndim) if a != x.ndim - 1)
        signed = bool(self.options.get("keep_negative", True))
        largest = np.max(np.abs(x) if signed else x, axis=axes, keepdims=True)
        step = np.maximum(largest * np.float32(2 if signed else 1) / np.float32(high - low), EPSILON)

        def codes(step: Array) -> Array:
            return np.rint(np.clip(x / step, low, high) - np.float32(half)) + np.float32(half)

        if self.alpha == "auto_po2":
            step = _power_of_two(step)
            for _ in range(1 if self.is_sign else 5):
                step = _scale(self.alpha, x, codes(step))
        return np.asarray(codes(step) * step)

    def _axes(self, x: Array) -> tuple[int, ...]:
        """All axes but the channel axis."""
        if x.ndim < 2:
            return (0,)
        along = self.options.get("scale_axis")
        along = along if isinstance(along, int) else x.ndim - 1
        return tuple(a for a in range(x.ndim) if a != along)

    def _ternary(self, x: Array) -> Array:
        factor = np.float32(self.number("alpha", 1.0))
        return np.asarray((np.abs(x) >= np.float32(self.number("threshold", THRESHOLD))) * np.sign(x) * factor)

    def _ternary_by_itself(self, x: Array) -> Array:
        axes = tuple(range(x.ndim - 1)) if x.ndim > 1 else None
        scale = 2 * np.max(np.abs(x), axis=axes, keepdims=True) / np.float32(3)
        scale, codes = _power_of_two(scale) if self.alpha == "auto_po2" else scale, np.zeros_like(x)
        for _ in range(min(self.integer("number_of_unrolls", 5), 64)):
            codes = (np.abs(scale * np.rint(x / scale)) >= scale / 2) * np.sign(x)
            scale = _scale(self.alpha, x, codes)
        return np.asarray(scale * codes)

    def _power(self, x: Array, bits: int) -> Array:
        """The nearest power of two of non-negative numbers."""
        most = self.options.get("max_value")
        quadratic = bool(self.options.get("quadratic_approximation"))
        bits -= most is None or self.number("max_value", 1) > 1
        if not 0 <= bits <= 10:
            raise UnsupportedNodeError(f"{self.name} of {bits} bits is not supported")
        low, high = -(2**bits), 2**bits - 1
        high = 2 * (high // 2) if quadratic else high
        within = np.maximum(x, EPSILON)
        within = within if most is None else np.minimum(within, np.float32(self.number("max_value", 1)))
        power = np.log(np.sqrt(within) if quadratic else within) / np.float32(np.log(2.0))
        power = np.floor(power) if self.options.get("log2_rounding") == "floor" else np.rint(power)
        power = (2 if quadratic else 1) * np.clip(power, low, high)
        return np.asarray(np.exp2(np.where(x < EPSILON, np.float32(low), power)))

    # Values

    @property
    def unit(self) -> float:
        """The step of quantized_linear with a fixed alpha."""
        signed = bool(self.options.get("keep_negative", True))
        return float(self.number("alpha", 1.0) * 2.0 ** (self.integer("integer", 0) - self.integer("bits", 8) + signed))

    @property
    def is_sign(self) -> bool:
        """Whether it is quantized_linear of one bit with a sign: half of a step, up or down."""
        one = self.name == "quantized_linear" and self.integer("bits", 8) == 1
        return one and bool(self.options.get("keep_negative", True))

    @property
    def _ends(self) -> tuple[int, int]:
        """The least and the largest integer of quantized_linear."""
        signed = bool(self.options.get("keep_negative", True))
        most = 2 ** min(max(self.integer("bits", 8) - signed, 0), 31)
        return (-most + bool(self.options.get("symmetric", 1))) * signed, most - 1

    @property
    def grid(self) -> Grid | None:
        """The grid that it rounds to; None where it is not uniform."""
        if self.name == "quantized_linear" and not isinstance(self.alpha, str) and not self.is_sign:
            low, high = self._ends
            return Grid(self.unit, low, high) if low < high < 1 << 24 and self.unit > 0 else None
        if self.name == "quantized_bits" and not isinstance(self.alpha, str):
            signed = bool(self.options.get("keep_negative", True))
            bits = self.integer("bits", 8) - signed
            if not 1 <= bits <= 24:
                return None
            most = 2**bits
            low = (-most + bool(self.options.get("symmetric", 0))) * signed
            factor = self.number("alpha", 1.0)
            return Grid(factor * 2.0 ** (self.integer("integer", 0) - bits), low, most - 1) if factor == 1 else None
        plain = not self.number("negative_slope", 0) and not self.options.get("use_sigmoid")
        if self.name == "quantized_relu" and plain and self._bound is None:
            bits = self.integer("bits", 8)
            return Grid(2.0 ** (self.integer("integer", 0) - bits), 0, 2**bits - 1) if 1 <= bits <= 24 else None
        return None

    @property
    def _bound(self) -> float | None:
        """The upper bound of quantized_relu where it is not on its grid."""
        bound = self.options.get("relu_upper_bound")
        return (
            None if bound is None or self.options.get("is_quantized_clip", True) else self.number("relu_upper_bound", 0)
        )

    def of_value(self, b: Builder, x: Value) -> Value:
        """A quantized value."""
        if isinstance(self.alpha, str):
            raise UnsupportedNodeError(
                f"{self.name} with alpha '{self.alpha}' computes its scale from every input", FIXED_ALPHA
            )
        if (grid := self.grid) is not None:
            return grid.of(b, x)
        function = _VALUES.get(self.name)
        if function is None:
            raise UnsupportedNodeError(f"the quantizer {self.name} is not supported for activations", GRIDS)
        return function(self, b, x)


def _signs(x: Array) -> Array:
    """The sign, with 1 for zero."""
    signs: Array = np.where(x < 0, np.float32(-1), np.float32(1))
    return signs


def _power_of_two(scale: Array) -> Array:
    powers: Array = np.exp2(np.rint(np.log(scale + EPSILON) / np.float32(np.log(2.0)))).astype(np.float32)
    return powers


def _scale(alpha: str, x: Array, codes: Array, axes: tuple[int, ...] | None = None) -> Array:
    """The per-channel scale that minimizes the error of the codes."""
    if x.ndim > 1:
        axes = tuple(range(x.ndim - 1)) if axes is None else axes
        products, squares = (np.mean(v, axis=axes, keepdims=True, dtype=np.float32) for v in (x * codes, codes * codes))
    else:
        products, squares = x * codes, codes * codes
    scale: Array = np.asarray(products / (squares + EPSILON), np.float32)
    return _power_of_two(scale) if alpha == "auto_po2" else scale


def _bits_value(q: Quantizer, b: Builder, x: Value) -> Value:
    """quantized_bits with a scale, or with one bit."""
    factor = q.number("alpha", 1.0)
    grid = q.without_factor.grid
    if grid is not None:
        return e.scaled(b, grid.of(b, x), factor)
    low = -1.0 if q.options.get("keep_negative", True) else 0.0
    return _chosen(b, x, factor, low * factor)


def _linear_value(q: Quantizer, b: Builder, x: Value) -> Value:
    """quantized_linear of one bit."""
    if not q.is_sign:
        raise UnsupportedNodeError("quantized_linear needs a positive alpha and 1 to 24 bits", GRIDS)
    return _chosen(b, x, q.unit / 2, -q.unit / 2)


def _hard_swish_value(q: Quantizer, b: Builder, x: Value) -> Value:
    """x times a ramp, then quantized_bits."""
    shift, bound = q.number("relu_shift", 3.0), q.number("relu_upper_bound", 6.0)
    ramp = e.clip(b, e.scaled(b, x, 1.0, shift), 0.0, bound)
    made = e.div(b, e.mul(b, x, ramp), e.scalar(b, bound))
    return Quantizer("quantized_bits", q.options).of_value(b, made)


def _chosen(b: Builder, x: Value, high: float, low: float) -> Value:
    """One number for non-negative elements, and another for negative ones."""
    return e.where(b, e.greater_equal(b, x, e.scalar(b, 0)), e.scalar(b, high), e.scalar(b, low))


def _binary_value(q: Quantizer, b: Builder, x: Value) -> Value:
    factor = q.number("alpha", 1.0)
    return _chosen(b, x, factor, 0.0 if q.options.get("use_01") else -factor)


def _ternary_value(q: Quantizer, b: Builder, x: Value) -> Value:
    factor, threshold = q.number("alpha", 1.0), q.number("threshold", THRESHOLD)
    positive = e.where(b, e.greater_equal(b, x, e.scalar(b, threshold)), e.scalar(b, factor), e.scalar(b, 0))
    return e.where(b, e.less_equal(b, x, e.scalar(b, -threshold)), e.scalar(b, -factor), positive)


def _relu_value(q: Quantizer, b: Builder, x: Value) -> Value:
    """quantized_relu with a negative slope, or a bound that is not on the grid."""
    if q.options.get("use_sigmoid"):
        return _sigmoid_relu(q, b, x)
    slope, bits = q.number("negative_slope", 0.0), q.integer("bits", 8)
    bits -= bool(slope)
    whole = 2.0 ** q.integer("integer", 0)
    step = whole / 2.0**bits
    above = e.clip(b, _rounded(b, x, step), 0.0, whole - step)
    if slope:
        below = e.clip(b, _rounded(b, e.scaled(b, x, slope), step), -slope * whole, 0.0)
        above = e.add(b, above, below)
    return above if q._bound is None else e.clip(b, above, None, q._bound)


def _rounded(b: Builder, x: Value, step: float) -> Value:
    return e.scaled(b, e.round_(b, e.scaled(b, x, 1 / step)), step)


def _hard_sigmoid(b: Builder, x: Value) -> Value:
    """QKeras's hard sigmoid, clipped to [-1, 1]."""
    return e.clip(b, e.scaled(b, x, 0.5, 0.5), 0.0, 1.0)


def _sigmoid_relu(q: Quantizer, b: Builder, x: Value) -> Value:
    if q.number("negative_slope", 0.0):
        raise UnsupportedNodeError("quantized_relu with both use_sigmoid and a negative_slope is not supported")
    bits, whole = q.integer("bits", 8), 2.0 ** q.integer("integer", 0)
    step = 2.0**-bits
    p = _rounded(b, _hard_sigmoid(b, e.scaled(b, x, 1 / whole)), step)
    return e.scaled(b, e.clip(b, e.scaled(b, p, 2.0, -1.0), 0.0, 1.0 - step), whole)


def _tanh_value(q: Quantizer, b: Builder, x: Value) -> Value:
    step = 2.0 ** -(q.integer("bits", 8) - 1)
    p = e.tanh(b, x) if q.options.get("use_real_tanh") else e.scaled(b, _hard_sigmoid(b, x), 2.0, -1.0)
    return e.clip(b, _rounded(b, p, step), -1.0 + step * bool(q.options.get("symmetric")), 1.0 - step)


def _sigmoid_value(q: Quantizer, b: Builder, x: Value) -> Value:
    step = 2.0 ** -q.integer("bits", 8)
    p = e.sigmoid(b, x) if q.options.get("use_real_sigmoid") else _hard_sigmoid(b, x)
    return e.clip(b, _rounded(b, p, step), step * bool(q.options.get("symmetric")), 1.0 - step)


_VALUES = {
    "binary": _binary_value,
    "quantized_bits": _bits_value,
    "quantized_hswish": _hard_swish_value,
    "quantized_linear": _linear_value,
    "quantized_relu": _relu_value,
    "quantized_sigmoid": _sigmoid_value,
    "quantized_tanh": _tanh_value,
    "stochastic_binary": _binary_value,
    "stochastic_ternary": _ternary_value,
    "ternary": _ternary_value,
}
FUNCTIONS: Mapping[str, activations.Function] = {
    "hard_sigmoid": _hard_sigmoid,
    "hard_tanh": lambda b, x: e.clip(b, x, -1.0, 1.0),
    "smooth_sigmoid": lambda b, x: e.clip(b, e.scaled(b, x, 0.1875, 0.5), 0.0, 1.0),
    "smooth_tanh": lambda b, x: e.clip(b, e.scaled(b, x, 0.375), -1.0, 1.0),
    "binary_sigmoid": lambda b, x: e.round_(b, _hard_sigmoid(b, x)),
    "binary_tanh": lambda b, x: e.scaled(b, e.round_(b, _hard_sigmoid(b, x)), 2.0, -1.0),
}
"""QKeras's functions by name."""


def described(said: Any) -> Quantizer | None:
    """A quantizer as described by a file: by its class and options, or as a call expression."""
    if isinstance(said, Mapping):
        name, options = said.get("class_name"), said.get("config")
        if isinstance(name, str) and isinstance(options, Mapping):
            return _known(name, options)
    return _called(said) if isinstance(said, str) else None


def _known(name: str, options: Mapping[str, Any]) -> Quantizer | None:
    name = name.rpartition(">")[2]
    if options.get("qnoise_factor", 1) not in (None, 1):
        raise UnsupportedNodeError(
            f"{name} quantizes in part: its qnoise_factor is {options['qnoise_factor']}",
            "end training with a qnoise_factor of 1, and save the model again",
        )
    return Quantizer(name, options) if name in PLACES else None


def _called(text: str) -> Quantizer | None:
    """A quantizer from a string such as "quantized_bits(4, 0, alpha=1.0)", whose arguments are literals."""
    if len(text) > LONGEST:
        return None
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        call = tree if isinstance(tree, ast.Call) else None
        name = call.func if call is not None else tree
        if not isinstance(name, ast.Name) or name.id not in PLACES:
            return None
        given = [ast.literal_eval(part) for part in call.args] if call is not None else []
        named = {part.arg or "": ast.literal_eval(part.value) for part in call.keywords} if call is not None else {}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Quantizer(name.id, dict(zip(PLACES[name.id], given, strict=False)) | named)
