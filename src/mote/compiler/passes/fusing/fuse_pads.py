"""Fold a PAD of rows and columns into the convolution that reads it.

Exact, because a convolution pads with its input's zero point: the PAD must write the same value.
"""

from __future__ import annotations

from dataclasses import replace

from mote.ir.graph import Graph, Op
from mote.ir.ops.common import Axis
from mote.ir.ops.moves.pad_concat_transpose import Pad
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D

Padded = Conv2D | GroupedConv2D | DepthwiseConv2D
"""Layers with padding of their own."""


def run(graph: Graph) -> Graph:
    fused: dict[int, Op] = {}
    for pad in graph.ops:
        reader = graph.only_consumer(pad.outputs[0])
        if isinstance(pad, Pad) and isinstance(reader, Padded) and _fits(graph, pad, reader):
            fused[id(reader)] = reader.with_(
                inputs=(pad.inputs[0], *reader.inputs[1:]),
                vertical=_widen(reader.vertical, pad.paddings[1]),
                horizontal=_widen(reader.horizontal, pad.paddings[2]),
            )
    ops = [fused.get(id(op), op) for op in graph.ops]
    read = {t for op in ops for t in op.inputs} | set(graph.outputs)
    return graph.with_ops(op for op in ops if not isinstance(op, Pad) or op.outputs[0] in read)


def _fits(graph: Graph, pad: Pad, reader: Padded) -> bool:
    x, y = pad.input(graph), pad.output(graph)
    return (
        reader.inputs[0] == y.id
        and len(pad.paddings) == 4
        and pad.paddings[0] == pad.paddings[3] == (0, 0)
        and pad.value == x.zero_point
        and (x.quant is None or x.quant.same_as(y.quant))
    )


def _widen(axis: Axis, pads: tuple[int, int]) -> Axis:
    return replace(axis, before=axis.before + pads[0], after=axis.after + pads[1])
