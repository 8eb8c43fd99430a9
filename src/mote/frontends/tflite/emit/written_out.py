"""Operators that TFLite lacks, decomposed into those that it has: distances and support vectors, functions, integers of
other widths."""

from __future__ import annotations

import numpy as np

from mote.frontends.tflite.emit.emitter import Emitter, UnsaidError
from mote.frontends.tflite.emit.steps import Steps
from mote.ir.graph import Op, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.classical.distances_svm import (
    COEFFICIENTS,
    INTERCEPTS,
    VECTORS,
    WEIGHTS,
    Distances,
    KernelFunction,
    Metric,
    SupportVectors,
)
from mote.ir.ops.elementwise.binary_integer import IntegerFunction, Whole
from mote.ir.ops.elementwise.float_math import DoublePrecision
from mote.ir.ops.reductions.layer_norm import BIAS, SCALE, RootMeanSquare, Standardize

WHOLE = {
    IntegerFunction.ADD: "ADD",
    IntegerFunction.SUBTRACT: "SUB",
    IntegerFunction.MULTIPLY: "MUL",
    IntegerFunction.LEAST: "MINIMUM",
    IntegerFunction.MOST: "MAXIMUM",
    IntegerFunction.MODULO: "FLOOR_MOD",
    IntegerFunction.XOR: "BITWISE_XOR",
    IntegerFunction.EQUAL: "EQUAL",
    IntegerFunction.GREATER: "GREATER",
    IntegerFunction.GREATER_EQUAL: "GREATER_EQUAL",
}
"""TFLite's operators for unquantized integer functions."""


def log1p(e: Emitter, op: DoublePrecision) -> None:
    s, x = Steps(e, op), op.input(e.graph)
    s.last("LOG", [s.make("ADD", [e.at(x.id), s.number(1)], x.shape)])


def tangent(e: Emitter, op: DoublePrecision) -> None:
    s, x = Steps(e, op), op.input(e.graph)
    s.last("DIV", [s.make(kind, [e.at(x.id)], x.shape) for kind in ("SIN", "COS")])


def hyperbolic(e: Emitter, op: DoublePrecision) -> None:
    """(exp(x) + exp(-x)) / 2, or the difference."""
    s, x = Steps(e, op), op.input(e.graph)
    up = s.make("EXP", [e.at(x.id)], x.shape)
    down = s.make("EXP", [s.make("NEG", [e.at(x.id)], x.shape)], x.shape)
    both = s.make("SUB" if op.kind == "SINH" else "ADD", [up, down], x.shape)
    s.last("MUL", [both, s.number(0.5)])


def inverse(e: Emitter, op: DoublePrecision) -> None:
    """Inverse trigonometric functions by ATAN2."""
    s, x = Steps(e, op), op.input(e.graph)
    own = e.at(x.id)
    if op.kind == "ATAN":
        s.last("ATAN2", [own, s.make("ADD", [s.make("MUL", [own, s.number(0)], x.shape), s.number(1)], x.shape)])
        return
    below = s.make("SUB", [s.number(1), own], x.shape)
    above = s.make("ADD", [own, s.number(1)], x.shape)
    other = s.make("SQRT", [s.make("MUL", [below, above], x.shape)], x.shape)
    s.last("ATAN2", [own, other] if op.kind == "ASIN" else [other, own])


def standardize(e: Emitter, op: Standardize) -> None:
    """Minus the mean, divided by the standard deviation or root mean square, times the scale, plus the bias."""
    s, x = Steps(e, op), op.input(e.graph)
    axis, one = e.ints([len(x.shape) - 1]), (*x.shape[:-1], 1)
    result = e.at(x.id)
    if not isinstance(op, RootMeanSquare):
        result = s.make("SUB", [result, s.make("MEAN", [result, axis], one, keep_dims=True)], x.shape)
    square = s.make("MEAN", [s.make("SQUARE", [result], x.shape), axis], one, keep_dims=True)
    inverse_ = s.make("RSQRT", [s.make("ADD", [square, s.number(op.epsilon)], one)], one)
    more = [(kind, op.tensor(e.graph, p)) for kind, p in (("MUL", SCALE), ("ADD", BIAS))]
    steps = [("MUL", inverse_), *((kind, e.at(t.id)) for kind, t in more if t is not None)]
    for kind, other in steps[:-1]:
        result = s.make(kind, [result, other], x.shape)
    kind, other = steps[-1]
    s.last(kind, [result, other])


def whole(e: Emitter, op: Whole) -> None:
    kind, dtype = WHOLE.get(op.function), op.input(e.graph).dtype
    if kind is None or dtype not in (DType.INT32, DType.INT64):
        raise UnsaidError(f"TFLite has no {op.function} of {dtype}")
    e.op(kind, e.all(op.inputs), e.all(op.outputs))


def distances(e: Emitter, op: Distances) -> None:
    """Distances to all vectors at once: differences, squared or absolute, and summed."""
    s, root = Steps(e, op), op.metric == Metric.EUCLIDEAN
    apart = _apart(s, e, op, op.metric == Metric.MANHATTAN)
    vectors = op.input(e.graph, VECTORS).shape
    if len(op.inputs) > WEIGHTS:
        shape = (_rows(op, e), *vectors)
        apart = s.make("MUL", [apart, e.at(op.inputs[WEIGHTS])], shape)
    shape = (_rows(op, e), vectors[0])
    total = s.make("SUM", [apart, e.ints([2])], shape)
    total = s.make("SQRT", [total], shape) if root else total
    s.last("RESHAPE", [total, e.ints(op.output(e.graph).shape)], new_shape=list(op.output(e.graph).shape))


def _rows(op: Op, e: Emitter) -> int:
    x = op.input(e.graph)
    return x.size // x.shape[-1]


def _apart(s: Steps, e: Emitter, op: Op, plain: bool) -> int:
    """[rows, count, depth]: squared or absolute differences."""
    x, vectors = op.input(e.graph), op.input(e.graph, VECTORS)
    rows = (_rows(op, e), 1, x.shape[-1])
    given = s.make("RESHAPE", [e.at(x.id), e.ints(rows)], rows, new_shape=list(rows))
    shape = (rows[0], *vectors.shape)
    if not plain:
        return s.make("SQUARED_DIFFERENCE", [given, e.at(vectors.id)], shape)
    return s.make("ABS", [s.make("SUB", [given, e.at(vectors.id)], shape)], shape)


def support_vectors(e: Emitter, op: SupportVectors) -> None:
    """Kernel values of all support vectors, then a layer whose weights are the coefficients, most of them zero."""
    s, rows = Steps(e, op), _rows(op, e)
    count = op.input(e.graph, VECTORS).shape[0]
    numbers = _numbers(s, e, op, (rows, count))
    coefficients, intercepts = (_data(op.input(e.graph, p)) for p in (COEFFICIENTS, INTERCEPTS))
    made = s.make("FULLY_CONNECTED", _layer(s, numbers, op.spread(coefficients).T, intercepts), (rows, op.pairs))
    shape = op.output(e.graph).shape
    s.last("RESHAPE", [made, e.ints(shape)], new_shape=list(shape))


def _numbers(s: Steps, e: Emitter, op: SupportVectors, shape: Shape) -> int:
    """[rows, count]: the kernel values."""
    if op.function == KernelFunction.RADIAL:
        squares = s.make("SUM", [_apart(s, e, op, False), e.ints([2])], shape)
        return s.make("EXP", [s.make("MUL", [squares, s.number(-op.gamma)], shape)], shape)
    x, vectors = op.input(e.graph), _data(op.input(e.graph, VECTORS))
    rows = (shape[0], x.shape[-1])
    given = s.make("RESHAPE", [e.at(x.id), e.ints(rows)], rows, new_shape=list(rows))
    offsets = np.full(shape[1], op.offset)
    inner = s.make("FULLY_CONNECTED", _layer(s, given, vectors * op.gamma, offsets), shape)
    if op.function == KernelFunction.SIGMOID:
        return s.make("TANH", [inner], shape)
    if op.degree == 0:
        raise UnsaidError("a polynomial of degree 0")
    power = inner
    for _ in range(op.degree - 1):
        power = s.make("MUL", [power, inner], shape)
    return power


def _layer(s: Steps, x: int, weights: Array, bias: Array) -> list[int]:
    return [x, s.constant(weights), s.constant(bias)]


def _data(t: Tensor) -> Array:
    assert t.data is not None
    return t.data.astype(np.float64)
