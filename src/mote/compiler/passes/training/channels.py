"""Layers of which only some output channels learn: the layer is split, and one part has learned weights. So only these
weights are in RAM, and only their gradients are computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from mote.base.errors import MoteError
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Quantization
from mote.ir.ops.common import BIAS, WEIGHTS
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.pad_concat_transpose import Concatenation
from mote.ir.ops.windows.conv import Conv2D


@dataclass(frozen=True)
class InParts:
    """A graph with a layer split by output channels."""

    graph: Graph
    weights: int
    """The weights of the channels that learn."""
    biases: tuple[int, ...]
    """The bias of each part; empty if the layer has none."""


def in_parts(graph: Graph, op: Op, channels: range, where: str) -> InParts:
    """The graph with a layer split into two or three, whose results are concatenated: the output channels `channels`,
    and those before and after them."""
    count = op.input(graph, WEIGHTS).shape[0]
    if not isinstance(op, Conv2D | FullyConnected) or not 0 <= channels.start < channels.stop <= count:
        reason = f"{op.where} has no output channels {channels.start} to {channels.stop - 1} that learn by themselves"
        remedy = "name channels of a convolution or a fully connected layer, as LAYER[0:16]"
        raise MoteError(reason, where=where, remedy=remedy)
    ends = sorted({0, channels.start, channels.stop, count})
    pieces = [range(a, b) for a, b in pairwise(ends)]
    if len(pieces) == 1:
        return InParts(graph, op.inputs[WEIGHTS], tuple(i for i in op.inputs[BIAS:] if i != ABSENT))
    fresh, added, ops = iter(range(graph.fresh_id(), graph.fresh_id() + 3 * len(pieces))), list[Tensor](), list[Op]()
    for piece in pieces:
        operands = [_part(graph.tensors[i], piece, next(fresh)) for i in op.inputs[WEIGHTS:] if i != ABSENT]
        y = op.output(graph)
        out = replace(y, id=next(fresh), shape=(*y.shape[:-1], len(piece)), inner=True, labels=())
        name = f"{op.name}[{piece.start}:{piece.stop}]"
        ops.append(op.with_(inputs=(op.inputs[0], *(t.id for t in operands)), outputs=(out.id,), name=name))
        added += [*operands, out]
    joined = Concatenation(
        inputs=tuple(part.outputs[0] for part in ops),
        outputs=op.outputs,
        name=op.name,
        index=op.index,
        axis=len(op.output(graph).shape) - 1,
    )
    whole = graph.with_ops([new for old in graph.ops for new in ([*ops, joined] if old is op else [old])], added)
    learning = ops[pieces.index(channels)]
    return InParts(whole.verify(), learning.inputs[WEIGHTS], tuple(i for part in ops for i in part.inputs[BIAS:]))


def _part(t: Tensor, channels: range, tensor: int) -> Tensor:
    """The slice of weights or bias for some output channels, along the first axis."""
    assert t.data is not None
    part = slice(channels.start, channels.stop)
    quant = t.quant
    if quant is not None and quant.per_channel:
        quant = Quantization(quant.scale[part], quant.zero_point[part], quant.axis, quant.unsigned)
    data = t.data[part]
    return replace(t, id=tensor, shape=data.shape, data=data, quant=quant, inner=True)
