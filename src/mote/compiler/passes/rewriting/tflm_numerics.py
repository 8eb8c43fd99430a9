"""Reproduce TensorFlow Lite Micro where it differs from LiteRT's reference kernels.

Fully connected layers round twice instead of once. SVDF multiplies its scales in double precision. LOGISTIC and TANH
are computed in fixed point (gemmlowp's), where LiteRT has tables of the float function, and RELU6 clamps without
rescaling: these become lookup tables with the results of TensorFlow Lite Micro.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.numeric.fixedpoint import (
    INT32_MAX,
    Ints,
    exp_on_negative,
    half_reciprocal,
    quantize_multiplier,
    reciprocal,
    rescale,
    rounding_shift_right,
)
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.common import int8_range
from mote.ir.ops.elementwise.activations import LookupTable
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.matrix.fully_connected_dynamic import Projection
from mote.ir.ops.recurrent.svdf import Svdf

INPUT_BITS = 4
"""Integer bits of the fixed-point argument of LOGISTIC and TANH."""

INT8 = np.arange(-128, 128, dtype=np.int64)


def run(graph: Graph) -> Graph:
    return graph.with_ops(_follow(graph, op) for op in graph.ops)


def _follow(graph: Graph, op: Op) -> Op:
    if isinstance(op, FullyConnected | Projection) and op.rounding is Rounding.ONCE:
        return op.with_(rounding=Rounding.TWICE)
    if isinstance(op, Svdf) and op.input(graph).dtype == DType.INT8 and not op.small_state(graph):
        return op.with_(double_scales=True)
    if op.kind not in TABLES or (x := op.input(graph)).dtype != DType.INT8:
        return op
    if op.kind == "RELU6" and x.quant is not None and x.quant.same_as(op.output(graph).quant):
        return op
    return LookupTable(inputs=op.inputs, outputs=op.outputs, name=op.name, index=op.index, values=TABLES[op.kind](x))


def logistic_table(x: Tensor) -> NDArray[np.int8]:
    q4, radius = _argument(x)
    above = reciprocal(exp_on_negative(-np.abs(q4), INPUT_BITS) + (1 << 31))
    result = np.where(q4 > 0, above, np.where(q4 < 0, INT32_MAX - above, 1 << 30))
    return _finish(x, radius, rounding_shift_right(result, 31 - 8) - 128)


def tanh_table(x: Tensor) -> NDArray[np.int8]:
    q4, radius = _argument(x)
    # The argument of exp is doubled by reading it with one bit more before the point.
    inverse = half_reciprocal(exp_on_negative(-np.abs(q4), INPUT_BITS + 1) + (1 << 31))
    size = np.minimum((inverse - (1 << 29)) << 2, INT32_MAX)
    return _finish(x, radius, rounding_shift_right(np.sign(q4) * size, 31 - 7))


def relu6_table(x: Tensor) -> NDArray[np.int8]:
    return np.clip(INT8, *int8_range(Activation.RELU6, x)).astype(np.int8)


TABLES = {"LOGISTIC": logistic_table, "TANH": tanh_table, "RELU6": relu6_table}


def _argument(x: Tensor) -> tuple[Ints, int]:
    """All int8 inputs as Q4.27, and the largest distance from the zero point that Q4.27 can represent."""
    mult, shift = quantize_multiplier(x.scale * (1 << 31 - INPUT_BITS))
    radius = math.floor(((1 << INPUT_BITS) - 1) * 2.0 ** (31 - INPUT_BITS - shift))
    steps = np.clip(INT8 - x.zero_point, -radius, radius)
    return rescale(steps, mult, shift), radius


def _finish(x: Tensor, radius: int, result: Ints) -> NDArray[np.int8]:
    steps = INT8 - x.zero_point
    saturated = np.where(steps <= -radius, -128, np.where(steps >= radius, 127, result))
    return np.clip(saturated, -128, 127).astype(np.int8)
