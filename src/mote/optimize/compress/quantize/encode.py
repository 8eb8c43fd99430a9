"""Quantization arithmetic: scales and zero points from ranges, weights and biases as integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Quantization
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

LEAST_SCALE = 2.0**-30
"""Smallest scale, so that no product of scales underflows float32."""
MOST_BIAS = 1 << 30
"""Maximum absolute bias, so that accumulators fit 32 bits."""

Range = tuple[float, float]


def steps(low: float, high: float, dtype: DType) -> Quantization:
    """Scale and zero point for a float range, extended to include zero: symmetric for int16, affine for int8."""
    low, high = min(low, 0.0), max(high, 0.0)
    if dtype == DType.INT16:
        return one_scale(_scale(max(-low, high) / dtype.limits[1]), 0)
    least, most = dtype.limits
    scale = _scale((high - low) / (most - least))
    return one_scale(scale, int(np.clip(np.round(least - low / scale), least, most)))


def _scale(real: float) -> float:
    """A scale rounded to float32; 1 for a tensor that is always zero."""
    return float(np.float32(max(real, LEAST_SCALE))) if real > 0 else 1.0


def one_scale(scale: float, zero_point: int) -> Quantization:
    return Quantization(np.array([scale], np.float32), np.array([zero_point], np.int64))


def in_steps(values: Array, quant: Quantization, dtype: DType) -> Array:
    """Quantizes floats per tensor: rounded to nearest, clamped."""
    rounded = np.round(values.astype(np.float64) / float(quant.scale[0])) + int(quant.zero_point[0])
    return np.clip(rounded, *dtype.limits).astype(dtype.numpy)


def real_numbers(values: Array, quant: Quantization | None) -> NDArray[np.float64]:
    """Dequantizes an activation; unquantized values stay as they are."""
    wide = values.astype(np.float64)
    return wide if quant is None else (wide - float(quant.zero_point[0])) * float(quant.scale[0])


def weight_scales(
    weights: Array, axis: int | None, most: int, bias: Array | None = None, input_scale: float = 1.0
) -> NDArray[np.float32]:
    """Symmetric scales per channel (per tensor if `axis` is None) that map the largest weight to `most`, large enough
    for biases to fit 32 bits."""
    others = tuple(i for i in range(weights.ndim) if i != axis)
    largest = np.abs(weights.astype(np.float64)).max(axis=others, initial=0.0) / most
    if bias is not None:
        needed = np.abs(bias.astype(np.float64)) / MOST_BIAS / input_scale
        largest = np.maximum(largest, needed if axis is not None else needed.max(initial=0.0))
    scales = np.where(largest > 0, np.maximum(largest, LEAST_SCALE), 1.0)
    return np.atleast_1d(scales).astype(np.float32)


def weight_steps(weights: Array, scales: NDArray[np.float32], axis: int, most: int) -> NDArray[np.int8]:
    """Per-channel quantized weights, rounded to nearest."""
    spread = along(scales, axis, weights.ndim)
    return np.clip(np.round(weights.astype(np.float64) / spread), -most, most).astype(np.int8)


def along(scales: NDArray[np.float32], axis: int, rank: int) -> NDArray[np.float64]:
    """Per-channel scales reshaped to broadcast over weights."""
    wide = scales.astype(np.float64)
    return wide if wide.size == 1 else wide.reshape([-1 if i == axis else 1 for i in range(rank)])


def bias_steps(bias: Array, scales: NDArray[np.float32], dtype: DType) -> Array:
    """Per-channel quantized biases."""
    most = MOST_BIAS if dtype == DType.INT32 else 1 << 39
    return np.clip(np.round(bias.astype(np.float64) / scales.astype(np.float64)), -most, most).astype(dtype.numpy)
