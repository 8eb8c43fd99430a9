"""Operators that only move elements: Transpose, Reshape, Slice, Pad, Tile and similar ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, moves
from mote.frontends.onnx.node import Key, Node, Parser
from mote.frontends.onnx.ops.windows import pairs


def concat(node: Node) -> Value:
    values = [node.input(p) for p in range(len(node.inputs))]
    full = [v for v in values if v.size]
    return moves.concat(node.b, full or values[:1], node.integer("axis"))


def transpose(node: Node) -> Value:
    x = node.input()
    return moves.transpose(node.b, x, node.integers("perm", range(x.rank)[::-1]))


def reshape(node: Node) -> Value:
    """A size of 0 copies that of the input, unless `allowzero`."""
    x = node.input()
    given = node.known_integers(1, "the shape")
    copied = not node.flag("allowzero", False)
    if copied and any(n == 0 and place >= x.rank for place, n in enumerate(given)):
        raise UnsupportedNodeError(f"the shape {given} takes sizes that a value of {x.shape} does not have")
    return moves.reshape(node.b, x, [x.shape[p] if n == 0 and copied else n for p, n in enumerate(given)])


def flatten(node: Node) -> Value:
    x, axis = node.input(), node.integer("axis", 1)
    if not -x.rank <= axis <= x.rank:
        raise UnsupportedNodeError(f"axis {axis} does not fit a value of the shape {x.shape}")
    return moves.flatten(node.b, x, axis)


def squeeze(node: Node) -> Value:
    return moves.squeeze(node.b, node.input(), node.numbers("axes", 1))


def unsqueeze(node: Node) -> Value:
    return moves.unsqueeze(node.b, node.input(), node.numbers("axes", 1) or [])


def slice_(node: Node) -> Value:
    """Attributes became inputs in opset 10."""
    x = node.input()
    begins, ends = (node.numbers(name, place) for place, name in enumerate(("starts", "ends"), 1))
    if begins is None or ends is None:
        raise UnsupportedNodeError("the starts or ends of the slice are missing")
    axes = node.numbers("axes", 3) or list(range(len(begins)))
    steps = node.numbers("steps", 4) or [1] * len(begins)
    if not len(begins) == len(ends) == len(axes) == len(steps):
        raise UnsupportedNodeError(f"begins {begins}, ends {ends}, axes {axes} and steps {steps} do not fit each other")
    return moves.slices(node.b, x, begins, ends, axes, steps)


def split(node: Node) -> Sequence[Value]:
    """Parts of given sizes, or as even as possible with a smaller last one."""
    x, count = node.input(), len(node.call.outputs)
    axis = x.axis(node.integer("axis", 0))
    sizes = node.numbers("split", 1)
    if sizes is None:
        each = -(-x.shape[axis] // node.integer("num_outputs", count))
        sizes = [min(each, x.shape[axis] - place * each) for place in range(count)]
    if len(sizes) != count:
        raise UnsupportedNodeError(f"{len(sizes)} parts do not fit {count} outputs")
    parts = iter(moves.split(node.b, x, axis, [n for n in sizes if n]))
    return [next(parts) if n else _nothing(node.b, x, axis) for n in sizes]


def _nothing(b: Builder, x: Value, axis: int) -> Value:
    """An empty part of a value, which only a concatenation may read."""
    return b.constant(np.zeros((*x.shape[:axis], 0, *x.shape[axis + 1 :]), x.dtype.numpy))


def pad(node: Node) -> Value:
    """Paddings and the fill value are inputs since opset 11, axes since 18."""
    x = node.input()
    numbers = node.numbers("pads", 1)
    chosen = node.known_integers(3, "the axes") if node.has(3) else list(range(x.rank))
    around = [(0, 0)] * x.rank
    for axis, both in zip(chosen, pairs(numbers or [], len(chosen)), strict=True):
        around[x.axis(axis)] = both
    mode = node.text("mode", "constant")
    fill = node.real("value", 0.0)
    if node.has(2) and node.input(2).size:
        fill = node.number(2, "the fill value")
    return moves.pad(node.b, x, around, mode, fill)


def expand(node: Node) -> Value:
    return moves.expand(node.b, node.input(), node.known_integers(1, "the shape"))


def tile(node: Node) -> Value:
    return moves.tile(node.b, node.input(), node.known_integers(1, "how often"))


def depth_to_space(node: Node) -> Value:
    return moves.depth_to_space(node.b, node.input(), node.integer("blocksize"), crd=_mode(node) == "CRD")


def _mode(node: Node) -> str:
    """DCR or CRD mode: whether the depth or the position in a block varies faster."""
    mode = node.text("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise UnsupportedNodeError(f"the mode {mode} is not supported")
    return mode


def space_to_depth(node: Node) -> Value:
    return moves.space_to_depth(node.b, node.input(), node.integer("blocksize"), crd=_mode(node) == "CRD")


PARSERS: Mapping[Key, Parser] = {
    ("", "Concat"): concat,
    ("", "DepthToSpace"): depth_to_space,
    ("", "Expand"): expand,
    ("", "Flatten"): flatten,
    ("", "Pad"): pad,
    ("", "Reshape"): reshape,
    ("", "Slice"): slice_,
    ("", "SpaceToDepth"): space_to_depth,
    ("", "Split"): split,
    ("", "Squeeze"): squeeze,
    ("", "Tile"): tile,
    ("", "Transpose"): transpose,
    ("", "Unsqueeze"): unsqueeze,
}
