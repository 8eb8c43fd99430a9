"""Gradient rules of int8 operators, by class, like those for float32 in `gradients.py`.

A gradient is int8 with zero point 0, and the scale that `IntegerTape.scales` has for its tensor. If a layer's weights
are constant, the gradient of its input is another layer with transposed weights, or several for windows with strides,
so that the fastest kernels of inference are used. For weights and biases that learn, a rule gives the gradient of the
layer's accumulators, and the step combines it with the layer's input.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import product
from math import inf

import numpy as np

from mote.base.errors import MoteError
from mote.compiler.passes.training.gradients import ACTIVATIONS, INPUT, Wanted, concatenation, pad, reshape, transpose
from mote.compiler.passes.training.tape import Tape
from mote.compiler.passes.training.walk import Gradients, Rules
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array, Quantization
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.common import BIAS, WEIGHTS, Axis, int8_range
from mote.ir.ops.elementwise.activations import LookupTable, Relu, Relu0To1, Relu6, ReluN1To1, RequantizeInt8, Unary
from mote.ir.ops.elementwise.arithmetic import INT8, Add, Arithmetic, Mul
from mote.ir.ops.elementwise.quantize import dequantized
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Pad, Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.strided import BroadcastTo, DepthToSpace
from mote.ir.ops.onnxruntime_rounding import EvenAdd, EvenAveragePool, EvenMean, EvenMul
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.training.integer.input_gradients import IntegerConvInputGradient, IntegerDepthwiseInputGradient
from mote.ir.ops.training.integer.losses import LARGEST
from mote.ir.ops.training.integer.masks import ActivationMask, MaskedGradient, MaxPoolSpread, MaxPoolTaps
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool
from mote.ir.ops.windows.transpose_conv import TransposeConv

REMEDY = "let only layers behind it learn, or train the float32 model"


class IntegerTape(Tape):
    """A tape with the scales of gradients, and the constants that will learn."""

    def __init__(self, graph: Graph, learned: Collection[int], scales: Mapping[int, float]) -> None:
        super().__init__(graph)
        self.learned = learned
        self.scales = scales

    def quant_of(self, tensor: int) -> Quantization:
        """The quantization of the gradient of a tensor."""
        return symmetric(self.scales[tensor])

    def scale(self, tensor: int) -> float:
        return self.tensors[tensor].scale


def symmetric(scale: float | Array, axis: int = 0) -> Quantization:
    scales = np.atleast_1d(np.asarray(scale, np.float32))
    return Quantization(scales, np.zeros(scales.size, np.int64), axis)


def before_activation(t: IntegerTape, op: Op, gradient: int) -> int:
    """The gradient of the output before the fused activation: zero where the activation clamped it."""
    activation = activation_of(op, t.tensors[op.outputs[0]])
    return gradient if activation == Activation.NONE else _masked(t, op, gradient, activation)


def activation_of(op: Op, output: Tensor) -> Activation:
    """The fused activation of an operator. Quantized ONNX files leave out a ReLU if the output's zero point is the
    lowest code, as negative values then saturate."""
    attributes = op.attributes()
    activation: Activation = attributes.get("activation", Activation.NONE)
    even = isinstance(op, EvenAdd) or attributes.get("rounding") is Rounding.EVEN
    positive = output.dtype == DType.INT8 and output.zero_point == output.dtype.limits[0]
    hidden = even and positive and "activation" in attributes and activation == Activation.NONE
    return Activation.RELU if hidden else activation


def _masked(t: IntegerTape, op: Op, gradient: int, activation: Activation) -> int:
    output = t.tensors[op.outputs[0]]
    low, high = int8_range(activation, output)
    ends = {"low": low - (activation.bounds[0] == -inf), "high": high + (activation.bounds[1] == inf)}
    mask = t.beside(ActivationMask, [output.id], "mask", dtype=DType.UINT8, **ends)
    return t.one(MaskedGradient, [gradient, mask], "activation_gradient")


def convolution(t: IntegerTape, op: Conv2D, gradient: int, wanted: Wanted) -> Gradients:
    made = _sums(gradient, wanted)
    if 0 not in wanted:
        return made
    x, weights = t.tensors[op.inputs[0]], t.tensors[op.inputs[WEIGHTS]]
    of_x, size = t.quant_of(x.id), (x.shape[1], x.shape[2])
    if weights.id in t.learned:
        windows = {"vertical": op.vertical, "horizontal": op.horizontal, "size": size}
        return made | {0: t.one(IntegerConvInputGradient, [gradient, weights.id], INPUT, quant=of_x, **windows)}
    turned = _turned(dequantized(_data(t, weights.id), weights).transpose(3, 1, 2, 0))
    return made | {0: _spread(t, gradient, turned, (op.vertical, op.horizontal), x)}


def _spread(t: IntegerTape, gradient: int, turned: TurnedWeights, axes: tuple[Axis, Axis], x: Tensor) -> int:
    """The gradient of a convolution's input, by weights [in, kh, kw, out]: with strides, a convolution for each
    position of a pixel within a stride, whose results are interleaved; a transposed convolution if some position has no
    taps."""
    of_x, size = t.quant_of(x.id), (x.shape[1], x.shape[2])
    if _reads_pixels(axes, size):
        return _spread_pixels(t, gradient, turned, axes, of_x)
    rows, columns = ([phase(axis, n, at) for at in range(axis.stride)] for axis, n in zip(axes, size, strict=True))
    if len(rows) != len(columns) or None in (*rows, *columns):
        windows = {"vertical": axes[0], "horizontal": axes[1], "size": size}
        weights = _constant(t, turned.codes, turned.quant)
        return t.one(TransposeConv, [gradient, weights, ABSENT], INPUT, quant=of_x, **windows)
    parts = []
    for row, column in product(rows, columns):
        assert row is not None and column is not None
        weights = _constant(t, turned.codes[:, row.taps, column.taps], turned.quant)
        windows = {"vertical": row.window, "horizontal": column.window}
        parts.append(t.one(Conv2D, [gradient, weights], INPUT, quant=of_x, **windows))
    if len(parts) == 1:
        return parts[0]
    return t.one(DepthToSpace, [t.one(Concatenation, parts, "phases", axis=3)], INPUT, block=len(rows))


def _reads_pixels(axes: tuple[Axis, Axis], size: tuple[int, int]) -> bool:
    """Whether windows are one pixel each, the first in each stride."""
    plain = all((axis.kernel, axis.before, axis.after) == (1, 0, 0) for axis in axes)
    return plain and axes[0].stride == axes[1].stride and all(n % axes[0].stride == 0 for n in size)


def _spread_pixels(
    t: IntegerTape, gradient: int, turned: TurnedWeights, axes: tuple[Axis, Axis], quant: Quantization
) -> int:
    """The gradient of the input of a convolution with 1x1 windows and strides: zeros between the pixels that are
    read."""
    stride, plain = axes[0].stride, Axis(1)
    weights = _constant(t, turned.codes, turned.quant)
    pixels = t.one(Conv2D, [gradient, weights], INPUT, quant=quant, vertical=plain, horizontal=plain)
    if stride == 1:
        return pixels
    around = ((0, 0), (0, 0), (0, 0), (0, (stride**2 - 1) * t.shape(pixels)[3]))
    return t.one(DepthToSpace, [t.one(Pad, [pixels], "zeros", paddings=around, value=0)], INPUT, block=stride)


@dataclass(frozen=True)
class Phase:
    """The pixels at one position within each stride of an axis: `taps` are the kernel taps that reach them, in reverse;
    `window` is the axis of stride 1 by which they read the gradient."""

    taps: slice
    window: Axis


def phase(axis: Axis, size: int, place: int) -> Phase | None:
    """The phase of a position within strides; None if no tap reaches it, if positions have different numbers of pixels,
    or if windows with strides are dilated or padded by more than their size."""
    ahead, first = divmod(place + axis.before, axis.stride)
    count = len(range(first, axis.kernel, axis.stride))
    before, after = (count - 1) * axis.dilation - ahead, size // axis.stride - axis.size(size) + ahead
    if not count or size % axis.stride or min(before, after) < 0 or min(axis.stride, axis.dilation) > 1:
        return None
    window = Axis(count, dilation=axis.dilation, before=before, after=after)
    return Phase(slice(first + (count - 1) * axis.stride, None, -axis.stride), window)


def depthwise(t: IntegerTape, op: DepthwiseConv2D, gradient: int, wanted: Wanted) -> Gradients:
    made = _sums(gradient, wanted)
    if 0 not in wanted:
        return made
    x, weights = t.tensors[op.inputs[0]], t.tensors[op.inputs[WEIGHTS]]
    of_x, size, axes = t.quant_of(x.id), (x.shape[1], x.shape[2]), (op.vertical, op.horizontal)
    back = [phase(axis, n, 0) for axis, n in zip(axes, size, strict=True)]
    plain = op.multiplier == 1 and all(axis.stride == 1 for axis in axes)
    if weights.id in t.learned or not plain or back[0] is None or back[1] is None:
        of = {"vertical": axes[0], "horizontal": axes[1], "size": size, "multiplier": op.multiplier}
        return made | {0: t.one(IntegerDepthwiseInputGradient, [gradient, weights.id], INPUT, quant=of_x, **of)}
    turned = _constant(t, _data(t, weights.id)[:, back[0].taps, back[1].taps], weights.quant)
    windows = {"vertical": back[0].window, "horizontal": back[1].window}
    return made | {0: t.one(DepthwiseConv2D, [gradient, turned], INPUT, quant=of_x, **windows)}


def fully_connected(t: IntegerTape, op: FullyConnected, gradient: int, wanted: Wanted) -> Gradients:
    made = _sums(gradient, wanted)
    if 0 not in wanted:
        return made
    x, weights = t.tensors[op.inputs[0]], t.tensors[op.inputs[WEIGHTS]]
    of_x, (channels, depth) = t.quant_of(x.id), weights.shape
    rows = x.size // depth
    if weights.id in t.learned:
        windows = {"vertical": Axis(1), "horizontal": Axis(1), "size": (rows, 1)}
        images = t.reshaped(gradient, (1, rows, 1, channels))
        vectors = t.one(IntegerConvInputGradient, [images, weights.id], INPUT, quant=of_x, **windows)
    else:
        turned = _turned(dequantized(_data(t, weights.id), weights).T)
        operands = [t.reshaped(gradient, (rows, channels)), _constant(t, turned.codes, turned.quant)]
        vectors = t.one(FullyConnected, operands, INPUT, quant=of_x)
    return made | {0: t.reshaped(vectors, x.shape)}


def _sums(gradient: int, wanted: Wanted) -> Gradients:
    return {position: gradient for position in (WEIGHTS, BIAS) if position in wanted}


def _data(t: IntegerTape, tensor: int) -> Array:
    data = t.tensors[tensor].data
    assert data is not None
    return data


@dataclass(frozen=True, eq=False)
class TurnedWeights:
    """Transposed weights, whose output channels were the inputs, quantized again for each of these."""

    codes: Array
    quant: Quantization


def _turned(real: Array) -> TurnedWeights:
    others = tuple(range(1, real.ndim))
    scales = np.maximum(np.abs(real).max(axis=others, keepdims=True) / LARGEST, np.finfo(np.float32).tiny)
    return TurnedWeights(np.rint(real / scales).astype(np.int8), symmetric(scales.reshape(-1)))


def _constant(t: IntegerTape, codes: Array, quant: Quantization | None) -> int:
    return t.tensor("turned_weights", codes.shape, DType.INT8, np.ascontiguousarray(codes), quant)


def addition(t: IntegerTape, op: Add, gradient: int, wanted: Wanted) -> Gradients:
    """The gradients of a sum: both operands have that of the output."""
    _check_shapes(t, op, wanted)
    return dict.fromkeys(wanted, gradient)


def _check_shapes(t: IntegerTape, op: Op, wanted: Wanted) -> None:
    if any(is_repeated(t.tensors, op, p) for p in wanted):
        raise MoteError("there is no int8 gradient of operands that are repeated", where=op.where, remedy=REMEDY)


def is_repeated(tensors: Mapping[int, Tensor], op: Op, operand: int) -> bool:
    """Whether an operand of a sum or product is broadcast."""
    return isinstance(op, Arithmetic) and tensors[op.inputs[operand]].shape != tensors[op.outputs[0]].shape


def mean(t: IntegerTape, op: Mean | EvenMean, gradient: int, wanted: Wanted) -> Gradients:
    shape = t.shape(op.inputs[0])
    kept = tuple(1 if axis in op.axes else n for axis, n in enumerate(shape))
    return {0: _shares(t, t.reshaped(gradient, kept), op.inputs[0])}


def average_pool(t: IntegerTape, op: AveragePool | EvenAveragePool, gradient: int, wanted: Wanted) -> Gradients:
    """The gradient of average pooling: for one window over the whole image each pixel's share; for others, that of a
    depthwise layer with equal weights."""
    x, axes = t.tensors[op.inputs[0]], (op.vertical, op.horizontal)
    if any(axis.before or axis.after for axis in axes):
        raise MoteError("there is no int8 gradient of windows with padding", where=op.where, remedy=REMEDY)
    kernel = op.vertical.kernel, op.horizontal.kernel
    if kernel == (size := (x.shape[1], x.shape[2])):
        return {0: _shares(t, gradient, x.id)}
    ones = np.full((1, *kernel, x.channels), LARGEST, np.int8)
    quant = symmetric(np.full(x.channels, 1 / (LARGEST * kernel[0] * kernel[1])), 3)
    weights = t.tensor("shares", ones.shape, DType.INT8, ones, quant)
    windows = {"vertical": axes[0], "horizontal": axes[1], "size": size}
    of_x = t.quant_of(x.id)
    return {0: t.one(IntegerDepthwiseInputGradient, [gradient, weights], INPUT, quant=of_x, **windows)}


def _shares(t: IntegerTape, gradient: int, of: int) -> int:
    """The gradient of a mean's input: the same codes, with a smaller scale."""
    shape = t.shape(of)
    scale = t.scale(gradient) * t.tensors[gradient].size / t.tensors[of].size
    return t.one(BroadcastTo, [gradient], INPUT, quant=symmetric(scale), shape=shape)


def max_pool(t: IntegerTape, op: MaxPool, gradient: int, wanted: Wanted) -> Gradients:
    """The gradient of max pooling. A pixel that is the maximum of several windows gets all their gradients, which are
    requantized to its scale before they are added."""
    windows = {"vertical": op.vertical, "horizontal": op.horizontal}
    of_x = t.quant_of(op.inputs[0])
    if any(axis.stride < axis.kernel for axis in windows.values()) and float(of_x.scale[0]) > t.scale(gradient):
        gradient = t.one(RequantizeInt8, [gradient], "rescaled", quant=of_x)
    taken = t.beside(MaxPoolTaps, [op.inputs[0]], "taps", dtype=DType.UINT8, **windows)
    _, height, width, _ = t.shape(op.inputs[0])
    return {0: t.one(MaxPoolSpread, [gradient, taken], INPUT, size=(height, width), **windows)}


def clamp(t: IntegerTape, op: Relu | Relu6 | Relu0To1 | ReluN1To1, gradient: int, wanted: Wanted) -> Gradients:
    return {0: _masked(t, op, gradient, op.clamp)}


def curve(t: IntegerTape, op: Op, gradient: int, wanted: Wanted) -> Gradients:
    """The gradient of an activation: multiplied by its slope, which is looked up by the input's codes."""
    assert isinstance(op, Unary)
    x, kind = t.tensors[op.inputs[0]], ACTIVATIONS[type(op)]
    real = dequantized(INT8, x).astype(np.float32)
    slope = kind(inputs=(), outputs=(), name=op.name, index=op.index, **op.attributes())
    slopes = slope.real(np.ones_like(real), op.real(real) if kind.of_output else real)
    scale = max(float(np.abs(slopes).max()), 1 / LARGEST) / LARGEST
    values = np.rint(slopes / scale).astype(np.int8)
    factors = t.one(LookupTable, [x.id], "slope", quant=symmetric(scale), values=values)
    return {0: t.one(Mul, [gradient, factors], INPUT, quant=t.quant_of(x.id))}


def multiplication(t: IntegerTape, op: Mul | EvenMul, gradient: int, wanted: Wanted) -> Gradients:
    """The gradients of a product: multiplied by the other operand."""
    _check_shapes(t, op, wanted)
    return {p: t.one(Mul, [gradient, op.inputs[1 - p]], INPUT, quant=t.quant_of(op.inputs[p])) for p in sorted(wanted)}


RULES: Rules = {
    Conv2D: convolution,
    DepthwiseConv2D: depthwise,
    FullyConnected: fully_connected,
    Add: addition,
    EvenAdd: addition,
    AveragePool: average_pool,
    EvenAveragePool: average_pool,
    Mean: mean,
    EvenMean: mean,
    MaxPool: max_pool,
    Mul: multiplication,
    EvenMul: multiplication,
    Relu: clamp,
    Relu6: clamp,
    Relu0To1: clamp,
    ReluN1To1: clamp,
    **dict.fromkeys(ACTIVATIONS, curve),
    Reshape: reshape,
    Transpose: transpose,
    Pad: pad,
    Concatenation: concatenation,
}
"""The rules by exact class: subclasses may compute something else."""
