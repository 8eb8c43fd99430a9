"""Fuse SPACE_TO_BATCH_ND, a convolution and BATCH_TO_SPACE_ND into one dilated convolution.

Converters write dilated convolutions that way. Each image of the batch has the pixels at one position in their block,
so that its neighbouring pixels are a block apart. Exact, because the padding is the zero point, as in a convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.ops.common import Axis
from mote.ir.ops.moves.pad_concat_transpose import Pad, same_steps
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.moves.strided import BatchToSpace, SpaceToBatch
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

Edges = tuple[int, int]
T = TypeVar("T")


def run(graph: Graph) -> Graph:
    for op in graph.ops:
        if isinstance(op, BatchToSpace) and (blocks := _blocks(graph, op)) is not None:
            graph = blocks.replaced(graph)
    return graph


@dataclass(frozen=True)
class _Blocks:
    """A convolution between SPACE_TO_BATCH and BATCH_TO_SPACE: its axes with dilation, its input and output after
    fusing, and the operators to remove."""

    conv: Conv2D | DepthwiseConv2D
    axes: tuple[Axis, Axis]
    source: Tensor
    target: Tensor
    gone: tuple[Op, ...]

    def replaced(self, graph: Graph) -> Graph:
        """The graph with one dilated convolution. Images with one axis are reshaped to two."""
        vertical, horizontal = self.axes
        reads, makes = self.source, self.target
        new: list[Tensor] = []
        before: list[Op] = []
        behind: list[Op] = []
        if len(self.source.shape) == 3:
            row = _is_row(self.conv, graph)
            reads = _seen(self.source, graph.fresh_id(), row=row)
            makes = _seen(self.target, graph.fresh_id() + 1, row=row)
            before, behind = [self._view(self.source, reads)], [self._view(makes, self.target)]
            new = [reads, makes]
        conv = self.conv.with_(
            inputs=(reads.id, *self.conv.inputs[1:]), outputs=(makes.id,), vertical=vertical, horizontal=horizontal
        )
        gone = {id(op) for op in self.gone}
        ops: list[Op] = []
        for op in graph.ops:
            ops += [*before, conv, *behind] if op is self.conv else [] if id(op) in gone else [op]
        return graph.with_ops(ops, new)

    def _view(self, x: Tensor, y: Tensor) -> Op:
        return Reshape(inputs=(x.id,), outputs=(y.id,), shape=y.shape, name=self.conv.name, index=self.conv.index)


def _seen(t: Tensor, number: int, *, row: bool) -> Tensor:
    """A tensor of images with one axis as images with two."""
    n, size, channels = t.shape
    shape = (n, 1, size, channels) if row else (n, size, 1, channels)
    return replace(t, id=number, shape=shape, inner=True, copy_of=None)


def _blocks(graph: Graph, together: BatchToSpace) -> _Blocks | None:
    """The convolution before a BATCH_TO_SPACE, with what fusing it needs; None if it cannot be fused."""
    behind, conv = _behind_a_view(graph, together)
    if not isinstance(conv, Conv2D | DepthwiseConv2D) or conv.vertical.stride != 1 or conv.horizontal.stride != 1:
        return None
    before, apart = _behind_a_view(graph, conv)
    if not isinstance(apart, SpaceToBatch) or apart.blocks != together.blocks or len(before) != len(behind):
        return None
    same = _same_images(apart.output(graph), conv.input(graph))
    if not same or not _same_images(together.input(graph), conv.output(graph)):
        return None
    first, paddings = _padded(graph, apart)
    last, crops = _cropped(graph, together)
    source, target = first.input(graph), last.output(graph)
    if not same_steps(conv.output(graph), target):
        return None
    blocks = _on_image(conv, graph, apart.blocks, 1)
    edges = _on_image(conv, graph, paddings, (0, 0)), _on_image(conv, graph, crops, (0, 0))
    axes = tuple(map(_gapped, (conv.vertical, conv.horizontal), blocks, *edges))
    if any(axis.before < 0 or axis.after < 0 for axis in axes):
        return None
    gone = {id(op): op for op in (*behind, *before, first, apart, together, last)}
    return _Blocks(conv, (axes[0], axes[1]), source, target, tuple(gone.values()))


def _behind_a_view(graph: Graph, op: Op) -> tuple[list[Op], Op | None]:
    """The producer of an operator's input, past a reshape if there is one, and that reshape; None if others read the
    tensors."""
    maker = _maker(graph, op.inputs[0])
    return ([maker], _maker(graph, maker.inputs[0])) if isinstance(maker, Reshape) else ([], maker)


def _maker(graph: Graph, tensor: int) -> Op | None:
    """The producer of a tensor that has exactly one reader."""
    return graph.producers.get(tensor) if graph.only_consumer(tensor) is not None else None


def _same_images(blocks: Tensor, image: Tensor) -> bool:
    """Whether a tensor of blocks, with one axis or two, has the shape of a convolution's images."""
    if len(blocks.shape) == 4:
        return blocks.shape == image.shape
    n, height, width, channels = image.shape
    return 1 in (height, width) and blocks.shape == (n, height * width, channels)


def _padded(graph: Graph, apart: SpaceToBatch) -> tuple[Op, list[Edges]]:
    """The PAD before SPACE_TO_BATCH, if it pads with the zero point, or SPACE_TO_BATCH itself; and the padding of the
    image's axes."""
    pad = _maker(graph, apart.inputs[0])
    if isinstance(pad, Pad):
        x, y = pad.input(graph), pad.output(graph)
        inside = pad.paddings[0] == pad.paddings[-1] == (0, 0)
        if inside and pad.value == x.zero_point and same_steps(x, y):
            return pad, list(pad.paddings[1:-1])
    return apart, [(0, 0)] * len(apart.blocks)


def _cropped(graph: Graph, together: BatchToSpace) -> tuple[Op, list[Edges]]:
    """The SLICE after BATCH_TO_SPACE, if it crops the image, or BATCH_TO_SPACE itself; and the cropping of the image's
    axes."""
    cut, whole = graph.only_consumer(together.outputs[0]), together.output(graph).shape
    if isinstance(cut, Slice) and cut.shape == cut.size and set(cut.strides) == {1}:
        crops = [(a, n - a - m) for n, a, m in zip(whole, cut.begin, cut.size, strict=True)]
        if crops[0] == crops[-1] == (0, 0):
            return cut, crops[1:-1]
    return together, [(0, 0)] * len(together.blocks)


def _on_image(conv: Op, graph: Graph, given: Sequence[T], none: T) -> list[T]:
    """A parameter for both axes of the convolution's image: `given` has it for the axes of the blocks, `none` is for a
    missing axis."""
    if len(given) == 2:
        return list(given)
    return [none, *given] if _is_row(conv, graph) else [*given, none]


def _is_row(conv: Op, graph: Graph) -> bool:
    """Whether images with one axis are reshaped to a row, not to a column."""
    return conv.input(graph).shape[1] == 1


def _gapped(axis: Axis, block: int, padding: Edges, crop: Edges) -> Axis:
    """The axis of a convolution whose taps were `block` pixels apart, as one with dilation."""
    before = axis.before * block + padding[0] - crop[0]
    after = axis.after * block + padding[1] - crop[1]
    return replace(axis, dilation=axis.dilation * block, before=before, after=after)
