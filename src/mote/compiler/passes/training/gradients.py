"""Gradient rules of operators, by class: each adds operators to the tape that compute the gradients of wanted inputs,
by position, from the gradient of the output before the fused activation.

Rules use operators of inference if these compute a gradient, else operators of `mote.ir.ops.training`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

import numpy as np

from mote.compiler.passes.training.tape import Tape
from mote.compiler.passes.training.walk import Gradients, Rules
from mote.ir.graph import Op
from mote.ir.graph.types import Activation
from mote.ir.ops.elementwise.activations import (
    Clamp,
    HardSwish,
    LeakyRelu,
    Logistic,
    Relu,
    Relu0To1,
    Relu6,
    ReluN1To1,
    Tanh,
)
from mote.ir.ops.elementwise.arithmetic import Add, Mul, Sub
from mote.ir.ops.elementwise.unary_math import Neg
from mote.ir.ops.matrix.batch_matmul import BatchMatmul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Pad, Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.moves.strided import BroadcastTo
from mote.ir.ops.reductions.layer_norm import BIAS, SCALE, RootMeanSquare, Standardize
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.reduce import Sum
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.training.activation_gradients import (
    ActivationGradient,
    ClampGradient,
    HardSwishGradient,
    LeakyReluGradient,
    LogisticGradient,
    TanhGradient,
)
from mote.ir.ops.training.normalization_gradients import (
    LayerNormalizationGradient,
    RmsNormalizationGradient,
    SoftmaxGradient,
)
from mote.ir.ops.training.window_gradients import (
    AveragePoolGradient,
    ConvInputGradient,
    ConvWeightGradient,
    DepthwiseInputGradient,
    DepthwiseWeightGradient,
    MaxPoolGradient,
)
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool

Wanted = Collection[int]
"""Positions of the inputs whose gradients are wanted."""
INPUT, WEIGHT = "input_gradient", "weight_gradient"
"""Suffixes of operator names."""


def before_activation(t: Tape, op: Op, gradient: int) -> int:
    """The gradient of the output before the fused activation, from the gradient after it and the output."""
    activation = getattr(op, "activation", Activation.NONE)
    if activation == Activation.NONE:
        return gradient
    return t.one(ClampGradient, [gradient, op.outputs[0]], "activation_gradient", activation=activation)


def convolution(t: Tape, op: Conv2D, gradient: int, wanted: Wanted) -> Gradients:
    windows = {"vertical": op.vertical, "horizontal": op.horizontal}
    made = _bias(t, op, gradient, wanted)
    if 1 in wanted:
        made[1] = t.one(ConvWeightGradient, [op.inputs[0], gradient], WEIGHT, **windows)
    if 0 in wanted:
        made[0] = t.one(ConvInputGradient, [gradient, op.inputs[1]], INPUT, size=_size(t, op), **windows)
    return made


def depthwise(t: Tape, op: DepthwiseConv2D, gradient: int, wanted: Wanted) -> Gradients:
    windows = {"vertical": op.vertical, "horizontal": op.horizontal}
    made = _bias(t, op, gradient, wanted)
    if 1 in wanted:
        made[1] = t.one(DepthwiseWeightGradient, [op.inputs[0], gradient], WEIGHT, **windows)
    if 0 in wanted:
        spread = {"size": _size(t, op), "multiplier": op.multiplier, **windows}
        made[0] = t.one(DepthwiseInputGradient, [gradient, op.inputs[1]], INPUT, **spread)
    return made


def fully_connected(t: Tape, op: FullyConnected, gradient: int, wanted: Wanted) -> Gradients:
    """Gradients of a fully connected layer as matrix products: gradient and weights for the input, transposed gradient
    and input for the weights."""
    channels, depth = t.shape(op.inputs[1])
    rows = t.reshaped(gradient, (t.tensors[gradient].size // channels, channels))
    made = _bias(t, op, rows, wanted)
    if 1 in wanted:
        vectors = t.reshaped(op.inputs[0], (t.shape(rows)[0], depth))
        made[1] = t.one(BatchMatmul, [rows, vectors], WEIGHT, left_turned=True)
    if 0 in wanted:
        product = t.one(BatchMatmul, [rows, op.inputs[1]], INPUT)
        made[0] = t.reshaped(product, t.shape(op.inputs[0]))
    return made


def _bias(t: Tape, op: Op, gradient: int, wanted: Wanted) -> Gradients:
    """The gradient of a layer's bias (input 2): the sum of the gradient over all positions."""
    if 2 not in wanted:
        return {}
    axes = range(len(t.shape(gradient)) - 1)
    return {2: t.reshaped(t.summed(gradient, axes, "bias_gradient"), t.shape(op.inputs[2]))}


def _size(t: Tape, op: Op) -> tuple[int, int]:
    _, height, width, _ = t.shape(op.inputs[0])
    return height, width


def matrix_product(t: Tape, op: BatchMatmul, gradient: int, wanted: Wanted) -> Gradients:
    """Gradients of a matrix product: products of the gradient and the other operand, summed over broadcast matrices."""
    left, right = op.inputs
    made = {}
    if 0 in wanted:
        pair, turns = [gradient, right], (False, not op.right_turned)
        if op.left_turned:
            pair, turns = [right, gradient], (op.right_turned, True)
        product = t.one(BatchMatmul, pair, INPUT, left_turned=turns[0], right_turned=turns[1])
        made[0] = t.sum_to(product, t.shape(left))
    if 1 in wanted:
        pair, turns = [left, gradient], (not op.left_turned, False)
        if op.right_turned:
            pair, turns = [gradient, left], (True, op.left_turned)
        product = t.one(BatchMatmul, pair, WEIGHT, left_turned=turns[0], right_turned=turns[1])
        made[1] = t.sum_to(product, t.shape(right))
    return made


def addition(t: Tape, op: Add, gradient: int, wanted: Wanted) -> Gradients:
    return {p: t.sum_to(gradient, t.shape(op.inputs[p])) for p in sorted(wanted)}


def subtraction(t: Tape, op: Sub, gradient: int, wanted: Wanted) -> Gradients:
    made = addition(t, op, gradient, wanted)
    return made | ({1: t.one(Neg, [made[1]], INPUT)} if 1 in wanted else {})


def multiplication(t: Tape, op: Mul, gradient: int, wanted: Wanted) -> Gradients:
    products = {p: t.product(gradient, op.inputs[1 - p], INPUT) for p in sorted(wanted)}
    return {p: t.sum_to(product, t.shape(op.inputs[p])) for p, product in products.items()}


def negation(t: Tape, op: Neg, gradient: int, wanted: Wanted) -> Gradients:
    return {0: t.one(Neg, [gradient], INPUT)}


def average_pool(t: Tape, op: AveragePool, gradient: int, wanted: Wanted) -> Gradients:
    windows = {"vertical": op.vertical, "horizontal": op.horizontal, "size": _size(t, op)}
    return {0: t.one(AveragePoolGradient, [gradient], INPUT, **windows)}


def max_pool(t: Tape, op: MaxPool, gradient: int, wanted: Wanted) -> Gradients:
    windows = {"vertical": op.vertical, "horizontal": op.horizontal, "size": _size(t, op)}
    return {0: t.one(MaxPoolGradient, [gradient, op.inputs[0]], INPUT, **windows)}


def total(t: Tape, op: Sum | Mean, gradient: int, wanted: Wanted) -> Gradients:
    """The gradient of a sum: broadcast to every element."""
    shape = t.shape(op.inputs[0])
    kept = t.reshaped(gradient, tuple(1 if axis in op.axes else n for axis, n in enumerate(shape)))
    return {0: kept if t.shape(kept) == shape else t.one(BroadcastTo, [kept], INPUT, shape=shape)}


def mean(t: Tape, op: Mean, gradient: int, wanted: Wanted) -> Gradients:
    """The gradient of a mean: broadcast to every element, divided by their number."""
    count = prod(t.shape(op.inputs[0])[axis] for axis in op.axes)
    return total(t, op, t.product(gradient, t.scalar(1.0 / count), "share"), wanted)


ACTIVATIONS: Mapping[type[Op], type[ActivationGradient]] = {
    LeakyRelu: LeakyReluGradient,
    HardSwish: HardSwishGradient,
    Logistic: LogisticGradient,
    Tanh: TanhGradient,
}
"""The gradient operators of activations that are not just a clamp."""


def activation(t: Tape, op: Op, gradient: int, wanted: Wanted) -> Gradients:
    kind = ACTIVATIONS[type(op)]
    at = op.outputs[0] if kind.of_output else op.inputs[0]
    return {0: t.one(kind, [gradient, at], INPUT, **op.attributes())}


def clamp(t: Tape, op: Clamp, gradient: int, wanted: Wanted) -> Gradients:
    return {0: t.one(ClampGradient, [gradient, op.outputs[0]], INPUT, activation=op.clamp)}


def softmax(t: Tape, op: Softmax, gradient: int, wanted: Wanted) -> Gradients:
    return {0: t.one(SoftmaxGradient, [gradient, op.outputs[0]], INPUT, beta=op.beta)}


def normalization(t: Tape, op: Standardize, gradient: int, wanted: Wanted) -> Gradients:
    """Gradients of a normalization. For the gradient of the scale, the input is normalized again without scale and
    bias."""
    x, *constants = op.inputs
    made = {}
    if BIAS in wanted:
        made[BIAS] = t.sum_to(gradient, t.shape(op.inputs[BIAS]), "bias_gradient")
    if SCALE in wanted:
        plain = t.one(type(op), [x], "normalized", epsilon=op.epsilon)
        made[SCALE] = t.sum_to(t.product(gradient, plain, "scaled"), t.shape(op.inputs[SCALE]), "scale_gradient")
    if 0 in wanted:
        scale = constants[0] if constants and constants[0] in t.tensors else None
        scaled = gradient if scale is None else t.product(gradient, scale, "scaled")
        kind = RmsNormalizationGradient if isinstance(op, RootMeanSquare) else LayerNormalizationGradient
        made[0] = t.one(kind, [scaled, x], INPUT, epsilon=op.epsilon)
    return made


def reshape(t: Tape, op: Reshape, gradient: int, wanted: Wanted) -> Gradients:
    return {0: t.reshaped(gradient, t.shape(op.inputs[0]))}


def transpose(t: Tape, op: Transpose, gradient: int, wanted: Wanted) -> Gradients:
    back = tuple(int(axis) for axis in np.argsort(op.permutation))
    return {0: t.one(Transpose, [gradient], INPUT, permutation=back)}


def pad(t: Tape, op: Pad, gradient: int, wanted: Wanted) -> Gradients:
    return {0: _part(t, gradient, tuple(before for before, _ in op.paddings), t.shape(op.inputs[0]))}


def concatenation(t: Tape, op: Concatenation, gradient: int, wanted: Wanted) -> Gradients:
    shapes = [t.shape(i) for i in op.inputs]
    ends = np.cumsum([0, *(shape[op.axis] for shape in shapes)]).tolist()
    begins = [tuple(at if axis == op.axis else 0 for axis in range(len(shapes[0]))) for at in ends[:-1]]
    return {p: _part(t, gradient, begins[p], shapes[p]) for p in sorted(wanted)}


def _part(t: Tape, gradient: int, begin: tuple[int, ...], size: tuple[int, ...]) -> int:
    return t.one(Slice, [gradient], INPUT, begin=begin, size=size, strides=(1,) * len(size), shape=size)


RULES: Rules = {
    Conv2D: convolution,
    DepthwiseConv2D: depthwise,
    FullyConnected: fully_connected,
    BatchMatmul: matrix_product,
    Add: addition,
    Sub: subtraction,
    Mul: multiplication,
    Neg: negation,
    AveragePool: average_pool,
    MaxPool: max_pool,
    Mean: mean,
    Sum: total,
    Relu: clamp,
    Relu6: clamp,
    Relu0To1: clamp,
    ReluN1To1: clamp,
    **dict.fromkeys(ACTIVATIONS, activation),
    Softmax: softmax,
    Standardize: normalization,
    RootMeanSquare: normalization,
    Reshape: reshape,
    Transpose: transpose,
    Pad: pad,
    Concatenation: concatenation,
}
"""The rules by exact class: subclasses may compute something else."""
