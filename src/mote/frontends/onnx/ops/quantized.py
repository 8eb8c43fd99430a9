"""Quantized operators: QuantizeLinear and DequantizeLinear, QLinear* and *Integer, and those of com.microsoft that ONNX
Runtime's quantizer writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise, matrix, moves, quantized, reductions, windows
from mote.frontends.build.codes import Codes
from mote.frontends.onnx.file.tensors import DTYPES
from mote.frontends.onnx.node import MICROSOFT, Key, Node, Parser
from mote.frontends.onnx.ops.steps import codes_type, dequantize_in_steps, quantize_in_steps, written_out
from mote.frontends.onnx.ops.windows import axes_of
from mote.ir.graph import Quantization
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis

Reals = NDArray[np.float32]
STEPS = 255
"""Difference between the largest and the smallest 8-bit code."""


def type_of(zero: Array | None, number: int) -> DType:
    """The file's type of codes: that of their zero point, else the given number."""
    name = "" if zero is None else zero.dtype.name
    return DType(name) if name in list(DType) else DTYPES.get(number, DType.UINT8)


def quantization_of(node: Node, scale: int, zero: int, number: int = 0) -> Quantization:
    """Quantization parameters from constant inputs of a node; `number`: the type in the file, where there is no zero
    point."""
    point = node.maybe_known(zero)
    if node.has(zero) and point is None:
        raise UnsupportedNodeError("a zero point that is computed is not supported")
    factor = node.known(scale, "a scale")
    if point is not None and point.size not in (1, factor.size):
        raise UnsupportedNodeError(f"{point.size} zero points do not fit {factor.size} scales")
    return quantized.quantization(factor, 0 if point is None else point, type_of(point, number))


def operand(node: Node, position: int) -> Value:
    """A quantized input, followed by its scale and zero point."""
    quant = quantization_of(node, position + 1, position + 2, node.element_type(position))
    if quant.per_channel:
        raise UnsupportedNodeError("an operand with a scale for each index of an axis is not supported")
    return quantized.coded(node.b, node.input(position), quant)


# Between real numbers and codes


def quantize_linear(node: Node) -> Value:
    x, zero = node.input(), node.maybe_known(2)
    if written_out(node, codes_type(node)):
        return quantize_in_steps(node)
    number = node.integer("output_dtype", 0)
    node.integer("saturate", 1), node.integer("precision", 0)
    dtype = type_of(zero, number)
    quant = quantization_of(node, 1, 2, number)
    if dtype not in (*quantized.BYTES, DType.INT16, DType.UINT16):
        raise UnsupportedNodeError(f"quantized {dtype} is supported for constants only")
    return quantized.quantize(node.b, x, quant, dtype)


def dequantize_linear(node: Node) -> Value:
    x = node.input()
    if x.data is not None and node.has(1) and node.input(1).data is not None:
        return _constant(node, x.data)
    if written_out(node, node.element_type()):
        return dequantize_in_steps(node)
    node.integer("output_dtype", 0)
    quant = quantization_of(node, 1, 2, node.element_type())
    if x.dtype == DType.INT32:
        return _scaled(node.b, x, quant)
    return quantized.dequantize(node.b, quantized.coded(node.b, x, quant))


def _constant(node: Node, codes: Array) -> Value:
    """Dequantized constant codes; scales are per-tensor, per-channel, or blockwise along an axis."""
    scale, zero = node.known(1, "the scale"), node.maybe_known(2)
    node.integer("output_dtype", 0)
    axis, block = node.integer("axis", 1), node.integer("block_size", 0)

    def spread(given: Array) -> Array:
        if given.size == 1:
            return given.reshape(())
        if block:
            return np.repeat(given, block, axis).take(range(codes.shape[axis]), axis)
        return given.reshape([-1 if a == axis % codes.ndim else 1 for a in range(codes.ndim)])

    steps = codes.astype(np.int64) - (0 if zero is None else spread(zero).astype(np.int64))
    return node.b.constant(steps.astype(np.float32) * spread(scale).astype(np.float32))


def _scaled(b: Builder, x: Value, quant: Quantization) -> Value:
    """Convert int32 to float."""
    if quant.per_channel or quant.zero_point[0]:
        raise UnsupportedNodeError("int32 codes with several scales, or with a zero point, are not supported")
    return elementwise.mul(b, elementwise.cast(b, x, DType.FLOAT32), b.constant(float(quant.scale[0])))


def dynamic_quantize_linear(node: Node) -> list[Value | None]:
    """DynamicQuantizeLinear: uint8 codes as exact floats, their scale, and their zero point."""
    return list(dynamic(node.b, node.input()))


def dynamic(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """Codes from 0 to 255 for the range of the values including zero, the scale and the zero point."""
    number = partial(elementwise.scalar, b)
    least = elementwise.minimum(b, reductions.minimum(b, x, None, False), number(0.0))
    most = elementwise.maximum(b, reductions.maximum(b, x, None, False), number(0.0))
    span = elementwise.sub(b, most, least)
    steps = elementwise.div(b, span, number(float(STEPS)))
    scale = elementwise.where(b, elementwise.equal(b, span, number(0.0)), number(1.0), steps)
    start = elementwise.sub(b, number(0.0), elementwise.div(b, least, scale))
    zero = elementwise.round_(b, elementwise.clip(b, start, 0.0, float(STEPS)))
    codes = elementwise.add(b, elementwise.round_(b, elementwise.div(b, x, scale)), zero)
    return elementwise.clip(b, codes, 0.0, float(STEPS)), scale, zero


# Layers


def qlinear_conv(node: Node) -> Value:
    x, weights = operand(node, 0), node.known(3, "the weights")
    scale, zero = node.known(4, "a scale"), node.known(5, "a zero point")
    bias = node.known(8, "the bias") if node.has(8) else None
    out = quantization_of(node, 6, 7, node.output_type())
    axes, groups = conv_axes(node, x, weights), node.integer("group", 1)
    return quantized.conv(node.b, x, weights, scale, bias, axes, out, groups=groups, zero=zero)


def conv_axes(node: Node, x: Value, weights: Array) -> list[Axis]:
    """The windows of a convolution, whose kernel_shape attribute must match the weights."""
    kernel = node.integers("kernel_shape", weights.shape[2:])
    if weights.ndim != x.rank or tuple(kernel) != weights.shape[2:] or not weights.size:
        raise UnsupportedNodeError(f"weights of {weights.shape} do not fit a window of {tuple(kernel)} over {x.shape}")
    return axes_of(node, x, weights.shape[2:])


def qlinear_matmul(node: Node) -> Value:
    x, weights = operand(node, 0), node.maybe_known(3)
    out = quantization_of(node, 6, 7, node.output_type())
    if weights is not None and weights.ndim == 2 and x.rank >= 2:
        scale, zero = (node.known(p, what).reshape(-1) for p, what in ((4, "a scale"), (5, "a zero point")))
        return quantized.linear(node.b, x, weights, scale, None, out, zero=zero)
    return quantized.matmul(node.b, x, operand(node, 3), out)


def qgemm(node: Node) -> Value:
    x, weights = operand(node, 0), node.known(3, "the weights")
    if node.flag("transA", False):
        x = moves.transpose(node.b, x, (1, 0))
    turned = weights.T if node.flag("transB", False) else weights
    scale, zero = node.known(4, "a scale").reshape(-1), node.known(5, "a zero point").reshape(-1)
    scale = (np.float32(node.real("alpha", 1.0)) * scale).astype(np.float32)
    bias = node.known(6, "the bias").reshape(-1) if node.has(6) else None
    if node.has(7):
        out = quantization_of(node, 7, 8, node.output_type())
        return quantized.linear(node.b, x, turned, scale, bias, out, zero=zero)
    return real_linear(node.b, x, turned, scale, bias, zero)


def real_linear(b: Builder, x: Value, weights: Array, scale: Array, bias: Array | None, zero: Array | int) -> Value:
    """Accumulators of integer products, multiplied by the scales, as float."""
    quant = quantized.known_quant(b, x)
    sums = integer_linear(b, steps_of(b, x), weights, bias, zero)
    return elementwise.mul(b, sums, b.constant((quant.scale[0] * scale).astype(np.float32)))


def steps_of(b: Builder, x: Value) -> Value:
    """Codes minus their zero point, as float."""
    quant = quantized.known_quant(b, x)
    return elementwise.sub(b, elementwise.cast(b, x, DType.FLOAT32), b.constant(float(quant.zero_point[0])))


def integer_linear(b: Builder, steps: Value, weights: Array, bias: Array | None, zero: Array | int) -> Value:
    """Integral floats times a constant integer matrix minus its zero points: exact in single precision up to 2^24. The
    weights stay 8-bit."""
    plain = quantized.without_zero(weights, zero, 1)
    real = None if bias is None else bias.astype(np.float32)
    if plain.dtype != np.int8:
        return matrix.linear(b, steps, plain.astype(np.float32), real)
    return matrix.linear(b, steps, plain, real, codes=Codes(np.ones(1, np.float32)))


def matmul_integer(node: Node) -> Value:
    """MatMulInteger: computed as integral floats, then cast to integers."""
    zero = node.known(3, "a zero point").reshape(-1) if node.has(3) else 0
    steps = _steps(node, node.input(0), node.optional(2))
    sums = integer_linear(node.b, steps, _matrix(node, 1), None, zero)
    return elementwise.cast(node.b, sums, DType.INT32)


def _steps(node: Node, x: Value, zero: Value | None) -> Value:
    """Codes minus a zero point that may be computed."""
    b = node.b
    x = x if x.dtype == DType.FLOAT32 else elementwise.cast(b, quantized.uncoded(b, x), DType.FLOAT32)
    if zero is None:
        return x
    return elementwise.sub(b, x, zero if zero.dtype == DType.FLOAT32 else elementwise.cast(b, zero, DType.FLOAT32))


def _matrix(node: Node, position: int) -> Array:
    weights = node.known(position, "the weights")
    if weights.ndim != 2:
        raise UnsupportedNodeError(f"weights of {weights.shape} are not supported")
    return weights


def conv_integer(node: Node) -> Value:
    x, weights = node.input(0), node.known(1, "the weights")
    zero = node.known(3, "a zero point").reshape(-1) if node.has(3) else 0
    plain = quantized.without_zero(weights, zero)
    steps = _steps(node, x, node.optional(2))
    axes, groups = conv_axes(node, x, weights), node.integer("group", 1)
    usual = plain.dtype == np.int8 and (groups == 1 or weights.shape[1] == 1)
    codes = Codes(np.ones(1, np.float32)) if usual else None
    sums = windows.conv(node.b, steps, plain if usual else plain.astype(np.float32), None, axes, groups, codes)
    return elementwise.cast(node.b, sums, DType.INT32)


def matmul_integer_to_float(node: Node) -> Value:
    """Inputs are (a, b, scale of a, scale of b, zero point of a, zero point of b, bias)."""
    zero = node.known(5, "a zero point").reshape(-1) if node.has(5) else 0
    steps = _steps(node, node.input(0), node.optional(4))
    return _real(node, steps, node.input(2), _matrix(node, 1), 3, zero, 6)


def dynamic_quantize_matmul(node: Node) -> Value:
    """Inputs are (a, b, scale of b, zero point of b, bias)."""
    codes, scale, point = dynamic(node.b, node.input(0))
    zero = node.known(3, "a zero point").reshape(-1) if node.has(3) else 0
    return _real(node, elementwise.sub(node.b, codes, point), scale, _matrix(node, 1), 2, zero, 4)


def _real(
    node: Node, steps: Value, scale: Value, weights: Array, weight_scale: int, zero: Array | int, bias: int
) -> Value:
    """Integer products, multiplied by both scales, plus a bias."""
    b = node.b
    sums = integer_linear(b, steps, weights, None, zero)
    factor = elementwise.mul(b, scale, b.constant(node.known(weight_scale, "a scale").reshape(-1).astype(np.float32)))
    product = elementwise.mul(b, sums, factor)
    return elementwise.add(b, product, node.input(bias)) if node.has(bias) else product


# Elements, and several of them together


def _pair(of: Callable[[Builder, Value, Value, Quantization], Value], node: Node) -> Value:
    """(a, scale, zero point, b, scale, zero point, scale, zero point)."""
    return of(node.b, operand(node, 0), operand(node, 3), quantization_of(node, 6, 7, node.output_type()))


def sigmoid(x: Reals) -> Array:
    wide = x.astype(np.float64)
    return np.asarray(1 / (1 + np.exp(-wide)))


def leaky(alpha: float) -> Callable[[Reals], Array]:
    slope = np.float32(alpha)
    return lambda x: np.where(x >= 0, x, slope * x)


def qlinear_sigmoid(node: Node) -> Value:
    out = quantization_of(node, 3, 4, node.output_type())
    return quantized.function(node.b, operand(node, 0), sigmoid, out)


def qlinear_leaky_relu(node: Node) -> Value:
    out = quantization_of(node, 3, 4, node.output_type())
    return quantized.function(node.b, operand(node, 0), leaky(node.real("alpha", 0.01)), out)


def qlinear_average_pool(node: Node) -> Value:
    x, out = operand(node, 0), quantization_of(node, 3, 4, node.output_type())
    if node.flag("channels_last", False):
        x = moves.transpose(node.b, x, (0, x.rank - 1, *range(1, x.rank - 1)))
    average = pooled(node, x, out)
    return moves.transpose(node.b, average, (0, *range(2, x.rank), 1)) if node.flag("channels_last", False) else average


def pooled(node: Node, x: Value, out: Quantization) -> Value:
    """Average pooling with the node's attributes."""
    axes = axes_of(node, x, node.integers("kernel_shape"))
    ceil, whole = node.flag("ceil_mode", False), node.flag("count_include_pad", False)
    return quantized.average_pool(node.b, x, axes, out, ceil=ceil, include_pad=whole)


def qlinear_global_average_pool(node: Node) -> Value:
    x, out = operand(node, 0), quantization_of(node, 3, 4, node.output_type())
    last = node.flag("channels_last", False)
    return quantized.mean(node.b, x, range(1, x.rank - 1) if last else range(2, x.rank), out)


def qlinear_softmax(node: Node) -> Value:
    x, out = operand(node, 0), quantization_of(node, 3, 4, node.output_type())
    return softmax(node, x, out, node.integer("opset"))


def softmax(node: Node, x: Value, out: Quantization, version: int) -> Value:
    """Softmax along an axis; in older opsets over all axes from one on."""
    axis = x.axis(node.integer("axis", -1 if version >= 13 else 1))
    if version >= 13:
        return quantized.softmax(node.b, x, axis, out)
    flat = moves.flatten(node.b, x, axis)
    return moves.reshape(node.b, quantized.softmax(node.b, flat, 1, out), x.shape)


def qlinear_concat(node: Node) -> Value:
    """(scale, zero point) of the output, then (value, scale, zero point) of each input."""
    out = quantization_of(node, 0, 1, node.output_type())
    values = [operand(node, position) for position in range(2, len(node.inputs), 3)]
    return quantized.concat(node.b, values, node.integer("axis"), out)


def qlinear_where(node: Node) -> Value:
    out = quantization_of(node, 7, 8, node.output_type())
    return quantized.select(node.b, node.input(0), operand(node, 1), operand(node, 4), out)


PARSERS: Mapping[Key, Parser] = {
    **{(domain, "QuantizeLinear"): quantize_linear for domain in ("", MICROSOFT)},
    **{(domain, "DequantizeLinear"): dequantize_linear for domain in ("", MICROSOFT)},
    ("", "DynamicQuantizeLinear"): dynamic_quantize_linear,
    ("", "QLinearConv"): qlinear_conv,
    ("", "QLinearMatMul"): qlinear_matmul,
    ("", "ConvInteger"): conv_integer,
    ("", "MatMulInteger"): matmul_integer,
    (MICROSOFT, "QGemm"): qgemm,
    (MICROSOFT, "MatMulIntegerToFloat"): matmul_integer_to_float,
    (MICROSOFT, "DynamicQuantizeMatMul"): dynamic_quantize_matmul,
    (MICROSOFT, "QLinearAdd"): partial(_pair, quantized.add),
    (MICROSOFT, "QLinearMul"): partial(_pair, quantized.mul),
    (MICROSOFT, "QLinearSigmoid"): qlinear_sigmoid,
    (MICROSOFT, "QLinearLeakyRelu"): qlinear_leaky_relu,
    (MICROSOFT, "QLinearAveragePool"): qlinear_average_pool,
    (MICROSOFT, "QLinearGlobalAveragePool"): qlinear_global_average_pool,
    (MICROSOFT, "QLinearSoftmax"): qlinear_softmax,
    (MICROSOFT, "QLinearConcat"): qlinear_concat,
    (MICROSOFT, "QLinearWhere"): qlinear_where,
}
