"""Fuse operators that only move elements of one tensor (TRANSPOSE, SLICE, CONCATENATION, TILE, RESHAPE and the like)
into one that moves them to the same positions: a view, a slice, a transpose, DEPTH_TO_SPACE or SPACE_TO_DEPTH, or an
image with every pixel repeated, as Keras upsamples images.

Exact by construction: the operators are evaluated on the indices of all elements, and the fused operator must give the
same result.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from mote.compiler.passes.fusing.single_source_regions import SourceRegion, regions
from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Shape
from mote.ir.ops.moves.gather_constant import Pick
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Transpose, same_steps
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.moves.strided import BroadcastTo, DepthToSpace, Reverse, SpaceToDepth, Tile
from mote.ir.ops.windows.resize import ResizeNearest

MOVES = (
    *(Concatenation, Slice, Transpose, Reshape, ResizeNearest),
    *(BroadcastTo, DepthToSpace, Reverse, SpaceToDepth, Tile),
)
MOST_ELEMENTS = 1 << 22
"""Maximum elements of a tensor that is considered: following more would take too long."""
MOST_CHANNELS = 512
"""Maximum channels of a gather by a list of channels."""


def run(graph: Graph) -> Graph:
    while (fused := _fuse_one(graph)) is not None:
        graph = fused
    return graph


def _fuse_one(graph: Graph) -> Graph | None:
    for source, x in graph.tensors.items():
        if x.data is not None or not 0 < x.size <= MOST_ELEMENTS:
            continue
        for region in regions(graph, source, lambda op: _moves(graph, op)):
            if len(region.ops) == 1 and not isinstance(region.last, Transpose):
                continue
            places = _places(graph, region)
            if (op := _simpler(graph, region, places)) is not None:
                return region.replaced(graph, op)
            enlarges = any(isinstance(op, ResizeNearest) for op in region.ops)
            if not enlarges and _repeats_steps(x.shape, places):
                return _enlarged(graph, region)
            turns = any(isinstance(op, Transpose) for op in region.ops)
            if turns and (channels := _channels(x.shape, places)) is not None:
                return _mixed(graph, region, *channels)
    return None


def _moves(graph: Graph, op: Op) -> bool:
    """Whether all elements of the output are unchanged elements of computed inputs."""
    y = op.output(graph)
    if not isinstance(op, MOVES) or not 0 < y.size <= MOST_ELEMENTS:
        return False
    tensors = [graph.tensors[i] for i in op.inputs]
    if any(t.data is not None for t in tensors):
        return False
    return all(t.dtype == y.dtype and same_steps(t, y) for t in tensors)


def _simpler(graph: Graph, region: SourceRegion, places: Ints) -> Op | None:
    """A single, cheaper operator with the same result, if there is one. `places`: for each output element the index of
    its source."""
    work = [op for op in region.ops if not op.is_view]
    if not work:
        return None
    x, last = graph.tensors[region.source], region.last
    names: dict[str, Any] = {"inputs": (x.id,), "outputs": last.outputs, "name": last.name, "index": last.index}
    if np.array_equal(places.reshape(-1), np.arange(x.size, dtype=np.int64)):
        return Reshape(**names, shape=places.shape)
    candidates = (
        [] if len(region.ops) == 1 else [_blocks(x.shape, places.shape, names), _repeated(x.shape, places.shape, names)]
    )
    if len(work) > 1:
        candidates += [_slice(x.shape, places, names), _transpose(x.shape, places, names)]
    return next((op for op in candidates if op is not None and _does(graph, op, places)), None)


def _blocks(x: Shape, y: Shape, names: dict[str, Any]) -> Op | None:
    """DEPTH_TO_SPACE or SPACE_TO_DEPTH between two shapes, if they fit."""
    if len(x) != 4 or len(y) != 4:
        return None
    if y[1] > x[1] and y[1] % x[1] == 0:
        return DepthToSpace(**names, block=y[1] // x[1])
    return SpaceToDepth(**names, block=x[1] // y[1]) if x[1] > y[1] and x[1] % y[1] == 0 else None


def _repeated(x: Shape, y: Shape, names: dict[str, Any]) -> Op | None:
    """Nearest-neighbour upsampling between two shapes, if they fit."""
    if len(x) != 4 or len(y) != 4 or y[1] % x[1] or y[2] % x[2]:
        return None
    return ResizeNearest(**names, size=(y[1], y[2]))


def _repeats_steps(x: Shape, places: Ints) -> bool:
    """Whether the region repeats every step of sequences [sequences, steps, channels]."""
    y = places.shape
    if len(x) != 3 or len(y) != 3 or y[1] <= x[1] or y[1] % x[1]:
        return False
    return np.array_equal(np.arange(prod(x), dtype=np.int64).reshape(x).repeat(y[1] // x[1], axis=1), places)


def _enlarged(graph: Graph, region: SourceRegion) -> Graph:
    """The graph with a region of repeated steps replaced by upsampling of images with one column."""
    small, large = (graph.tensors[i].shape for i in (region.source, region.last.outputs[0]))
    shapes = ((*small[:2], 1, small[2]), (*large[:2], 1, large[2]))
    return _between_views(graph, region, shapes, ResizeNearest, size=(large[1], 1))


def _between_views(
    graph: Graph, region: SourceRegion, shapes: tuple[Shape, Shape], kind: type[Op], **fields: Any
) -> Graph:
    """The graph with a region replaced by one operator, between reshapes of its input and output to these shapes."""
    x, last = graph.tensors[region.source], region.last
    y, fresh = last.output(graph), graph.fresh_id()
    given, made = (
        t if t.shape == shape else replace(t, id=fresh + k, shape=shape, inner=True, copy_of=None)
        for k, (t, shape) in enumerate(zip((x, y), shapes, strict=True))
    )
    names: dict[str, Any] = {"name": last.name, "index": last.index}
    ops: list[Op] = [kind(inputs=(given.id,), outputs=(made.id,), **fields, **names)]
    if given is not x:
        ops.insert(0, Reshape(inputs=(x.id,), outputs=(given.id,), shape=given.shape, **names))
    if made is not y:
        ops.append(Reshape(inputs=(made.id,), outputs=(y.id,), shape=y.shape, **names))
    gone = {id(op) for op in region.ops[:-1]}
    replaced = [new for op in graph.ops if id(op) not in gone for new in (ops if op is last else (op,))]
    return graph.with_ops(replaced, [given, made])


def _channels(x: Shape, places: Ints) -> tuple[int, tuple[int, ...]] | None:
    """If a region permutes or picks channels equally for all leading indices, like the channel shuffle of ShuffleNet:
    the axis from which on elements count as channels, and the source of each output channel; else None."""
    for axis in reversed(range(1, len(x))):
        rows, channels = prod(x[:axis]), prod(x[axis:])
        if rows == 1 or places.size % rows or channels > MOST_CHANNELS:
            return None
        own = places.reshape(rows, -1) - np.arange(rows, dtype=np.int64)[:, None] * channels
        if own.min() >= 0 and own.max() < channels and np.all(own == own[0]):
            return axis, tuple(own[0].tolist())
    return None


def _mixed(graph: Graph, region: SourceRegion, axis: int, channels: tuple[int, ...]) -> Graph:
    """The graph with a region replaced by a gather of channels by a list."""
    shape = graph.tensors[region.source].shape
    shapes = ((*shape[:axis], prod(shape[axis:])), (*shape[:axis], len(channels)))
    return _between_views(graph, region, shapes, Pick, places=(*[None] * axis, channels), shape=shapes[1])


def _slice(x: Shape, places: Ints, names: dict[str, Any]) -> Op | None:
    """The SLICE between the first and the last source element, with strides if the rank is unchanged; None if it does
    not fit."""
    first, last = (np.unravel_index(int(places.reshape(-1)[k]), x) for k in (0, -1))
    spans = [int(b) - int(a) for a, b in zip(first, last, strict=True)]
    if min(spans) < 0:
        return None
    strides = [1] * len(x)
    if len(x) == places.ndim:
        strides = [max(span // max(n - 1, 1), 1) for span, n in zip(spans, places.shape, strict=True)]
    size = tuple(span // stride + 1 for span, stride in zip(spans, strides, strict=True))
    if prod(size) != places.size:
        return None
    return Slice(**names, begin=tuple(map(int, first)), size=size, strides=tuple(strides), shape=places.shape)


def _transpose(x: Shape, places: Ints, names: dict[str, Any]) -> Op | None:
    """The TRANSPOSE whose axes have the strides that the result has in the source; None if there is none."""
    if places.ndim != len(x) or places.size != prod(x):
        return None
    steps = {prod(x[axis + 1 :]): axis for axis in reversed(range(len(x))) if x[axis] > 1}
    ones = iter(axis for axis in range(len(x)) if x[axis] == 1)
    permutation = []
    for axis, n in enumerate(places.shape):
        step = int(places.take(1, axis).reshape(-1)[0]) if n > 1 else 0
        source = steps.get(step) if n > 1 else next(ones, None)
        if source is None:
            return None
        permutation.append(source)
    return Transpose(**names, permutation=tuple(permutation)) if len({*permutation}) == len(x) else None


def _places(graph: Graph, region: SourceRegion) -> Ints:
    """For each element of the result, the flat index of its source."""
    x = graph.tensors[region.source]
    known = {region.source: np.arange(x.size, dtype=np.int64).reshape(x.shape)}
    for op in region.ops:
        (moved,) = op.evaluate(graph, [known[i] for i in op.inputs])
        known[op.outputs[0]] = moved.reshape(op.output(graph).shape)
    return known[region.last.outputs[0]]


def _does(graph: Graph, op: Op, places: Ints) -> bool:
    """Whether an operator is supported and gives every output element from the source in `places`."""
    x = op.input(graph)
    if op.shapes(graph) != [places.shape] or op.unsupported(graph) is not None:
        return False
    return np.array_equal(op.evaluate(graph, [np.arange(x.size, dtype=np.int64).reshape(x.shape)])[0], places)
