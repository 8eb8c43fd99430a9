"""Operators that only move elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import moves
from mote.frontends.build.builder import Value
from mote.frontends.build.elementwise import cast
from mote.frontends.torch.node import Node, Parser


def _same(node: Node) -> Value:
    return node.value("self")


def _shaped(node: Node) -> Value:
    """A reshape to the shape of PyTorch's result."""
    return moves.reshape(node.b, node.value("self"), node.shape)


def _permute(node: Node) -> Value:
    return moves.transpose(node.b, node.value("self"), node.integers("dims"))


def _expand(node: Node) -> Value:
    return moves.expand(node.b, node.value("self"), node.shape)


def _copy(node: Node) -> Value:
    """The source of a copy, in the shape and type of the destination."""
    return moves.expand(node.b, cast(node.b, node.value("src"), node.dtype), node.shape)


def _repeat(node: Node) -> Value:
    x, repeats = node.value("self"), node.integers("repeats")
    wide = moves.reshape(node.b, x, (1,) * (len(repeats) - x.rank) + x.shape)
    return moves.tile(node.b, wide, repeats)


def _cat(node: Node) -> Value:
    values = [x for x in node.several("tensors") if x.size]
    return moves.concat(node.b, values, node.integer("dim"))


def _slice(node: Node) -> Value:
    x, axis, step = node.value("self"), node.integer("dim"), node.integer("step")
    places = range(x.shape[x.axis(axis)])[slice(node.given("start"), node.given("end"), step)]
    if not places:
        raise UnsupportedNodeError("a slice without elements is not supported")
    return moves.slice_(node.b, x, axis, places[0], len(places), step)


def _select(node: Node) -> Value:
    x = node.value("self")
    axis = x.axis(node.integer("dim"))
    index = node.integer("index") % x.shape[axis]
    return moves.squeeze(node.b, moves.slice_(node.b, x, axis, index, 1), [axis])


def _split(node: Node) -> Sequence[Value | None]:
    x, axis, sizes = node.value("self"), node.integer("dim"), node.integers("split_sizes")
    begins = np.cumsum([0, *sizes])
    return [
        moves.slice_(node.b, x, axis, int(begin), n) if node.reads(i) else None
        for i, (begin, n) in enumerate(zip(begins, sizes, strict=False))
    ]


def _flip(node: Node) -> Value:
    return moves.flip(node.b, node.value("self"), node.integers("dims"))


def _roll(node: Node) -> Value:
    b, x = node.b, node.value("self")
    shifts, axes = node.integers("shifts"), node.integers("dims")
    if not axes:
        return moves.reshape(b, _rolled(node, moves.reshape(b, x, (-1,)), 0, shifts[0]), x.shape)
    for axis, shift in zip(axes, shifts, strict=True):
        x = _rolled(node, x, axis, shift)
    return x


def _rolled(node: Node, x: Value, axis: int, shift: int) -> Value:
    """The last elements of an axis moved to its front."""
    size = x.shape[x.axis(axis)]
    if not (last := shift % size):
        return x
    parts = [moves.slice_(node.b, x, axis, size - last, last), moves.slice_(node.b, x, axis, 0, size - last)]
    return moves.concat(node.b, parts, axis)


def _pad(mode: str) -> Parser:
    """Paddings are listed from the last axis on, before and after it."""

    def parse(node: Node) -> Value:
        x = node.value("self")
        listed = node.integers("pad" if mode == "constant" else "padding")
        pairs = list(zip(listed[::2], listed[1::2], strict=True))[::-1]
        paddings = [(0, 0)] * (x.rank - len(pairs)) + pairs
        fill = node.real("value") if mode == "constant" and node.has("value") else 0.0
        return moves.pad(node.b, x, paddings, mode, fill)

    return parse


def _pixel_shuffle(node: Node) -> Value:
    return _images(node, lambda x: moves.depth_to_space(node.b, x, node.integer("upscale_factor"), crd=True))


def _pixel_unshuffle(node: Node) -> Value:
    return _images(node, lambda x: moves.space_to_depth(node.b, x, node.integer("downscale_factor"), crd=True))


def _images(node: Node, move: Callable[[Value], Value]) -> Value:
    """A function of images, with any number of batch axes before their own three."""
    x = node.value("self")
    return moves.reshape(node.b, move(moves.reshape(node.b, x, (-1, *x.shape[-3:]))), node.shape)


def _unfold(node: Node) -> Value:
    """Windows along an axis, as a new last axis."""
    b, x = node.b, node.value("self")
    axis, size, step = x.axis(node.integer("dimension")), node.integer("size"), node.integer("step")
    count = (x.shape[axis] - size) // step + 1
    at = np.arange(count, dtype=np.int64)[:, None] * step + np.arange(size, dtype=np.int64)
    gathered = moves.gather(b, x, axis, b.constant(at))
    order = [a for a in range(gathered.rank) if a != axis + 1]
    return moves.transpose(b, gathered, (*order, axis + 1))


def _im2col(node: Node) -> Value:
    """The windows of an image as columns: [channels * kernel, positions]."""
    b, x = node.b, node.value("self")
    kernel, strides, pads, dilations = (node.each(name, 2) for name in ("kernel_size", "stride", "padding", "dilation"))
    alone = x.rank == 3
    x = moves.unsqueeze(b, x, [0]) if alone else x
    x = moves.pad(b, x, [(0, 0), (0, 0), *((n, n) for n in pads)])
    for axis, (k, s, d) in zip((4, 2), zip(kernel[::-1], strides[::-1], dilations[::-1], strict=True), strict=True):
        place = 3 if axis == 4 else 2
        count = (x.shape[place] - d * (k - 1) - 1) // s + 1
        at = np.arange(k, dtype=np.int64)[:, None] * d + np.arange(count, dtype=np.int64) * s
        x = moves.gather(b, x, place, b.constant(at))
    n, channels, kh, h, kw, w = x.shape
    turned = moves.transpose(b, x, (0, 1, 2, 4, 3, 5))
    columns = moves.reshape(b, turned, (n, channels * kh * kw, h * w))
    return moves.squeeze(b, columns, [0]) if alone else columns


def _diagonal(node: Node) -> Value:
    """The diagonal of two axes with an offset, as the last axis."""
    b, x, offset = node.b, node.value("self"), node.integer("offset")
    first, second = (x.axis(node.integer(name)) for name in ("dim1", "dim2"))
    rest = [a for a in range(x.rank) if a not in (first, second)]
    turned = moves.transpose(b, x, (*rest, first, second))
    rows, columns = turned.shape[-2:]
    places = np.diagonal(np.arange(rows * columns, dtype=np.int64).reshape(rows, columns), offset)
    flat = moves.reshape(b, turned, (*turned.shape[:-2], rows * columns))
    return moves.gather(b, flat, flat.rank - 1, b.constant(places.copy()))


PARSERS: Mapping[str, Parser] = {
    **{f"aten.{name}": _same for name in ("clone.default", "alias.default")},
    **{f"aten.{name}": _shaped for name in ("view.default", "unsqueeze.default", "squeeze.dims")},
    "aten.permute.default": _permute,
    "aten.expand.default": _expand,
    "aten.copy.default": _copy,
    "aten.repeat.default": _repeat,
    "aten.cat.default": _cat,
    "aten.slice.Tensor": _slice,
    "aten.select.int": _select,
    "aten.split_with_sizes.default": _split,
    "aten.flip.default": _flip,
    "aten.roll.default": _roll,
    "aten.constant_pad_nd.default": _pad("constant"),
    **{f"aten.reflection_pad{n}d.default": _pad("reflect") for n in (1, 2, 3)},
    **{f"aten.replication_pad{n}d.default": _pad("edge") for n in (1, 2, 3)},
    "aten.pixel_shuffle.default": _pixel_shuffle,
    "aten.pixel_unshuffle.default": _pixel_unshuffle,
    "aten.unfold.default": _unfold,
    "aten.im2col.default": _im2col,
    "aten.diagonal.default": _diagonal,
}
