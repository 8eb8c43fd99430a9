"""MEAN, SUM and other reductions; ARG_MAX, CUMSUM and TOPK_V2 along one axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import Node
from mote.ir.graph import Op
from mote.ir.ops.reductions.along_axis import ArgMax, ArgMin, CumSum, SegmentSum, TopK
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.reduce import ReduceAll, ReduceAny, ReduceMax, ReduceMin, ReduceProd, Reduction, Sum


def reduction(kind: type[Reduction]) -> Callable[[Node], Op]:
    """The parser of a reduction. Duplicate axes are allowed, and those of a scalar are ignored."""

    def parse(node: Node) -> Op:
        node.arity(2)
        rank = len(node.input().shape)
        axes = node.integers(1, "the axes of a reduction") if rank else []
        if any(not -rank <= a < rank for a in axes):
            raise UnsupportedNodeError(f"axes {axes} do not fit an input of {rank} axes")
        return kind(
            **_of_first(node), axes=tuple(sorted({a % rank for a in axes})), keep_dims=node.options.flag("keep_dims")
        )

    return parse


mean, sum_ = reduction(Mean), reduction(Sum)
reduce_all, reduce_any = reduction(ReduceAll), reduction(ReduceAny)
reduce_max, reduce_min, reduce_prod = reduction(ReduceMax), reduction(ReduceMin), reduction(ReduceProd)


def arg_max(node: Node) -> Op:
    return _arg(node, ArgMax)


def arg_min(node: Node) -> Op:
    return _arg(node, ArgMin)


def _arg(node: Node, kind: type[ArgMax | ArgMin]) -> Op:
    node.arity(2)
    wanted = node.options.choice("output_type")
    if wanted != node.output().dtype:
        raise UnsupportedNodeError(f"the output is {node.output().dtype}, the options want {wanted}")
    return kind(**_of_first(node), axis=_axis(node))


def cumsum(node: Node) -> Op:
    node.arity(2)
    exclusive, reverse = node.options.flag("exclusive"), node.options.flag("reverse")
    return CumSum(**_of_first(node), axis=_axis(node), exclusive=exclusive, reverse=reverse)


def top_k(node: Node) -> list[Op]:
    """An operator for the values and one for their indices."""
    if (len(node.inputs), len(node.outputs)) != (2, 2):
        raise UnsupportedNodeError(f"has {len(node.inputs)} inputs and {len(node.outputs)} outputs, not two of each")
    shape, k = node.input().shape, node.integers(1, "the number k of elements")
    if not shape or len(k) != 1 or not 1 <= k[0] <= shape[-1]:
        raise UnsupportedNodeError(f"the {k} largest elements are not part of an input of shape {shape}")
    return [
        TopK(**{**_of_first(node), "outputs": (node.outputs[i],), "name": node.output(i).name}, k=k[0], indices=bool(i))
        for i in range(2)
    ]


def segment_sum(node: Node) -> Op:
    """SEGMENT_SUM, whose segment ids must be constant and sorted from 0 on."""
    node.arity(2)
    shape, ids = node.input().shape, node.integers(1, "the segments of a sum")
    steps = [b - a for a, b in zip([-1, *ids], ids, strict=False)]
    if not shape or len(ids) != shape[0] or steps[0] != 1 or any(s not in (0, 1) for s in steps):
        raise UnsupportedNodeError(f"segments {ids[:8]} do not fit an input of shape {shape}")
    return SegmentSum(**_of_first(node), lengths=tuple(ids.count(i) for i in range(ids[-1] + 1)))


def _of_first(node: Node) -> dict[str, Any]:
    """The fields of an operator with the first input only."""
    return {**node.same(), "inputs": node.inputs[:1]}


def _axis(node: Node) -> int:
    """The constant axis in the second input."""
    shape, axis = node.input().shape, node.integers(1, "the axis")
    if len(axis) != 1 or not -len(shape) <= axis[0] < len(shape):
        raise UnsupportedNodeError(f"axis {axis} does not fit an input of shape {shape}")
    return axis[0] % len(shape)
