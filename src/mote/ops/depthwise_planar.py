"""Depthwise convolutions over planar rows (see `mote_planar_s8.h`): the layout that they read, and their kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mote.graph import Graph
from mote.graph.rows import OUTSIDE
from mote.graph.types import DType
from mote.ops.depthwise3 import blocks3, parts3
from mote.ops.depthwise_records import Weights, channels_of
from mote.ops.depthwise_wide import wide_parts, wide_split
from mote.plan.kernel import Call, Kernel, Layout, Lowering

if TYPE_CHECKING:
    from mote.ops.depthwise import DepthwiseConv2D


def planar_layout(g: Graph, op: DepthwiseConv2D) -> Layout | None:
    """The planar rows that the operator could read, None where there is no kernel for its shape."""
    x, h = op.input(g), op.horizontal
    if (x.dtype, x.zero_point, op.multiplier, h.dilation) != (DType.INT8, -128, 1, 1) or h.stride not in (1, 2):
        return None
    present = _present(g, op)
    if blocks := blocks3(g, op, present):
        return Layout(blocks.line, h.before)
    split = wide_split(g, op, present)
    return Layout(split.line, split.before) if split else None


def lower_planar(
    g: Graph, op: DepthwiseConv2D, how: Lowering, shift: int | None = None, compact: bool = False
) -> Kernel | None:
    """The kernel that reads planar rows, None where the layer's shape or numbers allow none. `shift`: only with this
    one; `compact`: weights take a byte each, and are unpacked for each row."""
    layout = planar_layout(g, op)
    if layout is None or how.writes.planar:
        return None
    weights: Weights = "w8" if compact else "w16"
    channels = channels_of(g, op, weights, shift)
    if channels is None:
        return None
    present = _present(g, op)
    if blocks := blocks3(g, op, present):
        header, (name, instances, params) = "depthwise3_s8", parts3(g, op, blocks, channels, weights)
    else:
        split = wide_split(g, op, present, weights)
        if split is None:
            return None
        header = "depthwise_wide_s8"
        name, instances, params = wide_parts(g, op, split, channels, weights, max(present))
    rows = op.window_params(g)["rows"]
    assert isinstance(rows, dict)
    return Kernel(
        name,
        params | {"rows": {**rows, "in_stride": op.input(g).shape[3] * layout.line}},
        Call.ROWS,
        header=header,
        taps=op.vertical.kernel,
        row=f"{name}_row",
        reads=layout,
        instances=instances,
        family=header.removesuffix("_s8") + ("_compact" if compact else ""),
        dsp=True,
    )


def _present(g: Graph, op: DepthwiseConv2D) -> list[int]:
    """How many rows of the window lie inside the image, for each row of outputs."""
    height = op.input(g).shape[1]
    return [sum(r != OUTSIDE for r in op.vertical.rows(y, height)) for y in range(op.output(g).shape[1])]
