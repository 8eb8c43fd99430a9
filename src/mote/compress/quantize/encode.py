"""Real numbers as integers: scales and zero points of ranges, weights and biases in steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.graph import Quantization
from mote.graph.tensor import Array
from mote.graph.types import DType

LEAST_SCALE = 2.0**-30
"""Steps are not finer than that, so that no product of scales is too small for a file's float32."""
MOST_BIAS = 1 << 30
"""Biases go no further, so that the sums that they are added to fit 32 bits."""

Range = tuple[float, float]


def steps(low: float, high: float, dtype: DType) -> Quantization:
    """How a range of real numbers, widened to hold zero, is held: int16 has the zero point 0, int8 any."""
    low, high = min(low, 0.0), max(high, 0.0)
    if dtype == DType.INT16:
        return one_scale(_scale(max(-low, high) / dtype.limits[1]), 0)
    least, most = dtype.limits
    scale = _scale((high - low) / (most - least))
    return one_scale(scale, int(np.clip(np.round(least - low / scale), least, most)))


def _scale(real: float) -> float:
    """As a file holds it. A tensor that is zero always has steps of one."""
    return float(np.float32(max(real, LEAST_SCALE))) if real > 0 else 1.0


def one_scale(scale: float, zero_point: int) -> Quantization:
    return Quantization(np.array([scale], np.float32), np.array([zero_point], np.int64))


def in_steps(values: Array, quant: Quantization, dtype: DType) -> Array:
    """Real numbers in the steps of one scale, rounded to the nearest; what is out of range is clamped."""
    found = np.round(values.astype(np.float64) / float(quant.scale[0])) + int(quant.zero_point[0])
    return np.clip(found, *dtype.limits).astype(dtype.numpy)


def real_numbers(values: Array, quant: Quantization | None) -> NDArray[np.float64]:
    """What the values of an activation stand for; those without a scale for themselves."""
    wide = values.astype(np.float64)
    return wide if quant is None else (wide - float(quant.zero_point[0])) * float(quant.scale[0])


def weight_scales(
    weights: Array, axis: int | None, most: int, bias: Array | None = None, input_scale: float = 1.0
) -> NDArray[np.float32]:
    """Symmetric scales with which the largest weight of each channel (of all, without an axis) becomes `most`. They are
    large enough for biases in steps of products to fit 32 bits."""
    others = tuple(i for i in range(weights.ndim) if i != axis)
    largest = np.abs(weights.astype(np.float64)).max(axis=others, initial=0.0) / most
    if bias is not None:
        needed = np.abs(bias.astype(np.float64)) / MOST_BIAS / input_scale
        largest = np.maximum(largest, needed if axis is not None else needed.max(initial=0.0))
    scales = np.where(largest > 0, np.maximum(largest, LEAST_SCALE), 1.0)
    return np.atleast_1d(scales).astype(np.float32)


def weight_steps(weights: Array, scales: NDArray[np.float32], axis: int, most: int) -> NDArray[np.int8]:
    """Weights in steps of their channels, rounded to the nearest."""
    spread = along(scales, axis, weights.ndim)
    return np.clip(np.round(weights.astype(np.float64) / spread), -most, most).astype(np.int8)


def along(scales: NDArray[np.float32], axis: int, rank: int) -> NDArray[np.float64]:
    """Scales of channels in a shape that is repeated over weights."""
    wide = scales.astype(np.float64)
    return wide if wide.size == 1 else wide.reshape([-1 if i == axis else 1 for i in range(rank)])


def bias_steps(bias: Array, scales: NDArray[np.float32], dtype: DType) -> Array:
    """A bias in steps of the products of each channel."""
    most = MOST_BIAS if dtype == DType.INT32 else 1 << 39
    return np.clip(np.round(bias.astype(np.float64) / scales.astype(np.float64)), -most, most).astype(dtype.numpy)
