"""MEAN, SUM and their kin: what becomes one of all the elements along some axes."""

from __future__ import annotations

from collections.abc import Callable

from mote.frontends.tflite.node import Node, UnsupportedNodeError
from mote.graph import Op
from mote.ops.reduce import Reduction


def reduction(kind: type[Reduction]) -> Callable[[Node], Op]:
    """The parser of one of them. An axis may be named twice, and none of a scalar counts."""

    def parse(node: Node) -> Op:
        node.arity(2)
        rank = len(node.input().shape)
        axes = node.integers(1, "the axes of a reduction") if rank else []
        if any(not -rank <= a < rank for a in axes):
            raise UnsupportedNodeError(f"axes {axes} do not fit an input of {rank} axes")
        return kind(
            **{**node.same(), "inputs": node.inputs[:1]},
            axes=tuple(sorted({a % rank for a in axes})),
            keep_dims=node.options.flag("keep_dims"),
        )

    return parse
