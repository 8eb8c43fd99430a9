"""Operators on quantized values, with ONNX Runtime's arithmetic: results in single precision, rounded to even. A
quantized value is an integer Value whose tensor (or constant) has quantization parameters. 8-bit values are held as
int8 in any case: those of uint8 and their zero points are 128 less, which `Quantization.unsigned` records. Functions
take the quantization of their result, made by `quantization`, last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise, matrix, moves, norms, reductions, windows
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.codes import Codes
from mote.ir.graph import Quantization
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.activations import Flip, LookupTable
from mote.ir.ops.elementwise.quantize import Dequantize, Quantize
from mote.ir.ops.onnxruntime_rounding import EvenAdd, EvenAveragePool, EvenMean, EvenMul, EvenSoftmax

OFFSET = 128
"""Difference between uint8 values and the int8 values that represent them."""
BYTES = (DType.INT8, DType.UINT8)
CODES = np.arange(-128, 128, dtype=np.int64)
Function = Callable[[NDArray[np.float32]], Array]


def quantization(scale: Array | float, zero: Array | int = 0, dtype: DType = DType.INT8, axis: int = 0) -> Quantization:
    """The quantization parameters of a value that has this type in the file."""
    scales = np.atleast_1d(np.asarray(scale, np.float32)).reshape(-1)
    unsigned = dtype == DType.UINT8
    zeros = np.broadcast_to(np.asarray(zero).astype(np.int64).reshape(-1) - OFFSET * unsigned, scales.shape)
    if not np.all(np.isfinite(scales)) or np.any(scales <= 0):
        raise UnsupportedNodeError(f"a scale of {scales.min():g}")
    return Quantization(scales, zeros.copy(), axis, unsigned)


# In and out


def coded(b: Builder, x: Value, quant: Quantization) -> Value:
    """An integer value of the file with quantization parameters."""
    if x.data is not None:
        data = (x.data ^ np.uint8(OFFSET)).view(np.int8) if x.dtype == DType.UINT8 else x.data
        return replace(x, data=data, dtype=DType(data.dtype.name), quant=quant)
    t = b.tensors[x.tensor]
    if x.dtype == DType.UINT8:
        own = Quantization(quant.scale, quant.zero_point + OFFSET, quant.axis)
        if t.quant is None:
            b.tensors[t.id] = replace(t, quant=own)
        return b.value(b.op(Flip, [t.id], t.shape, DType.INT8, quant=quant), x.shape, x.atoms)
    if t.quant is not None and not t.quant.same_as(quant):
        raise UnsupportedNodeError(f"'{t.name}' is quantized with {t.quant} in one node and with {quant} in another")
    b.tensors[t.id] = replace(t, quant=quant)
    return replace(x, quant=quant)


def uncoded(b: Builder, x: Value) -> Value:
    """A value in the file's type: uint8 again, where it is held as int8."""
    quant = quant_of(b, x)
    if x.dtype != DType.INT8 or quant is None or not quant.unsigned:
        return x
    if x.data is not None:
        return replace(x, data=(x.data ^ np.int8(-OFFSET)).view(np.uint8), dtype=DType.UINT8, quant=None)
    own = Quantization(quant.scale, quant.zero_point + OFFSET, quant.axis)
    return b.value(b.op(Flip, [x.tensor], b.tensors[x.tensor].shape, DType.UINT8, quant=own), x.shape, x.atoms)


def quant_of(b: Builder, x: Value) -> Quantization | None:
    return x.quant if x.constant else b.tensors[x.tensor].quant


def codes_of(b: Builder, value: Value) -> Value | None:
    """The codes of a dequantized value; None where it is not one."""
    maker = None if value.constant else b.maker(value.tensor)
    return b.value(maker.inputs[0], value.shape, value.atoms) if isinstance(maker, Dequantize) else None


def known_quant(b: Builder, x: Value) -> Quantization:
    quant = quant_of(b, x)
    if quant is None:
        raise UnsupportedNodeError("an integer operand has no known quantization parameters")
    return quant


def quantize(b: Builder, x: Value, out: Quantization, dtype: DType = DType.INT8) -> Value:
    """Quantize floats to codes of the file's type."""
    stored = DType.INT8 if dtype in BYTES else dtype
    if not out.per_channel:
        return elementwise.unary(b, Quantize, x, stored, quant=out, rounding=Rounding.EVEN)
    shape = _along(out, x)
    steps = elementwise.round_(b, elementwise.div(b, x, b.constant(out.scale.reshape(shape))))
    codes = elementwise.add(b, steps, b.constant(out.zero_point.astype(np.float32).reshape(shape)))
    return elementwise.unary(b, Quantize, codes, stored, quant=quantization(1.0), rounding=Rounding.EVEN)


def dequantize(b: Builder, x: Value) -> Value:
    """Dequantize codes to float."""
    quant = known_quant(b, x)
    if not quant.per_channel:
        return elementwise.unary(b, Dequantize, x, DType.FLOAT32)
    shape = _along(quant, x)
    plain = elementwise.cast(b, x, DType.FLOAT32)
    steps = elementwise.sub(b, plain, b.constant(quant.zero_point.astype(np.float32).reshape(shape)))
    return elementwise.mul(b, steps, b.constant(quant.scale.reshape(shape)))


def _along(quant: Quantization, x: Value) -> list[int]:
    """The shape of per-channel scales along an axis of a value, for broadcasting."""
    axis = x.axis(quant.axis)
    if quant.scale.size != x.shape[axis]:
        raise UnsupportedNodeError(f"{quant.scale.size} scales do not fit axis {axis} of a value of {x.shape}")
    return [-1 if a == axis else 1 for a in range(x.rank)]


# Layers


def without_zero(weights: Array, zero: Array | int, axis: int = 0) -> Array:
    """Integer weights minus their zero points, per-tensor or per-channel: int8 where they fit, else int16."""
    shape = [-1 if a == axis % weights.ndim and np.size(zero) > 1 else 1 for a in range(weights.ndim)]
    centered = weights.astype(np.int16) - np.asarray(zero).astype(np.int16).reshape(shape)
    return centered.astype(np.int8) if centered.min(initial=0) >= -128 and centered.max(initial=0) <= 127 else centered


def conv(
    b: Builder,
    x: Value,
    weights: Array,
    scale: Array | float,
    bias: Array | None,
    axes: Sequence[Axis],
    out: Quantization,
    *,
    groups: int = 1,
    zero: Array | int = 0,
    activation: Activation = Activation.NONE,
) -> Value:
    """A convolution with integer [outputs, inputs of a group, *kernel] weights, scales and zero points per tensor or
    per output channel, and an int32 bias with the product of the scales as its scale."""
    known_quant(b, x)
    codes = Codes(np.atleast_1d(np.asarray(scale, np.float32)).reshape(-1), out, activation)
    bias = None if bias is None else bias.astype(np.int32)
    return windows.conv(b, x, without_zero(weights, zero), bias, axes, groups, codes)


def linear(
    b: Builder,
    x: Value,
    weights: Array,
    scale: Array | float,
    bias: Array | None,
    out: Quantization,
    *,
    axis: int = -1,
    zero: Array | int = 0,
    activation: Activation = Activation.NONE,
) -> Value:
    """The elements along an axis times a constant integer matrix [depth, channels]; scales are per tensor or per
    channel."""
    known_quant(b, x)
    codes = Codes(np.atleast_1d(np.asarray(scale, np.float32)).reshape(-1), out, activation)
    bias = None if bias is None else bias.astype(np.int32)
    return matrix.linear(b, x, without_zero(weights, zero, 1), bias, axis, codes)


def matmul(b: Builder, x: Value, y: Value, out: Quantization) -> Value:
    """A product of two computed matrices, or of one with a constant of one scale."""
    known_quant(b, x)
    right = known_quant(b, y)
    if y.data is not None and y.rank == 2 and x.rank >= 2:
        return linear(b, x, y.data, right.scale, None, out, zero=right.zero_point)
    return matrix.matmul(b, x, y, quant=out, rounding=Rounding.EVEN)


# Elements


def add(b: Builder, x: Value, y: Value, out: Quantization) -> Value:
    known_quant(b, x), known_quant(b, y)
    return elementwise.binary(b, EvenAdd, x, y, quant=out, unsigned=out.unsigned, turned=x.size < y.size)


def mul(b: Builder, x: Value, y: Value, out: Quantization) -> Value:
    known_quant(b, x), known_quant(b, y)
    return elementwise.binary(b, EvenMul, x, y, quant=out, unsigned=out.unsigned)


def function(b: Builder, x: Value, of: Function, out: Quantization) -> Value:
    """An element-wise float function as a lookup table over all 8-bit codes."""
    quant = known_quant(b, x)
    real = quant.scale[0] * (CODES - quant.zero_point[0]).astype(np.float32)
    with np.errstate(all="ignore"):
        steps = np.nan_to_num(np.rint(np.asarray(of(real), np.float32) / out.scale[0]).astype(np.float64))
    values = np.clip(steps + out.zero_point[0], -128, 127).astype(np.int8)
    return elementwise.unary(b, LookupTable, x, quant=out, values=values)


def requantize(b: Builder, x: Value, out: Quantization) -> Value:
    """Requantize to another scale and zero point."""
    quant = known_quant(b, x)
    return x if quant.same_as(out) else function(b, x, lambda real: real, out)


def select(b: Builder, condition: Value, x: Value, y: Value, out: Quantization) -> Value:
    """Element-wise selection between two values by a condition."""
    chosen = elementwise.where(b, condition, requantize(b, x, out), requantize(b, y, out))
    return coded(b, chosen, out)


# Several elements together


def concat(b: Builder, values: Sequence[Value], axis: int, out: Quantization) -> Value:
    return coded(b, moves.concat(b, [requantize(b, x, out) for x in values], axis), out)


def mean(b: Builder, x: Value, axes: Sequence[int], out: Quantization, keep: bool = True) -> Value:
    """The mean over some axes, as in global pooling."""
    known_quant(b, x)
    return reductions.reduce(b, EvenMean, x, axes, keep, quant=out)


def average_pool(
    b: Builder, x: Value, axes: Sequence[Axis], out: Quantization, *, ceil: bool = False, include_pad: bool = False
) -> Value:
    """Average pooling, with or without the padding in the count."""
    known_quant(b, x)
    if len(axes) > 2 or any(axis.dilation > 1 for axis in axes):
        raise UnsupportedNodeError("quantized averages of volumes, or with gaps, are not supported")
    whole = windows.ceiled(x, axes, ceil)
    count = prod(axis.kernel for axis in axes) if include_pad else 0
    return windows.pool_2d(b, EvenAveragePool, x, whole, quant=out, count=count, unsigned=out.unsigned)


def softmax(b: Builder, x: Value, axis: int, out: Quantization) -> Value:
    known_quant(b, x)
    return norms.along_last(b, EvenSoftmax, x, axis, quant=out)
