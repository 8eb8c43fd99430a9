"""Quantizes layer and RMS normalization to int16 operators of LiteRT.

LiteRT has no integer operator for them, and its integer RSQRT is a table of 512 entries, too coarse for small
variances. So each vector's deviation is computed by SQRT of its mean square and the reciprocal by DIV; elements are
only multiplied and added."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Quantization, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.arithmetic import Add, Mul, Sub
from mote.ir.ops.elementwise.binary_unscaled import Maximum
from mote.ir.ops.elementwise.division import Div
from mote.ir.ops.elementwise.quantize import Rescale
from mote.ir.ops.elementwise.unary_math import Sqrt
from mote.ir.ops.reductions.layer_norm import BIAS, SCALE, RootMeanSquare, Standardize
from mote.ir.ops.reductions.mean import Mean
from mote.optimize.compress.quantize.composites.scope import CompositeBuilder, ObserveCallback
from mote.optimize.compress.quantize.encode import in_steps, one_scale, steps

MOST_APART = 1024.0
"""Ratio of largest to smallest deviation that is resolved."""


def problem(graph: Graph, op: Standardize) -> str | None:
    return None


def trace(graph: Graph, op: Standardize, values: Sequence[Array | None], samples: int, see: ObserveCallback) -> None:
    x = np.asarray(values[0], np.float64).reshape(-1, op.input(graph).channels)
    mean = np.zeros((len(x), 1)) if isinstance(op, RootMeanSquare) else x.mean(axis=1, keepdims=True)
    centred = x - mean
    square = np.square(centred)
    variance = square.mean(axis=1, keepdims=True)
    deviation = np.sqrt(variance + op.epsilon)
    normalized = centred / deviation
    scale = values[SCALE] if len(values) > SCALE else None
    shown = {"mean": mean, "centred": centred, "square": square, "variance": variance, "deviation": deviation}
    shown |= {"reciprocal": 1 / deviation, "normalized": normalized}
    for name, value in (shown | ({} if scale is None else {"scaled": normalized * scale})).items():
        see(name, value)


def write(scope: CompositeBuilder, op: Standardize) -> None:
    shape, y = scope.x.shape, scope.y
    one = (*shape[:-1], 1)
    lines = {"axes": (len(shape) - 1,), "keep_dims": True}
    x = _input_as_int16(scope)
    if isinstance(op, RootMeanSquare):
        centred = x
    else:
        mean = scope.add(Mean, [x.id], scope.between("mean", one), **lines)
        centred = scope.add(Sub, [x.id, mean.id], scope.between("centred", shape))
    square = scope.add(Mul, [centred.id] * 2, scope.between("square", shape))
    variance = scope.add(Mean, [square.id], scope.between("variance", one), **lines)
    if 2 * op.epsilon > variance.scale:
        epsilon = scope.weights("epsilon", np.full(1, op.epsilon), DType.INT16)
        variance = scope.add(Add, [variance.id, epsilon.id], scope.like(variance, "variance, epsilon added"))
    inverse = _reciprocal(scope, scope.add(Sqrt, [variance.id], scope.between("deviation", one)))
    last = y if y.dtype == DType.INT16 else scope.hold("result", shape, DType.INT16, _wide(y))
    steps_left = [(kind, p) for kind, p in ((Mul, SCALE), (Add, BIAS)) if op.tensor(scope.graph, p) is not None]
    made = last if not steps_left else scope.between("normalized", shape)
    product = scope.add(Mul, [centred.id, inverse.id], made)
    for place, (kind, position) in enumerate(steps_left):
        constant = scope.weights("scale" if kind is Mul else "bias", scope.data(position), DType.INT16)
        made = last if place == len(steps_left) - 1 else scope.between("scaled", shape)
        product = scope.add(kind, [product.id, constant.id], made)
    if product is not y:
        scope.add(Rescale, [product.id], y)


def _input_as_int16(scope: CompositeBuilder) -> Tensor:
    """The layer's input rescaled to int16."""
    if scope.x.dtype == DType.INT16:
        return scope.x
    return scope.add(Rescale, [scope.x.id], scope.hold("widened", scope.x.shape, DType.INT16, _wide(scope.x)))


def _wide(t: Tensor) -> Quantization:
    """int16 quantization that covers an int8 tensor's range."""
    low, high = ((end - t.zero_point) * t.scale for end in t.dtype.limits)
    return steps(low, high, DType.INT16)


def _reciprocal(scope: CompositeBuilder, deviation: Tensor) -> Tensor:
    """Adds the reciprocal of the deviation, bounded below by the calibrated minimum. LiteRT defines DIV for numerator
    scales of 2^14 to 2^16 times the product of the other scales, so the constant 1 is stored as `count` steps."""
    most = scope.inside["deviation"][1]
    least = max(1 / scope.inside["reciprocal"][1], most / MOST_APART)
    quant = deviation.quant
    assert quant is not None
    floor = np.maximum(in_steps(np.full(1, least / 2), quant, DType.INT16), 1)
    bound = scope.hold("least deviation", floor.shape, DType.INT16, quant, floor.astype(np.int16))
    bounded = scope.add(Maximum, [deviation.id, bound.id], scope.like(deviation, "bounded deviation"))
    made = scope.hold("reciprocal", deviation.shape, DType.INT16, steps(0.0, 1 / least, DType.INT16))
    count = max(round(1 / (1.5 * 2**14 * deviation.scale * made.scale)), 1)
    unit = scope.hold("one", (1,), DType.INT16, one_scale(1 / count, 0), np.array([count], np.int16))
    return scope.add(Div, [unit.id, bounded.id], made)
