"""SLICE, STRIDED_SLICE, SPLIT, SPLIT_V, UNPACK: parts of a tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Self

import numpy as np

from mote.frontends.tflite import Node, UnsupportedNodeError, parses
from mote.graph import Graph, Op
from mote.graph.fixedpoint import Ints
from mote.graph.flow import Flow
from mote.graph.graph import Increment
from mote.graph.tensor import DTYPES, Array, Shape
from mote.ops.move import NO_FILL, Join, Span, span_params
from mote.ops.reshape import reshape
from mote.plan.kernel import Kernel, Lowering


@dataclass(frozen=True, kw_only=True)
class Slice(Join):
    """Elements begin, begin + stride, ... of each axis, `size` of them, seen under the shape `shape` (which
    may lack axes of one element or have more of them)."""

    begin: tuple[int, ...]
    size: tuple[int, ...]
    strides: tuple[int, ...]
    shape: Shape
    kind = "SLICE"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def increment(self, g: Graph, flows: Mapping[int, Flow], causal: bool) -> Increment | None:
        """Elements that it leaves out at the end of the window make it lag behind the stream."""
        flow, rank = flows[0], len(self.size)
        if len(self.shape) != rank or self.shape != self.size or self.strides[flow.axis] != 1:
            return None
        size = self.size[flow.axis]
        lag = flow.size - self.begin[flow.axis] - size
        if size < flow.fresh:
            return None
        cut = flow.cut(self.size)
        begin = flow.cut(self.begin, 0)
        return Increment(
            self.with_(begin=begin, size=cut, shape=cut), Flow(flow.axis, size, flow.fresh), {0: flow.fresh + lag}
        )

    def spans(self, g: Graph) -> list[list[Span]]:
        axes = zip(self.input(g).shape, self.begin, self.strides, self.size, strict=True)
        return [[Span(n, begin, step, size, 0, size) for n, begin, step, size in axes]]

    def threads(self, g: Graph) -> dict[int, Ints] | None:
        if not self.shape or self.shape[-1] != self.size[-1] or self.strides[-1] != 1:
            return None
        return {0: self.begin[-1] + np.arange(self.size[-1])}

    def narrowed(self, g: Graph, kept: Sequence[Ints]) -> Self:
        before, count = int((kept[0] < self.begin[-1]).sum()), len(kept[-1])
        return self.with_(
            begin=(*self.begin[:-1], before), size=(*self.size[:-1], count), shape=(*self.shape[:-1], count)
        )

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        axes = zip(self.begin, self.size, self.strides, strict=True)
        picked = x[np.ix_(*(begin + step * np.arange(size) for begin, size, step in axes))]
        return [picked.reshape(self.shape)]

    def lower(self, g: Graph, how: Lowering) -> Kernel:
        copies = self.row_copies(g)
        if copies is None:
            return Kernel("move", span_params(self.spans(g)[0], DTYPES[self.output(g).dtype].itemsize))
        return self.join(g, copies, NO_FILL)


MASKS = ("begin", "end", "ellipsis", "new_axis", "shrink")
"""The bit masks of STRIDED_SLICE, in the order of its options."""


@parses("SLICE")
def parse_slice(node: Node) -> Op:
    node.arity(range(3, 4))
    shape = node.tensors[node.inputs[0]].shape
    begin, size = ([int(n) for n in node.constant(i, "what to slice").reshape(-1)] for i in (1, 2))
    if not len(begin) == len(size) == len(shape):
        raise UnsupportedNodeError(f"begin {begin} and size {size} do not fit an input of shape {shape}")
    size = [n - b if s == -1 else s for n, b, s in zip(shape, begin, size, strict=True)]
    if any(b < 0 or s < 1 or b + s > n for n, b, s in zip(shape, begin, size, strict=True)):
        raise UnsupportedNodeError(f"begin {begin} and size {size} reach outside an input of shape {shape}")
    return _slice(node, node.inputs[0], 0, begin, size, [1] * len(shape))


@parses("SPLIT", "SPLIT_V")
def parse_split(node: Node) -> list[Op]:
    """One slice for each output."""
    source, where = (1, 0) if node.code == "SPLIT" else (0, 2)
    shape = node.tensors[node.inputs[source]].shape
    axis = _axis(shape, int(node.constant(where, "the axis of a split").reshape(-1)[0]))
    return _shares(node, node.inputs[source], axis, [node.tensors[i].shape[axis] for i in node.outputs])


@parses("UNPACK")
def parse_unpack(node: Node) -> list[Op]:
    """One slice of one element for each output."""
    axis = _axis(node.tensors[node.inputs[0]].shape, node.integer(1))
    return _shares(node, node.inputs[0], axis, [1] * len(node.outputs))


def _axis(shape: Shape, axis: int) -> int:
    if not -len(shape) <= axis < len(shape):
        raise UnsupportedNodeError(f"axis {axis} does not fit an input of shape {shape}")
    return axis % len(shape)


def _shares(node: Node, source: int, axis: int, sizes: list[int]) -> list[Op]:
    """A slice of tensor `source` for each output, one after another along the axis."""
    shape = node.tensors[source].shape
    if sum(sizes) != shape[axis]:
        raise UnsupportedNodeError(f"outputs of {sizes} elements do not share {shape[axis]} among them")
    ops: list[Op] = []
    for i, n in enumerate(sizes):
        begin = [sum(sizes[:i]) if a == axis else 0 for a in range(len(shape))]
        size = [n if a == axis else m for a, m in enumerate(shape)]
        ops.append(_slice(node, source, i, begin, size, [1] * len(shape)))
    return ops


@parses("STRIDED_SLICE")
def parse_strided_slice(node: Node) -> Op:
    node.arity(range(4, 5))
    if node.flag(5):
        raise UnsupportedNodeError("ends relative to the begin (offset) are not supported")
    masks = {name: node.integer(i) for i, name in enumerate(MASKS)}
    ends = [node.constant(i, "what to slice").reshape(-1) for i in (1, 2, 3)]
    triples = [(int(b), int(e), int(s)) for b, e, s in zip(*ends, strict=True)]
    shape = node.tensors[node.inputs[0]].shape
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
    return _slice(node, node.inputs[0], 0, begin, size, strides)


def _axis_specs(rank: int, count: int, masks: dict[str, int]) -> list[int | None]:
    """Which of the `count` (begin, end, stride) triples each input axis has, None for those taken whole."""
    ellipses = [i for i in range(count) if masks["ellipsis"] >> i & 1]
    if len(ellipses) > 1:
        raise UnsupportedNodeError("more than one ellipsis is not supported")
    specs = [i for i in range(count) if not masks["new_axis"] >> i & 1 or i in ellipses]
    whole = rank - len(specs) + len(ellipses)
    if whole < 0:
        raise UnsupportedNodeError(f"{len(specs)} indices are too many for an input of {rank} axes")
    if ellipses and whole == 0:
        raise UnsupportedNodeError("an empty ellipsis is not supported (LiteRT takes it for one axis)")
    at = specs.index(ellipses[0]) if ellipses else len(specs)
    return [*specs[:at], *[None] * whole, *specs[at + 1 :]]


def _indices(n: int, given: tuple[int, int, int], flags: dict[str, bool]) -> tuple[int, int, int]:
    """The first index, the number of indices and the step along an axis of n elements, as LiteRT counts."""
    begin, end, step = given
    if step == 0:
        raise UnsupportedNodeError("a stride of 0 is not supported")
    low, high = (0, n) if step > 0 else (-1, n - 1)
    first = min(max(begin + n if begin < 0 else begin, low), high)
    last = min(max(end + n if end < 0 else end, low), high)
    if flags["begin"]:
        first = low if step > 0 else high
    if flags["end"]:
        last = high if step > 0 else low
    if flags["shrink"]:
        if step < 0 or first >= n:
            raise UnsupportedNodeError(f"index {begin} with stride {step} is outside an axis of {n} elements")
        return first, 1, 1
    return first, -((first - last) // step) if step > 0 else (first - last - step - 1) // -step, step


def _slice(node: Node, source: int, i: int, begin: list[int], size: list[int], strides: list[int]) -> Op:
    """Output i of the node as a slice of tensor `source`; all of it is a reshape."""
    y = node.tensors[node.outputs[i]]
    if prod(size) != y.size:
        raise UnsupportedNodeError(f"a slice of {size} elements does not fill the output's shape {y.shape}")
    strides = [1 if n == 1 else s for n, s in zip(size, strides, strict=True)]
    if tuple(size) == node.tensors[source].shape and all(s == 1 for s in strides):
        return reshape(node, source)
    fields = {**node.same(), "inputs": (source,), "outputs": (y.id,), "name": y.name}
    return Slice(**fields, begin=tuple(begin), size=tuple(size), strides=tuple(strides), shape=y.shape)
