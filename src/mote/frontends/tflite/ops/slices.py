"""SLICE, STRIDED_SLICE, SPLIT, SPLIT_V and UNPACK: parts of a tensor."""

from __future__ import annotations

from math import prod

from mote.frontends.tflite.node import Node, UnsupportedNodeError
from mote.frontends.tflite.ops.moves import reshaped
from mote.graph import Op
from mote.graph.tensor import Shape
from mote.ops.slice import Slice

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
"""The options of STRIDED_SLICE with one bit for each of its indices."""


def slice_(node: Node) -> Op:
    node.arity(3)
    shape = node.input().shape
    begin, size = (node.integers(p, "what to slice") for p in (1, 2))
    if not len(begin) == len(size) == len(shape):
        raise UnsupportedNodeError(f"begin {begin} and size {size} do not fit an input of shape {shape}")
    size = [n - b if s == -1 else s for n, b, s in zip(shape, begin, size, strict=True)]
    if any(b < 0 or s < 1 or b + s > n for n, b, s in zip(shape, begin, size, strict=True)):
        raise UnsupportedNodeError(f"begin {begin} and size {size} reach outside an input of shape {shape}")
    return _slice(node, 0, 0, begin, size, [1] * len(shape))


def split(node: Node) -> list[Op]:
    """One slice for each output."""
    return _split(node, source=1, axis=0)


def split_v(node: Node) -> list[Op]:
    """One slice for each output, whose shapes say how large they are."""
    return _split(node, source=0, axis=2)


def _split(node: Node, source: int, axis: int) -> list[Op]:
    """A split with its input and its axis at these positions."""
    shape = node.input(source).shape
    along = _axis(shape, node.integers(axis, "the axis of a split")[0])
    outputs = [node.output(i).shape for i in range(len(node.outputs))]
    if any(len(s) != len(shape) for s in outputs):
        raise UnsupportedNodeError(f"outputs of the shapes {outputs} are no parts of an input of shape {shape}")
    return _shares(node, source, along, [s[along] for s in outputs])


def unpack(node: Node) -> list[Op]:
    """One slice of one element for each output."""
    axis = _axis(node.input().shape, node.options.integer("axis"))
    return _shares(node, 0, axis, [1] * len(node.outputs))


def _axis(shape: Shape, axis: int) -> int:
    if not -len(shape) <= axis < len(shape):
        raise UnsupportedNodeError(f"axis {axis} does not fit an input of shape {shape}")
    return axis % len(shape)


def _shares(node: Node, source: int, axis: int, sizes: list[int]) -> list[Op]:
    """A slice of input `source` for each output, one after another along the axis."""
    shape = node.input(source).shape
    if sum(sizes) != shape[axis]:
        raise UnsupportedNodeError(f"outputs of {sizes} elements do not share {shape[axis]} among them")
    ops: list[Op] = []
    for i, n in enumerate(sizes):
        begin = [sum(sizes[:i]) if a == axis else 0 for a in range(len(shape))]
        size = [n if a == axis else m for a, m in enumerate(shape)]
        ops.append(_slice(node, source, i, begin, size, [1] * len(shape)))
    return ops


def strided_slice(node: Node) -> Op:
    node.arity(4)
    if node.options.flag("offset"):
        raise UnsupportedNodeError("ends relative to the begin (offset) are not supported")
    masks = {name: node.options.integer(name) for name in MASKS}
    ends = [node.integers(p, "what to slice") for p in (1, 2, 3)]
    if len({len(end) for end in ends}) != 1:
        raise UnsupportedNodeError(f"begin {ends[0]}, end {ends[1]} and strides {ends[2]} do not fit each other")
    triples = list(zip(*ends, strict=True))
    shape = node.input().shape
    begin, size, strides = [], [], []
    for n, i in zip(shape, _axis_specs(len(shape), len(triples), masks), strict=True):
        first, count, step = 0, n, 1
        if i is not None:
            flags = {name: bool(mask >> i & 1) for name, mask in masks.items()}
            first, count, step = _indices(n, triples[i], flags)
        if count < 1:
            raise UnsupportedNodeError("an empty slice is not supported")
        begin.append(first)
        size.append(count)
        strides.append(step)
    return _slice(node, 0, 0, begin, size, strides)


def _axis_specs(rank: int, count: int, masks: dict[str, int]) -> list[int | None]:
    """Which of the `count` (begin, end, stride) triples each input axis has, None for those taken whole."""
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


def _indices(n: int, given: tuple[int, ...], flags: dict[str, bool]) -> tuple[int, int, int]:
    """The first index, the number of indices and the step along an axis of n elements, as LiteRT counts."""
    begin, end, step = given
    if step == 0:
        raise UnsupportedNodeError("a stride of 0 is not supported")
    low, high = (0, n) if step > 0 else (-1, n - 1)
    first = min(max(begin + n if begin < 0 else begin, low), high)
    last = min(max(end + n if end < 0 else end, low), high)
    if flags["begin_mask"]:
        first = low if step > 0 else high
    if flags["end_mask"]:
        last = high if step > 0 else low
    if flags["shrink_axis_mask"]:
        if step < 0 or first >= n:
            raise UnsupportedNodeError(f"index {begin} with stride {step} is outside an axis of {n} elements")
        return first, 1, 1
    return first, -((first - last) // step) if step > 0 else (first - last - step - 1) // -step, step


def _slice(node: Node, source: int, i: int, begin: list[int], size: list[int], strides: list[int]) -> Op:
    """Output i of the node as a slice of input `source`; all of it is a reshape."""
    x, y = node.input(source), node.output(i)
    if prod(size) != y.size:
        raise UnsupportedNodeError(f"a slice of {size} elements does not fill the output's shape {y.shape}")
    strides = [1 if n == 1 else s for n, s in zip(size, strides, strict=True)]
    if tuple(size) == x.shape and all(s == 1 for s in strides):
        return reshaped(node, source)
    fields = {**node.same(), "inputs": (x.id,), "outputs": (y.id,), "name": y.name}
    return Slice(**fields, begin=tuple(begin), size=tuple(size), strides=tuple(strides), shape=y.shape)
