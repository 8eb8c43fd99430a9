"""Remove channels from all tensors that they pass through unmixed, if the layers that read them can do without: they
have no weights for them, or a bias or other weights replace them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op, Quantization, Tensor
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import bias_values, float_bias
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.transpose_conv import TransposeConv

Layer = Conv2D | FullyConnected | TransposeConv
"""Operators whose outputs are sums over all input channels, with weights [outputs, .., inputs]."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ChannelReader:
    """How a layer reads the channels of its input. A column is an index of the weights' last axis."""

    columns: Ints
    """The input channel of each column."""
    weights: Mask
    """[outputs, columns]: whether any weight is not zero."""
    dispensable: Mask
    """Whether the layer can do without each column."""
    bias: NDArray[Any]
    """[outputs, columns]: the number to add to the bias if the column is removed."""
    into: Ints
    """For each column, the column whose weights its own are added to if it is removed; OUTSIDE: none."""


Readers = Mapping[int, ChannelReader]
"""By the id() of a layer: how it reads its input."""


def taps_of(graph: Graph, layer: Layer) -> Array:
    """Weights as [outputs, taps, columns]."""
    w = layer.input(graph, 1)
    assert w.data is not None
    return w.data.reshape(w.shape[0], -1, w.shape[-1])


def layers(graph: Graph, dtype: DType = DType.INT8) -> Iterator[tuple[Layer, Ints]]:
    """The layers with inputs of this type whose weight columns each belong to one channel, with the channel of each
    column."""
    for op in graph.ops:
        if isinstance(op, Layer) and op.input(graph).dtype == dtype and op.input(graph).data is None:
            columns = op.columns(graph)
            if columns is not None:
                yield op, columns


def removable(graph: Graph, readers: Readers, needed: Mapping[int, Mask]) -> dict[int, Mask]:
    """The channels of each tensor that can be removed together: all except those that are or turn out to be needed."""
    free = _inner(graph, DType.INT8)
    for i, mask in needed.items():
        free[i] &= ~mask
    before = -1
    while before != (before := sum(int(mask.sum()) for mask in free.values())):
        for op in reversed(graph.ops):
            _keep_needed(graph, op, readers.get(id(op)), free)
        for mask in free.values():
            mask[0] &= not mask.all()
        if before == sum(int(mask.sum()) for mask in free.values()):
            _keep_fours(graph, free)
    return free


def dispensable(graph: Graph, readers: Readers, dtype: DType) -> dict[int, Mask]:
    """The channels of each tensor that can be removed, if readers give up what they can: any subset may go, but not all
    channels of a tensor."""
    free, before = _inner(graph, dtype), -1
    while before != (before := sum(int(mask.sum()) for mask in free.values())):
        for op in reversed(graph.ops):
            _keep_needed(graph, op, readers.get(id(op)), free)
    return free


def _inner(graph: Graph, dtype: DType) -> dict[int, Mask]:
    """A mask of all channels for inner tensors of this type; of none for others, such as inputs, outputs and states."""
    fixed = {*graph.inputs, *graph.outputs, *(t for s in graph.states for t in (s.before, s.after))}
    computed = {i: t for i, t in graph.tensors.items() if t.data is None}
    return {i: np.full(t.channels, t.dtype == dtype and i not in fixed) for i, t in computed.items()}


def _keep_fours(graph: Graph, free: dict[int, Mask]) -> None:
    """Keeps some removable channels, constant ones first, so that the remaining number is a multiple of four:
    convolutions read four channels at a time."""
    for op in graph.ops:
        mask = free.get(op.inputs[0])
        if isinstance(op, Conv2D) and mask is not None and mask.any() and mask.size % 4 == 0:
            constant = graph.ranges[op.inputs[0]].constant
            order = np.argsort(~(mask & constant), kind="stable")
            mask[[c for c in order if mask[c]][: mask.sum() % 4]] = False


def _keep_needed(graph: Graph, op: Op, reader: ChannelReader | None, free: dict[int, Mask]) -> None:
    """Marks input channels that the operator's needed outputs depend on as needed, and output channels whose inputs
    stay."""
    out = free[op.outputs[0]]
    if reader is not None:
        needed = reader.weights[~out].any(axis=0) & ~reader.dispensable
        free[op.inputs[0]][reader.columns[needed]] = False
        return
    threads = op.channel_sources(graph)
    if threads is None:
        for i in op.outputs:
            free[i][:] = False
    for position, i in op.computed(graph):
        source = (threads or {}).get(position)
        if source is None:
            free[i][:] = False
            continue
        free[i][source[~out & (source != OUTSIDE)]] = False
        out &= free[i][source] | (source == OUTSIDE)


def remove(graph: Graph, free: Mapping[int, Mask], readers: Readers) -> Graph:
    """The graph without the channels in `free`."""
    kept = {t: np.flatnonzero(~mask) for t, mask in free.items()}
    tensors = [_narrowed(graph.tensors[t], channels) for t, channels in kept.items() if free[t].any()]
    fresh, ops = graph.fresh_id(), []
    for op in graph.ops:
        constants = _constants(graph, op, kept, readers.get(id(op)))
        new = {p: replace(t, id=fresh + n) for n, (p, t) in enumerate(constants.items())}
        fresh += len(new)
        tensors += new.values()
        inputs = [new[p].id if p in new else i for p, i in enumerate(op.inputs)]
        inputs += [t.id for p, t in new.items() if p >= len(op.inputs)]
        ends = [*(i for _, i in op.computed(graph)), op.outputs[0]]
        if any(free[i].any() for i in ends):
            op = op.narrowed(graph, [kept[i] for i in ends])
        ops.append(op.with_(inputs=tuple(inputs)))
    return graph.with_ops(ops, tensors)


def _narrowed(t: Tensor, channels: Ints) -> Tensor:
    kept = channels if t.kept is None else np.array(t.kept)[channels]
    return replace(t, shape=(*t.shape[:-1], len(channels)), kept=tuple(kept.tolist()))


def _constants(graph: Graph, op: Op, kept: Mapping[int, Ints], reader: ChannelReader | None) -> dict[int, Tensor]:
    """The constants of an operator that change, by input position."""
    out, whole = kept[op.outputs[0]], op.output(graph).channels
    if reader is not None:
        return _layer_constants(graph, op, out, np.isin(reader.columns, kept[op.inputs[0]]), reader)
    if len(out) == whole:
        return {}
    given = [(p, t) for p in range(len(op.inputs)) if (t := op.tensor(graph, p)) and t.data is not None]
    return {p: _taken(t, out, -1) for p, t in given if t.channels == whole}


def _layer_constants(graph: Graph, op: Op, rows: Ints, columns: Mask, reader: ChannelReader) -> dict[int, Tensor]:
    w, b = op.input(graph, 1), op.tensor(graph, 2)
    if len(rows) == w.shape[0] and columns.all():
        return {}
    assert w.data is not None
    real = w.data.dtype.kind == "f"
    weights: Array = w.data.astype(np.float64 if real else np.int64)
    for column in np.flatnonzero(~columns & (reader.into != OUTSIDE)):
        weights[..., reader.into[column]] += weights[..., column]
    w = replace(w, data=weights.astype(w.data.dtype))
    constants = {1: _taken(_taken(w, rows, 0), np.flatnonzero(columns), -1)}
    bias = (float_bias if real else bias_values)(b, w.shape[0]) + reader.bias[:, ~columns].sum(axis=1)
    if b is not None or bias.any():
        dtype = DType.FLOAT32 if real else DType.INT32
        data = bias[rows].astype(dtype.numpy)
        constants[2] = Tensor(-1, b.name if b else f"{op.name}/bias", data.shape, dtype, None, data)
    return constants


def _taken(t: Tensor, which: Ints, axis: int) -> Tensor:
    """A selection of a constant's elements along an axis."""
    assert t.data is not None
    data, quant = np.ascontiguousarray(t.data.take(which, axis=axis)), t.quant
    if quant is not None and quant.per_channel and quant.axis == axis % t.data.ndim:
        quant = Quantization(quant.scale[which], quant.zero_point[which % quant.zero_point.size], quant.axis)
    return replace(t, shape=data.shape, data=data, quant=quant)
