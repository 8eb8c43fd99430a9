"""SLICE, STRIDED_SLICE, SPLIT, SPLIT_V and UNPACK: parts of a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from mote.base.errors import UnsupportedNodeError
from mote.frontends.remedies import RUN_TIME_SIZES
from mote.frontends.tflite.node import Node
from mote.ir.graph import Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Shape
from mote.ir.ops.indexing.gather import DynamicSlice
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice


@dataclass(frozen=True)
class SliceBounds:
    """Begin, size and stride of a slice along each axis, and the shape of the result."""

    begin: list[int]
    size: list[int]
    strides: list[int]
    shape: Shape


MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
"""The mask options of STRIDED_SLICE, with one bit for each index."""


def slice_(node: Node) -> Op:
    node.arity(3)
    shape = node.input().shape
    if node.input(1).data is None:
        return _moving_slice(node)
    begin, size = (node.integers(p, "what to slice") for p in (1, 2))
    if not len(begin) == len(size) == len(shape):
        raise UnsupportedNodeError(f"begin {begin} and size {size} do not fit an input of shape {shape}")
    size = [n - b if s == -1 else s for n, b, s in zip(shape, begin, size, strict=True)]
    if any(b < 0 or s < 1 or b + s > n for n, b, s in zip(shape, begin, size, strict=True)):
        raise UnsupportedNodeError(f"begin {begin} and size {size} reach outside an input of shape {shape}")
    return _slice(node, 0, 0, SliceBounds(begin, size, [1] * len(shape), tuple(size)))


def _moving_slice(node: Node) -> Op:
    """A slice with a computed begin and a constant size."""
    shape, y = node.input().shape, node.output().shape
    known = node.input(2).data is not None and -1 not in node.integers(2, "the size of a slice")
    size = node.integers(2, "the size of a slice") if known or node.is_open() else list(y)
    if node.input(1).shape != (len(shape),) or len(size) != len(shape):
        raise UnsupportedNodeError(f"a begin of {node.input(1).shape} does not fit an input of shape {shape}")
    if any(not 1 <= m <= n for n, m in zip(shape, size, strict=True)):
        raise UnsupportedNodeError(f"a slice of {size} elements does not fit an input of shape {shape}", RUN_TIME_SIZES)
    return DynamicSlice(
        **{**node.same(), "inputs": node.inputs[:2]},
        size=tuple(size),
        strides=(1,) * len(shape),
        given=tuple(range(len(shape))),
        fixed=(0,) * len(shape),
        wraps=False,
        shape=tuple(size),
    )


def split(node: Node) -> list[Op]:
    """SPLIT: one slice for each output."""
    return _split(node, source=1, axis=0)


def split_v(node: Node) -> list[Op]:
    """SPLIT_V: one slice for each output, with sizes from the output shapes."""
    return _split(node, source=0, axis=2)


def _split(node: Node, source: int, axis: int) -> list[Op]:
    """A split with its input and its axis at these positions."""
    shape, given = node.input(source).shape, node.integers(axis, "the axis of a split")
    if len(given) != 1:
        raise UnsupportedNodeError(f"axes {given} are not one axis to split along")
    along, count = _axis(shape, given[0]), len(node.outputs)
    outputs = [node.output(i).shape for i in range(count)]
    if any(map(node.is_open, range(count))) and sum(s[along] for s in outputs if len(s) > along) != shape[along]:
        return _shares(node, source, along, _sizes(node, shape[along]))
    if any(len(s) != len(shape) for s in outputs):
        raise UnsupportedNodeError(f"outputs of the shapes {outputs} are not parts of an input of shape {shape}")
    return _shares(node, source, along, [s[along] for s in outputs])


def _sizes(node: Node, total: int) -> list[int]:
    """The sizes of parts with dynamic shapes."""
    count = len(node.outputs)
    if node.code == "SPLIT":
        return [total // count] * count
    sizes = node.integers(1, "the sizes of a split")
    rest = total - sum(n for n in sizes if n != -1)
    return [rest if n == -1 else n for n in sizes]


def unpack(node: Node) -> list[Op]:
    """UNPACK: one slice of size 1 for each output."""
    axis = _axis(node.input().shape, node.options.integer("axis"))
    return _shares(node, 0, axis, [1] * len(node.outputs), unpacked=True)


def _axis(shape: Shape, axis: int) -> int:
    if not -len(shape) <= axis < len(shape):
        raise UnsupportedNodeError(f"axis {axis} does not fit an input of shape {shape}")
    return axis % len(shape)


def _shares(node: Node, source: int, axis: int, sizes: list[int], *, unpacked: bool = False) -> list[Op]:
    """Consecutive slices of input `source` along the axis, one for each output; unpacking removes the axis."""
    shape = node.input(source).shape
    if len(sizes) != len(node.outputs) or sum(sizes) != shape[axis] or min(sizes) < 1:
        raise UnsupportedNodeError(f"outputs of {sizes} elements do not share {shape[axis]} among them")
    ops: list[Op] = []
    for i, n in enumerate(sizes):
        begin = [sum(sizes[:i]) if a == axis else 0 for a in range(len(shape))]
        size = [n if a == axis else m for a, m in enumerate(shape)]
        kept = tuple(m for a, m in enumerate(size) if a != axis) if unpacked else tuple(size)
        ops.append(_slice(node, source, i, SliceBounds(begin, size, [1] * len(shape), kept)))
    return ops


def strided_slice(node: Node) -> Op:
    node.arity(4)
    masks = {name: node.options.integer(name) for name in MASKS}
    if node.input(1).data is None and node.input(3).data is not None:
        return _moving_strided_slice(node, masks)
    ends = [node.integers(p, "what to slice") for p in (1, 2, 3)]
    if len({len(end) for end in ends}) != 1:
        raise UnsupportedNodeError(f"begin {ends[0]}, end {ends[1]} and strides {ends[2]} do not fit each other")
    triples = list(zip(*ends, strict=True))
    shape = node.input().shape
    specs = _axis_specs(len(shape), len(triples), masks)
    begin, size, strides = [], [], []
    for n, i in zip(shape, specs, strict=True):
        first, count, step = 0, n, 1
        if i is not None:
            flags = {name: bool(mask >> i & 1) for name, mask in masks.items()}
            first, count, step = _indices(n, triples[i], flags, relative=node.options.flag("offset"))
        if count < 1:
            raise UnsupportedNodeError("an empty slice is not supported")
        begin.append(first)
        size.append(count)
        strides.append(step)
    return _slice(node, 0, 0, SliceBounds(begin, size, strides, _sliced(size, specs, len(triples), masks)))


def _moving_strided_slice(node: Node, masks: dict[str, int]) -> Op:
    """A strided slice with a computed begin: axes that an index removes or that are taken whole have known sizes, the
    others come from the output shape."""
    shape, strides = node.input().shape, node.integers(3, "the strides of a slice")
    specs = _axis_specs(len(shape), len(strides), masks)
    steps = [1 if i is None or masks["shrink_axis_mask"] >> i & 1 else strides[i] for i in specs]
    if min(steps, default=1) < 1 or node.input(1).shape != (len(strides),):
        raise UnsupportedNodeError("a slice that begins at run time must have positive strides")
    size: list[int | None] = []
    for n, i, step in zip(shape, specs, steps, strict=True):
        picked = i is not None and bool(masks["shrink_axis_mask"] >> i & 1)
        whole = i is None or bool((masks["begin_mask"] & masks["end_mask"]) >> i & 1)
        size.append(1 if picked else -(-n // step) if whole else None)
    named = _sliced(list(range(len(shape))), specs, len(strides), masks, new=-1)
    y = node.output().shape
    if None in size and (node.is_open() or len(y) != len(named)):
        raise UnsupportedNodeError("the size of the slice is only known at run time", RUN_TIME_SIZES)
    from_output = dict(zip(named, y, strict=False))
    sizes = [from_output[a] if m is None else m for a, m in enumerate(size)]
    if any(m < 1 or (m - 1) * step >= n for n, m, step in zip(shape, sizes, steps, strict=True)):
        raise UnsupportedNodeError(f"a slice of {sizes} elements reaches outside an input of shape {shape}")
    moving = {i: a for a, i in enumerate(specs) if i is not None and not masks["begin_mask"] >> i & 1}
    return DynamicSlice(
        **{**node.same(), "inputs": node.inputs[:2]},
        size=tuple(sizes),
        strides=tuple(steps),
        given=tuple(moving.get(i, ABSENT) for i in range(len(strides))),
        fixed=(0,) * len(shape),
        wraps=True,
        shape=_sliced(sizes, specs, len(strides), masks),
    )


def _sliced(size: list[int], specs: list[int | None], count: int, masks: dict[str, int], new: int = 1) -> Shape:
    """The shape of a strided slice: with new axes, and without those that an index removes."""
    shape: list[int] = []
    axis = 0
    for i in range(count):
        if masks["ellipsis_mask"] >> i & 1:
            while axis < len(specs) and specs[axis] is None:
                shape.append(size[axis])
                axis += 1
        elif masks["new_axis_mask"] >> i & 1:
            shape.append(new)
        else:
            shape += [] if masks["shrink_axis_mask"] >> i & 1 else [size[axis]]
            axis += 1
    return (*shape, *size[axis:])


def _axis_specs(rank: int, count: int, masks: dict[str, int]) -> list[int | None]:
    """The index of each input axis's (begin, end, stride) triple among `count`; None for axes taken whole."""
    ellipses = [i for i in range(count) if masks["ellipsis_mask"] >> i & 1]
    if len(ellipses) > 1:
        raise UnsupportedNodeError("more than one ellipsis is not supported")
    specs = [i for i in range(count) if not masks["new_axis_mask"] >> i & 1 or i in ellipses]
    whole = rank - len(specs) + len(ellipses)
    if whole < 0:
        raise UnsupportedNodeError(f"{len(specs)} indices are too many for an input of {rank} axes")
    if ellipses and whole == 0:
        raise UnsupportedNodeError("an empty ellipsis is not supported (LiteRT takes it for one axis)")
    at = specs.index(ellipses[0]) if ellipses else len(specs)
    return [*specs[:at], *[None] * whole, *specs[at + 1 :]]


def _indices(n: int, given: tuple[int, ...], flags: dict[str, bool], *, relative: bool) -> tuple[int, int, int]:
    """The first index, the count and the stride along an axis of n elements, as in LiteRT; a relative end counts from
    the first index."""
    begin, end, step = given
    if step == 0:
        raise UnsupportedNodeError("a stride of 0 is not supported")
    low, high = (0, n) if step > 0 else (-1, n - 1)
    first = min(max(begin + n if begin < 0 else begin, low), high)
    if flags["begin_mask"]:
        first = low if step > 0 else high
    end = first + end if relative else end + n if end < 0 else end
    last = min(max(end, low), high)
    if flags["end_mask"]:
        last = high if step > 0 else low
    if flags["shrink_axis_mask"]:
        if step < 0 or first >= n:
            raise UnsupportedNodeError(f"index {begin} with stride {step} is outside an axis of {n} elements")
        return first, 1, 1
    return first, -((first - last) // step) if step > 0 else (first - last - step - 1) // -step, step


def _slice(node: Node, source: int, i: int, box: SliceBounds) -> Op:
    """Output i of the node as a slice of input `source`; a full slice is a reshape."""
    x, y = node.input(source), node.output(i)
    shape = box.shape if node.is_open(i) else y.shape
    if prod(box.size) != prod(shape):
        raise UnsupportedNodeError(f"a slice of {box.size} elements does not fill the output's shape {shape}")
    strides = [1 if n == 1 else s for n, s in zip(box.size, box.strides, strict=True)]
    fields = {**node.same(), "inputs": (x.id,), "outputs": (y.id,), "name": y.name}
    if tuple(box.size) == x.shape and all(s == 1 for s in strides):
        return Reshape(**fields, shape=shape)
    return Slice(**fields, begin=tuple(box.begin), size=tuple(box.size), strides=tuple(strides), shape=shape)
