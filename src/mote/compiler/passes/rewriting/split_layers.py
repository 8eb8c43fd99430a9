"""Split fully connected layers and convolutions with many weights into several with fewer outputs, whose results are
concatenated: each has few constants, so that decrypting them takes little RAM. Results are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Quantization
from mote.ir.ops.common import learned
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.pad_concat_transpose import INPUTS, Concatenation
from mote.ir.ops.windows.conv import Conv2D

MOST = {FullyConnected: 4 << 10, Conv2D: 16 << 10}
"""Approximate bytes of weights of a part; more for convolutions, as each part reads all of the input again."""
OUTPUTS = 8
"""Parts have multiples of this number of outputs, as kernels compute at most so many at a time."""


def run(graph: Graph) -> Graph:
    """The graph in which no layer has more bytes of weights than `MOST`, except layers with few outputs."""
    ops: list[Op] = []
    tensors: list[Tensor] = []
    fresh = graph.fresh_id()
    for op in graph.ops:
        parts = list(_parts(graph, op, MOST[type(op)])) if type(op) in MOST else []
        if len(parts) < 2:
            ops.append(op)
            continue
        joined = []
        for number, outputs in enumerate(parts):
            made, own = _part(graph, op, outputs, f"{op.name}_{number}", fresh)
            fresh += len(own)
            tensors += own
            joined.append(made.outputs[0])
            ops.append(made)
        axis = len(op.output(graph).shape) - 1
        ops.append(Concatenation(inputs=tuple(joined), outputs=op.outputs, name=op.name, index=op.index, axis=axis))
    return graph.with_ops(ops, tensors).verify() if tensors else graph


def _parts(graph: Graph, op: Op, most: int) -> Iterator[slice]:
    """The range of outputs of each part of a layer."""
    weights = op.input(graph, 1)
    if weights.data is None or learned(graph, op):
        return
    count = weights.shape[0]
    size = max(most * count // max(weights.data.nbytes, 1), -(-count // INPUTS))
    size = max(size // OUTPUTS * OUTPUTS, OUTPUTS)
    size += OUTPUTS if -(-count // size) > INPUTS else 0
    yield from (slice(begin, min(begin + size, count)) for begin in range(0, count, size))


def _part(graph: Graph, op: Op, outputs: slice, name: str, fresh: int) -> tuple[Op, list[Tensor]]:
    """A part of a layer that computes some of its outputs, with its tensors."""
    count = op.input(graph, 1).shape[0]
    own: list[Tensor] = []
    inputs = list(op.inputs)
    for position, t in enumerate(op.inputs[1:], 1):
        if t != ABSENT:
            inputs[position] = fresh + len(own)
            own.append(replace(_rows(graph.tensors[t], outputs, count), id=inputs[position]))
    made = op.output(graph)
    shape = (*made.shape[:-1], len(range(*outputs.indices(count))))
    own.append(replace(made, id=fresh + len(own), name=name, shape=shape, inner=True, arrangement=None, labels=()))
    return op.with_(inputs=tuple(inputs), outputs=(own[-1].id,), name=name), own


def _rows(tensor: Tensor, outputs: slice, count: int) -> Tensor:
    """The slice of weights or biases for some outputs."""
    assert tensor.data is not None and tensor.shape[0] == count
    data, quant = tensor.data[outputs], tensor.quant
    if quant is not None and quant.per_channel and quant.axis == 0:
        zero = quant.zero_point[outputs] if quant.zero_point.size > 1 else quant.zero_point
        quant = Quantization(quant.scale[outputs], zero, 0, quant.unsigned)
    return replace(tensor, shape=data.shape, data=data, quant=quant)
