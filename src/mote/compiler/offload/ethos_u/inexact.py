"""Operators for which Vela's command streams give other results than LiteRT, found with the functional model of the
Ethos-U.

`tests/hardware/npu/test_operators.py` has the table of operators with equal results.
"""

from __future__ import annotations

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.resize import ResizeNearest
from mote.ir.ops.windows.transpose_conv import TransposeConv


def difference(graph: Graph, op: Op) -> str:
    """Why results on the Ethos-U would differ from LiteRT; empty if they do not."""
    if isinstance(op, ResizeNearest) and not (op.align_corners or op.half_pixel_centers):
        sizes = op.input(graph).shape[1:3]
        if any(made % size for made, size in zip(op.size, sizes, strict=True)):
            return "Vela resizes by a fraction from the centres of pixels, LiteRT from their corners"
    if isinstance(op, Conv2D | DepthwiseConv2D | TransposeConv) and _wraps(graph, op):
        return "its scaled sums do not fit 32 bits, in which LiteRT shifts them left"
    return ""


def _wraps(graph: Graph, op: Conv2D | DepthwiseConv2D | TransposeConv) -> bool:
    """Whether upscaled sums overflow 32 bits in LiteRT; the hardware has more bits."""
    given = graph.ranges.get(op.input(graph).id)
    if given is None:
        return False
    sums = op.sums(graph, given)
    largest = np.maximum(np.abs(sums.low), np.abs(sums.high)).astype(np.float64)
    return bool(np.any(largest * 2.0 ** np.maximum(sums.shift, 0) >= 2.0**31))
