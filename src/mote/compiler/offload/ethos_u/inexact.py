"""Operators for which Vela's command streams give other results than LiteRT, found with the functional model of the
Ethos-U.

`tests/hardware/npu/test_operators.py` has the table of operators with equal results.
"""

from __future__ import annotations

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import quantize_multiplier, rescale
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.activations import FloatTable, LeakyRelu
from mote.ir.ops.elementwise.arithmetic import INT8
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.resize import ResizeNearest
from mote.ir.ops.windows.transpose_conv import TransposeConv

UNCERTAIN = 2.0**-21
"""The relative error of a function in single precision, scaled."""


def difference(graph: Graph, op: Op) -> str:
    """Why results on the Ethos-U would differ from LiteRT; empty if they do not."""
    if isinstance(op, ResizeNearest) and not (op.align_corners or op.half_pixel_centers):
        sizes = op.input(graph).shape[1:3]
        if any(made % size for made, size in zip(op.size, sizes, strict=True)):
            return "Vela resizes by a fraction from the centres of pixels, LiteRT from their corners"
    if isinstance(op, Conv2D | DepthwiseConv2D | TransposeConv) and _wraps(graph, op):
        return "its scaled sums do not fit 32 bits, in which LiteRT shifts them left"
    if isinstance(op, LeakyRelu) and op.input(graph).dtype == DType.INT16 and _has_another_slope(graph, op):
        return "Vela takes the slope as it is, LiteRT scales and unscales it in single precision"
    if isinstance(op, FloatTable) and op.input(graph).dtype == DType.INT8 and _has_ties(graph, op):
        return (
            "a value of its table is halfway between two integers: Vela rounds it in double precision, LiteRT in single"
        )
    return ""


def _has_another_slope(graph: Graph, op: LeakyRelu) -> bool:
    """Whether a negative input has another result by the slope itself. Vela scales nothing where the scale stays."""
    x, y = op.input(graph), op.output(graph)
    negative = np.arange(x.dtype.limits[0], 0, dtype=np.int64)
    plain = rescale(negative, *quantize_multiplier(op.alpha))
    return x.scale == y.scale and not np.array_equal(op.wide(negative, x, y), plain)


def _has_ties(graph: Graph, op: FloatTable) -> bool:
    """Whether some output, before it is rounded, is as near to a half as single precision can tell."""
    x, y = op.input(graph), op.output(graph)
    with np.errstate(all="ignore"):
        values = op.tabled(np.float32(x.scale) * (INT8 - x.zero_point).astype(np.float32), y)
        steps = np.abs(np.nan_to_num(values.astype(np.float64) / y.scale))
    return bool(np.any(np.abs(steps - np.floor(steps) - 0.5) <= steps * UNCERTAIN))


def _wraps(graph: Graph, op: Conv2D | DepthwiseConv2D | TransposeConv) -> bool:
    """Whether upscaled sums overflow 32 bits in LiteRT; the hardware has more bits."""
    given = graph.ranges.get(op.input(graph).id)
    if given is None:
        return False
    sums = op.sums(graph, given)
    largest = np.maximum(np.abs(sums.low), np.abs(sums.high)).astype(np.float64)
    return bool(np.any(largest * 2.0 ** np.maximum(sums.shift, 0) >= 2.0**31))
