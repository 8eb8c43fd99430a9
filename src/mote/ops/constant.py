"""SHAPE, FILL, ZEROS_LIKE: what is known at compile time, because shapes are. Nothing is left of them in the code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mote.frontends.tflite import Node, UnsupportedNodeError, parses
from mote.graph import Graph, Op
from mote.graph.tensor import Array, Shape


@dataclass(frozen=True, kw_only=True)
class Constant(Op):
    """The same value everywhere, or one for each element."""

    values: tuple[int | float, ...]
    shape: Shape
    kind = "CONSTANT"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def unsupported(self, g: Graph) -> str | None:
        return "a constant as a model's output is not supported" if self.outputs[0] in g.outputs else None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return [np.broadcast_to(np.array(self.values), self.shape)]


@parses("SHAPE")
def parse_shape(node: Node) -> Op:
    node.arity(range(1, 2))
    return _constant(node, node.tensors[node.inputs[0]].shape)


@parses("FILL")
def parse_fill(node: Node) -> Op:
    """The output's shape is in the file, whatever the operator takes it from."""
    node.arity(range(2, 3))
    value = node.constant(1, "the value to fill with")
    return _constant(node, (value.reshape(-1)[0].item(),))


@parses("ZEROS_LIKE")
def parse_zeros_like(node: Node) -> Op:
    node.arity(range(1, 2))
    dtype = node.tensors[node.inputs[0]].dtype
    if dtype not in ("float32", "int32", "int64"):
        raise UnsupportedNodeError(f"{dtype} is not supported (nor by LiteRT)")
    return _constant(node, (0,))


def _constant(node: Node, values: tuple[int | float, ...]) -> Op:
    fields = {**node.same(), "inputs": ()}
    return Constant(**fields, values=values, shape=node.tensors[node.outputs[0]].shape)
