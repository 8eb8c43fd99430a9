"""Remove channels that cannot matter: those that no layer has weights for, and those that are constant, whose part in
the sums of the layers that read them goes into the bias.

A channel goes from all tensors at once through which operators lead it without mixing it with others. Padding holds the
zero point: a constant that is another value is folded only where no window reaches outside of the image.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mote.graph import Graph, Op, Quantization, Tensor
from mote.graph.fixedpoint import INT32_MAX, Ints
from mote.graph.op import OUTSIDE
from mote.ops.common import bias_values
from mote.ops.conv import Conv2D
from mote.ops.depthwise import DepthwiseConv2D
from mote.ops.fully_connected import FullyConnected
from mote.ops.transpose_conv import TransposeConv
from mote.passes.removal import Kind, Removal

Layer = Conv2D | FullyConnected | TransposeConv
"""Operators whose outputs are sums over all channels: their weights are [outputs, .., inputs]."""
Mask = NDArray[np.bool_]

UNREAD = Kind("unread channels", "the layers that read them have no weights but zeros for them")
SILENT = Kind(
    "channels without weights",
    "all their own weights are zero: they are constants, which the layers that read them add to their biases",
)
SETTLED = Kind(
    "channels with one possible value",
    "the least and the largest of their sums for any inputs, padded or not, give the same value: constants again",
)


def run(graph: Graph) -> tuple[Graph, list[Removal]]:
    readers = {id(op): found for op in graph.ops if isinstance(op, Layer) and (found := _reader(graph, op))}
    free = _removable(graph, readers)
    if not any(mask.any() for mask in free.values()):
        return graph, []
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
        channels = [kept[i] for _, i in op.computed(graph)] + [kept[op.outputs[0]]]
        ops.append(op.narrowed(graph, channels).with_(inputs=tuple(inputs)))
    return graph.with_ops(ops, tensors), _removals(graph, free, readers)


@dataclass(frozen=True)
class Reader:
    """How a layer reads its input: columns are indices of the weights' last axis."""

    columns: Ints
    """The input's channel that each belongs to."""
    weights: Mask
    """[outputs, columns]: where there are any but zeros."""
    foldable: Mask
    """Columns that only ever meet one value, which the bias can take in."""
    fold: Ints
    """[outputs, columns]: what it adds to the bias."""


def _reader(graph: Graph, layer: Layer) -> Reader | None:
    x, w, columns = layer.input(graph), layer.input(graph, 1), layer.columns(graph)
    if x.dtype != "int8" or columns is None:
        return None
    assert w.data is not None
    found, taps = graph.ranges[x.id], w.data.reshape(w.shape[0], -1, w.shape[-1])
    value = np.where(found.constant, found.low - x.zero_point, 0)[columns]
    fold = taps.sum(axis=1, dtype=np.int64) * value
    padded = not isinstance(layer, FullyConnected) and _padded(graph, layer)
    bias = bias_values(layer.tensor(graph, 2), w.shape[0])
    fits = bool((np.abs(bias) + np.abs(fold).sum(axis=1)).max() <= INT32_MAX)
    foldable = found.constant[columns] & ((value == 0) | (fits and not padded))
    return Reader(columns, (taps != 0).max(axis=1), foldable, fold)


def _padded(graph: Graph, layer: Conv2D | TransposeConv) -> bool:
    return isinstance(layer, TransposeConv) or not all(ways.all() for ways in layer.present(graph))


def _removable(graph: Graph, readers: Mapping[int, Reader]) -> dict[int, Mask]:
    """The channels of each tensor that may go: all but those that turn out to be needed."""
    fixed = {*graph.inputs, *graph.outputs, *(t for s in graph.states for t in (s.before, s.after))}
    computed = {i: t for i, t in graph.tensors.items() if t.data is None}
    free = {i: np.full(t.channels, t.dtype == "int8" and i not in fixed) for i, t in computed.items()}
    before = -1
    while before != (before := sum(int(mask.sum()) for mask in free.values())):
        for op in reversed(graph.ops):
            _keep_needed(graph, op, readers.get(id(op)), free)
        for mask in free.values():
            mask[0] &= not mask.all()
        if before == sum(int(mask.sum()) for mask in free.values()):
            _keep_fours(graph, free)
    return free


def _keep_fours(graph: Graph, free: dict[int, Mask]) -> None:
    """Convolutions read four channels at a time: some of those that may go stay where the last four would not be full,
    constant ones first."""
    for op in graph.ops:
        mask = free.get(op.inputs[0])
        if isinstance(op, Conv2D) and mask is not None and mask.any() and mask.size % 4 == 0:
            constant = graph.ranges[op.inputs[0]].constant
            order = np.argsort(~(mask & constant), kind="stable")
            mask[[c for c in order if mask[c]][: mask.sum() % 4]] = False


def _keep_needed(graph: Graph, op: Op, reader: Reader | None, free: dict[int, Mask]) -> None:
    """What has to stay of the operator's inputs because of its output, and the other way round."""
    out = free[op.outputs[0]]
    if reader is not None:
        needed = reader.weights[~out].any(axis=0) & ~reader.foldable
        free[op.inputs[0]][reader.columns[needed]] = False
        return
    threads = op.threads(graph)
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


def _narrowed(t: Tensor, channels: Ints) -> Tensor:
    kept = channels if t.kept is None else np.array(t.kept)[channels]
    return replace(t, shape=(*t.shape[:-1], len(channels)), kept=tuple(kept.tolist()))


def _constants(graph: Graph, op: Op, kept: Mapping[int, Ints], reader: Reader | None) -> dict[int, Tensor]:
    """The operator's constants that change, by position."""
    out, whole = kept[op.outputs[0]], op.output(graph).channels
    if reader is not None:
        return _layer_constants(graph, op, out, np.isin(reader.columns, kept[op.inputs[0]]), reader)
    if len(out) == whole:
        return {}
    given = [(p, t) for p in range(len(op.inputs)) if (t := op.tensor(graph, p)) and t.data is not None]
    return {p: _taken(t, out, -1) for p, t in given if t.channels == whole}


def _layer_constants(graph: Graph, op: Op, rows: Ints, columns: Mask, reader: Reader) -> dict[int, Tensor]:
    w, b = op.input(graph, 1), op.tensor(graph, 2)
    if len(rows) == w.shape[0] and columns.all():
        return {}
    found = {1: _taken(_taken(w, rows, 0), np.flatnonzero(columns), -1)}
    bias = bias_values(b, w.shape[0]) + reader.fold[:, ~columns].sum(axis=1)
    if b is not None or bias.any():
        data = bias[rows].astype(np.int32)
        found[2] = Tensor(-1, b.name if b else f"{op.name}/bias", data.shape, "int32", None, data)
    return found


def _taken(t: Tensor, which: Ints, axis: int) -> Tensor:
    """A part of a constant along an axis."""
    assert t.data is not None
    data, quant = np.ascontiguousarray(t.data.take(which, axis=axis)), t.quant
    if quant is not None and quant.per_channel and quant.axis == axis % t.data.ndim:
        quant = Quantization(quant.scale[which], quant.zero_point[which % quant.zero_point.size], quant.axis)
    return replace(t, shape=data.shape, data=data, quant=quant)


def _removals(graph: Graph, free: Mapping[int, Mask], readers: Mapping[int, Reader]) -> list[Removal]:
    """Channels by the layer that computed them."""
    folded = {t: np.zeros_like(mask) for t, mask in free.items()}
    for op in reversed(graph.ops):
        if reader := readers.get(id(op)):
            used = reader.weights[~free[op.outputs[0]]].any(axis=0) & free[op.inputs[0]][reader.columns]
            folded[op.inputs[0]][reader.columns[used]] = True
            continue
        for position, source in (op.threads(graph) or {}).items():
            own = folded[op.outputs[0]] & (source != OUTSIDE)
            folded[op.inputs[position]][source[own]] = True
    found = []
    silent = {t: np.zeros_like(mask) for t, mask in free.items()}
    for op in graph.ops:
        y = op.outputs[0]
        silent[y] = _without_weights(graph, op, silent)
        gone, constant = free[y], folded[y]
        counts = {UNREAD: gone & ~constant, SILENT: gone & constant & silent[y], SETTLED: gone & constant & ~silent[y]}
        found += [Removal(op.index, kind, int(mask.sum())) for kind, mask in counts.items() if mask.any()]
    return found


def _without_weights(graph: Graph, op: Op, silent: Mapping[int, Mask]) -> Mask:
    """Outputs of a layer all of whose weights are zero, and what other operators make of these alone."""
    zero = np.zeros(op.output(graph).channels, np.bool_)
    if isinstance(op, Layer | DepthwiseConv2D):
        weights = op.input(graph, 1).data
        assert weights is not None
        axis = weights.ndim - 1 if isinstance(op, DepthwiseConv2D) else 0
        zero = (weights == 0).min(axis=tuple(i for i in range(weights.ndim) if i != axis))
    threads = op.threads(graph) or {}
    if threads and len(threads) == len(op.computed(graph)):
        sources = [silent[op.inputs[p]][source] | (source == OUTSIDE) for p, source in threads.items()]
        zero = zero | np.logical_and.reduce(sources)
    return zero
