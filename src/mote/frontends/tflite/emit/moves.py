"""Operators with shapes, axes and indices as constant inputs, which the graph has as attributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.base.integers import repeat
from mote.frontends.tflite.emit.emitter import Emitter, UnsaidError
from mote.frontends.tflite.ops.lookups import MIRRORED, mirrored
from mote.ir.graph import Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Shape
from mote.ir.graph.types import DType
from mote.ir.ops.classical.non_max_suppression import Suppression
from mote.ir.ops.indexing.gather import DynamicSlice
from mote.ir.ops.indexing.scatter import OneHot, ReverseSequence, ScatterNd, SparseToDense
from mote.ir.ops.moves.constant import ConstantOutput
from mote.ir.ops.moves.gather_constant import MirrorPad, Pick, Places
from mote.ir.ops.moves.multi_output import Part
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Pack, Pad, Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.moves.strided import BatchToSpace, BroadcastTo, DepthToSpace, Reverse, SpaceToBatch, SpaceToDepth, Tile
from mote.ir.ops.reductions.along_axis import ArgExtreme, CumSum, SegmentSum, TopK
from mote.ir.ops.reductions.reduce import Reduction
from mote.ir.ops.signal.rfft2d import Rfft2d


def _with(e: Emitter, op: Op, kind: str, *constants: int, **options: object) -> None:
    """An operator with constants after its first input."""
    e.op(kind, [e.at(op.inputs[0]), *constants], e.all(op.outputs), **options)


def reshape(e: Emitter, op: Reshape) -> None:
    _with(e, op, "RESHAPE", e.ints(op.shape), new_shape=list(op.shape))


def transpose(e: Emitter, op: Transpose) -> None:
    _with(e, op, "TRANSPOSE", e.ints(op.permutation))


def concatenation(e: Emitter, op: Concatenation) -> None:
    e.op("CONCATENATION", e.all(op.inputs), e.all(op.outputs), axis=op.axis)


def pack(e: Emitter, op: Pack) -> None:
    e.op("PACK", e.all(op.inputs), e.all(op.outputs), axis=op.axis, values_count=len(op.inputs))


def pad(e: Emitter, op: Pad) -> None:
    """PAD for zeros, PADV2 for any other value."""
    y = op.output(e.graph)
    if op.value == (0.0 if y.dtype == DType.FLOAT32 else y.zero_point):
        _with(e, op, "PAD", e.ints(op.paddings))
    else:
        filler = np.asarray(op.value, np.float64 if y.dtype == DType.FLOAT32 else np.int64)
        _with(e, op, "PADV2", e.ints(op.paddings), e.constant(y, filler, "around"))


def slice_(e: Emitter, op: Slice) -> None:
    """SLICE, or STRIDED_SLICE for strides and axes that an index removes; any other difference in shape is a
    RESHAPE."""
    x, y = op.input(e.graph), op.output(e.graph)
    gone = _gone(op.size, op.shape)
    if gone is None:
        whole = e.between(y, "sliced", op.size)
        _slice(e, op, x.shape, whole, set())
        e.op("RESHAPE", [whole, e.ints(op.shape)], [e.at(y.id)], new_shape=list(op.shape))
    else:
        _slice(e, op, x.shape, e.at(y.id), gone)


def _slice(e: Emitter, op: Slice, given: Shape, made: int, gone: set[int]) -> None:
    if not gone and all(step == 1 for step in op.strides):
        e.op("SLICE", [e.at(op.inputs[0]), e.ints(op.begin), e.ints(op.size)], [made])
        return
    ends, open_ = [], 0
    for axis, (first, count, step) in enumerate(zip(op.begin, op.size, op.strides, strict=True)):
        end = first + (count - 1) * step + (1 if step > 0 else -1)
        if end < 0:
            open_ |= 1 << axis
        ends.append(max(end, 0))
    constants = [e.ints(op.begin), e.ints(ends), e.ints(op.strides)]
    masks = {"end_mask": open_, "shrink_axis_mask": sum(1 << axis for axis in gone)}
    e.op("STRIDED_SLICE", [e.at(op.inputs[0]), *constants], [made], **masks)


def _gone(size: Sequence[int], shape: Shape) -> set[int] | None:
    """The axes of size 1 that a shape lacks; None where it differs otherwise."""
    gone: set[int] = set()
    kept = 0
    for axis, n in enumerate(size):
        left = len(size) - axis
        if kept < len(shape) and shape[kept] == n and (n != 1 or left <= len(shape) - kept):
            kept += 1
        elif n == 1:
            gone.add(axis)
        else:
            return None
    return gone if kept == len(shape) else None


def dynamic_slice(e: Emitter, op: DynamicSlice) -> None:
    """SLICE, which clamps the begin as the graph does; STRIDED_SLICE with the end relative to the begin where it
    wraps."""
    x, begin = e.all(op.inputs)
    axes = range(len(op.size))
    if not op.wraps and op.given == tuple(axes) and op.shape == op.size and set(op.strides) == {1}:
        e.op("SLICE", [x, begin, e.ints(op.size)], e.all(op.outputs))
        return
    gone = _gone(op.size, op.shape)
    whole = [a for a in axes if op.given[a : a + 1] == (ABSENT,)]
    fits = len(op.given) == len(op.size) and all(axis in (ABSENT, a) for a, axis in enumerate(op.given))
    if not op.wraps or not fits or gone is None or any(op.fixed):
        raise UnsaidError("its begin is given for axes that TFLite's slices do not support")
    ends = [size * step for size, step in zip(op.size, op.strides, strict=True)]
    masks = {name: sum(1 << a for a in whole) for name in ("begin_mask", "end_mask")}
    masks["shrink_axis_mask"] = sum(1 << a for a in gone)
    inputs = [x, begin, e.ints(ends), e.ints(op.strides)]
    e.op("STRIDED_SLICE", inputs, e.all(op.outputs), **masks, offset=True)


def mirror_pad(e: Emitter, op: MirrorPad) -> None:
    """MIRROR_PAD with the paddings and mode that are equal to these indices; else a GATHER for each axis."""
    x = op.input(e.graph).shape
    paddings = [(0, 0) if p is None else _edges(n, p) for n, p in zip(x, op.places, strict=True)]
    for mode, skipped in MIRRORED.items():
        axes = zip(x, paddings, op.places, strict=True)
        if all(p is None or mirrored(n, *ends, skipped) == p for n, ends, p in axes):
            _with(e, op, "MIRROR_PAD", e.ints(paddings), mode=mode)
            return
    pick(e, op)


def _edges(n: int, places: Places) -> tuple[int, int]:
    """The number of indices before and after those of an axis of n elements."""
    whole = tuple(range(n))
    before = next((i for i in range(len(places) - n + 1) if places[i : i + n] == whole), 0)
    return before, max(len(places) - n - before, 0)


def pick(e: Emitter, op: Pick) -> None:
    """A GATHER for each axis with indices, and a RESHAPE where the shape differs."""
    y = op.output(e.graph)
    now, shape = e.at(op.inputs[0]), list(op.input(e.graph).shape)
    axes = [(axis, places) for axis, places in enumerate(op.places) if places is not None]
    for number, (axis, places) in enumerate(axes, 1):
        shape[axis] = len(places)
        last = number == len(axes)
        indices = np.array(places)
        if last and tuple(shape) != op.shape and (own := _own(shape, axis, op.shape)) is not None:
            indices, shape = indices.reshape(own), list(op.shape)
        made = e.at(y.id) if last and tuple(shape) == op.shape else e.between(y, f"axis {axis}", tuple(shape))
        e.op("GATHER", [now, e.ints(indices)], [made], axis=axis)
        now = made
    if tuple(shape) != op.shape:
        e.op("RESHAPE", [now, e.ints(op.shape)], [e.at(y.id)], new_shape=list(op.shape))


def _own(picked: Sequence[int], axis: int, shape: Shape) -> Shape | None:
    """The shape of indices that gives this result shape along an axis."""
    before, behind = tuple(picked[:axis]), tuple(picked[axis + 1 :])
    own = shape[len(before) : len(shape) - len(behind)]
    fits = len(shape) >= len(before) + len(behind) and (*before, *own, *behind) == shape
    return own if fits and int(np.prod(own)) == picked[axis] else None


def reduction(e: Emitter, op: Reduction) -> None:
    """A reduction of nothing is written as one of an axis of one, since a file names at least one axis."""
    single = [axis for axis, size in enumerate(op.input(e.graph).shape) if size == 1][:1]
    _with(e, op, op.kind, e.ints(op.axes or single), keep_dims=op.keep_dims or not op.axes)


def arg_extreme(e: Emitter, op: ArgExtreme) -> None:
    _with(e, op, op.kind, e.ints(op.axis), output_type=op.output(e.graph).dtype.value)


def cumsum(e: Emitter, op: CumSum) -> None:
    _with(e, op, "CUMSUM", e.ints(op.axis), exclusive=op.exclusive, reverse=op.reverse)


def segment_sum(e: Emitter, op: SegmentSum) -> None:
    _with(e, op, "SEGMENT_SUM", e.ints(repeat(np.arange(len(op.lengths), dtype=np.int64), op.lengths)))


def top_k(e: Emitter, op: TopK) -> None:
    """TOPK_V2 for two operators of the graph: values and indices."""
    others = [x for x in e.graph.ops if isinstance(x, TopK) and x.inputs == op.inputs and x.k == op.k]
    other = next((x for x in others if x.indices != op.indices), None)
    y = op.output(e.graph)
    if other is not None:
        made = [e.at(x.outputs[0]) for x in sorted((op, other), key=lambda x: x.indices)]
        e.done.add(id(other))
    elif op.indices:
        made = [e.write(op.input(e.graph), y.shape, f"{y.name} (values)"), e.at(y.id)]
    else:
        made = [e.at(y.id), e.writer.tensor(f"{y.name} (places)", y.shape, DType.INT32)]
    e.op("TOPK_V2", [e.at(op.inputs[0]), e.ints(op.k)], made)


def broadcast_to(e: Emitter, op: BroadcastTo) -> None:
    _with(e, op, "BROADCAST_TO", e.ints(op.shape), version=2)


def tile(e: Emitter, op: Tile) -> None:
    _with(e, op, "TILE", e.ints(op.multiples))


def reverse(e: Emitter, op: Reverse) -> None:
    _with(e, op, "REVERSE_V2", e.ints(op.axes))


def blocks(e: Emitter, op: DepthToSpace | SpaceToDepth) -> None:
    _with(e, op, op.kind, block_size=op.block)


def batches(e: Emitter, op: SpaceToBatch | BatchToSpace) -> None:
    _with(e, op, op.kind, e.ints(op.blocks), e.ints([[0, 0]] * len(op.blocks)))


def one_hot(e: Emitter, op: OneHot) -> None:
    places, *values = e.all(op.inputs)
    e.op("ONE_HOT", [places, e.ints(op.depth), *values], e.all(op.outputs), axis=op.axis)


def scatter_nd(e: Emitter, op: ScatterNd) -> None:
    parts, places = op.inputs
    shape = e.ints(op.shape, e.graph.tensors[places].dtype)
    e.op("SCATTER_ND", [e.at(places), e.at(parts), shape], e.all(op.outputs))


def sparse_to_dense(e: Emitter, op: SparseToDense) -> None:
    values, places, default = op.inputs
    shape = e.ints(op.shape, e.graph.tensors[places].dtype)
    e.op("SPARSE_TO_DENSE", [e.at(places), shape, e.at(values), e.at(default)], e.all(op.outputs))


def reverse_sequence(e: Emitter, op: ReverseSequence) -> None:
    e.op("REVERSE_SEQUENCE", e.all(op.inputs), e.all(op.outputs), seq_dim=op.axis, batch_dim=op.batch_axis)


def rfft2d(e: Emitter, op: Rfft2d) -> None:
    _with(e, op, "RFFT2D", e.ints([op.height, op.width]))


def constant(e: Emitter, op: ConstantOutput) -> None:
    """A constant value is a constant of the file, not an operator."""
    y = op.output(e.graph)
    (value,) = op.evaluate(e.graph, [])
    e.indices[y.id] = e.constant(y, value, "constant")


def suppression(e: Emitter, op: Suppression) -> None:
    """A single operator of TFLite for several results of the graph."""
    parts = {x.begin: x for x in e.graph.consumers.get(op.outputs[0], []) if isinstance(x, Part)}
    soft = len(op.inputs) > 5
    wanted = [(0, DType.INT32, (op.most,)), (2 * op.most, DType.INT32, ())]
    if soft:
        wanted.insert(1, (op.most, DType.FLOAT32, (op.most,)))
    made = []
    for begin, dtype, shape in wanted:
        if begin in parts:
            made.append(e.at(parts[begin].outputs[0]))
            e.done.add(id(parts[begin]))
        else:
            made.append(e.writer.tensor(f"{op.name} ({begin})", shape, dtype))
    e.op(f"NON_MAX_SUPPRESSION_V{5 if soft else 4}", e.all(op.inputs), made)
