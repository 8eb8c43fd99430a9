"""Matrix products: MatMul, Gemm, Einsum."""

from __future__ import annotations

from collections.abc import Mapping

from mote.frontends.build import Value, matrix
from mote.frontends.onnx.node import Key, Node, Parser


def gemm(node: Node) -> Value:
    return matrix.gemm(
        node.b,
        node.input(0),
        node.input(1),
        node.optional(2),
        alpha=node.real("alpha", 1.0),
        beta=node.real("beta", 1.0),
        turn_x=node.flag("transA", False),
        turn_y=node.flag("transB", False),
    )


def matmul(node: Node) -> Value:
    return matrix.matmul(node.b, node.input(0), node.input(1))


def einsum(node: Node) -> Value:
    return matrix.einsum(node.b, node.text("equation"), [node.input(p) for p in range(len(node.inputs))])


PARSERS: Mapping[Key, Parser] = {
    ("", "Gemm"): gemm,
    ("", "MatMul"): matmul,
    ("", "Einsum"): einsum,
}
