"""BROADCAST_TO, TILE, REVERSE_V2, SPACE_TO_DEPTH and similar operators: strided moves."""

from __future__ import annotations

from math import prod
from typing import Any

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import Node
from mote.frontends.tflite.ops.moves import reshaped
from mote.ir.graph import Op, Tensor
from mote.ir.graph.tensor import Shape
from mote.ir.graph.types import DType
from mote.ir.ops.moves.pad_concat_transpose import Pad
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.moves.strided import BatchToSpace, BroadcastTo, DepthToSpace, Reverse, SpaceToBatch, SpaceToDepth, Tile


def broadcast_to(node: Node) -> Op:
    node.arity(2)
    x, shape = node.input().shape, tuple(node.integers(1, "the shape"))
    own = shape[len(shape) - len(x) :]
    if len(x) > len(shape) or any(n != m and n != 1 for n, m in zip(x, own, strict=True)) or min(shape, default=1) < 1:
        raise UnsupportedNodeError(f"an input of shape {x} cannot be broadcast to {shape}")
    return reshaped(node, shape=shape) if prod(x) == prod(shape) else BroadcastTo(**_first(node), shape=shape)


def tile(node: Node) -> Op:
    node.arity(2)
    x, multiples = node.input().shape, tuple(node.integers(1, "how often to repeat"))
    if len(multiples) != len(x) or min(multiples, default=1) < 1:
        raise UnsupportedNodeError(f"an input of shape {x} cannot be repeated {multiples} times")
    shape = tuple(n * times for n, times in zip(x, multiples, strict=True))
    return reshaped(node, shape=shape) if max(multiples, default=1) == 1 else Tile(**_first(node), multiples=multiples)


def reverse(node: Node) -> Op:
    node.arity(2)
    x, given = node.input().shape, node.integers(1, "the axes to reverse")
    if any(not -len(x) <= axis < len(x) for axis in given) or len({axis % len(x) for axis in given}) < len(given):
        raise UnsupportedNodeError(f"axes {given} cannot be reversed in an input of shape {x}")
    axes = tuple(sorted(axis % len(x) for axis in given if x[axis] > 1))
    return Reverse(**_first(node), axes=axes) if axes else reshaped(node)


def depth_to_space(node: Node) -> Op:
    block, (_, _, _, channels) = _block(node)
    if channels % block**2:
        raise UnsupportedNodeError(f"{channels} channels are not a multiple of blocks of {block}x{block}")
    return reshaped(node) if block == 1 else DepthToSpace(**_first(node), block=block)


def space_to_depth(node: Node) -> Op:
    block, (_, height, width, _) = _block(node)
    if height % block or width % block:
        raise UnsupportedNodeError(f"{height}x{width} pixels are not a multiple of blocks of {block}x{block}")
    return reshaped(node) if block == 1 else SpaceToDepth(**_first(node), block=block)


def _block(node: Node) -> tuple[int, Shape]:
    """The block size, and the shape of an input that must have four axes."""
    node.arity(1)
    shape, block = node.input().shape, node.options.integer("block_size")
    if len(shape) != 4 or block < 1:
        raise UnsupportedNodeError(f"an input of shape {shape} has no blocks of {block}x{block}")
    return block, shape


def space_to_batch(node: Node) -> list[Op]:
    """SPACE_TO_BATCH_ND; its padding is an operator of its own."""
    x, blocks, paddings = _blocks(node, "the paddings")
    padded = tuple(before + n + after for n, (before, after) in zip(x.shape, paddings, strict=True))
    if any(n % b for n, b in zip(padded[1:], blocks, strict=False)):
        raise UnsupportedNodeError(f"{padded[1:-1]} padded pixels are not a multiple of blocks of {blocks}")
    value: int | float = 0.0 if x.dtype == DType.FLOAT32 else node.output().zero_point
    if not any(map(any, paddings)):
        return [SpaceToBatch(**_first(node), blocks=blocks)]
    between = node.inner("padded", padded, x.dtype, quant=x.quant)
    return [
        Pad(**_between(node, x, between), paddings=paddings, value=value),
        SpaceToBatch(**{**node.same(), "inputs": (between,)}, blocks=blocks),
    ]


def batch_to_space(node: Node) -> list[Op]:
    """BATCH_TO_SPACE_ND; its cropping is an operator of its own."""
    x, blocks, crops = _blocks(node, "the crops")
    if x.shape[0] % prod(blocks):
        raise UnsupportedNodeError(f"{x.shape[0]} images are not a multiple of blocks of {blocks}")
    grown = [m * b for m, b in zip(x.shape[1:], blocks, strict=False)]
    whole = (x.shape[0] // prod(blocks), *grown, *x.shape[len(blocks) + 1 :])
    size = tuple(n - before - after for n, (before, after) in zip(whole, crops, strict=True))
    if min(size) < 1:
        raise UnsupportedNodeError(f"crops of {crops[1:-1]} leave nothing of {whole[1:-1]} pixels")
    if size == whole:
        return [BatchToSpace(**_first(node), blocks=blocks)]
    between = node.inner("whole", whole, x.dtype, quant=x.quant)
    begin, strides = tuple(before for before, _ in crops), (1,) * len(size)
    return [
        BatchToSpace(**_between(node, x, between), blocks=blocks),
        Slice(**{**node.same(), "inputs": (between,)}, begin=begin, size=size, strides=strides, shape=size),
    ]


def _blocks(node: Node, what: str) -> tuple[Tensor, tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The input, the block size along each spatial axis, and the padding or cropping along all axes."""
    node.arity(3)
    x = node.input()
    blocks, table = tuple(node.integers(1, "the size of a block")), node.constant(2, what)
    fits = len(x.shape) in (3, 4) and len(blocks) == len(x.shape) - 2 and table.shape == (len(blocks), 2)
    if not fits or min(blocks) < 1 or table.min() < 0:
        raise UnsupportedNodeError(f"blocks of {blocks} with {table.tolist()} do not fit an input of shape {x.shape}")
    edges = tuple((int(before), int(after)) for before, after in table)
    return x, blocks, ((0, 0), *edges, (0, 0))


def _first(node: Node) -> dict[str, Any]:
    """The fields of an operator that reads the first input only."""
    return {**node.same(), "inputs": node.inputs[:1]}


def _between(node: Node, x: Tensor, between: int) -> dict[str, Any]:
    """The fields of an operator that computes an intermediate tensor."""
    return {**node.same(), "inputs": (x.id,), "outputs": (between,), "name": node.tensors[between].name}
