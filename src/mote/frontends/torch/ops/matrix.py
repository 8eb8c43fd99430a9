"""Matrix products and attention."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import classical, elementwise, matrix, moves, norms
from mote.frontends.build.builder import Builder, Value
from mote.frontends.torch.node import Node, Parser
from mote.ir.graph.types import DType

NEVER = -1e30
"""Penalty that is added to the scores of masked pairs."""


def _linear(node: Node) -> Value:
    b, x, weights, bias = node.b, node.value("input"), node.value("weight"), node.optional("bias")
    if weights.data is not None and (bias is None or bias.data is not None):
        return matrix.linear(b, x, weights.data.T, None if bias is None else bias.data)
    product = matrix.matmul(b, x, moves.transpose(b, weights, (1, 0)))
    return product if bias is None else elementwise.add(b, product, bias)


def _addmm(node: Node) -> Value:
    return matrix.gemm(
        node.b,
        node.value("mat1"),
        node.value("mat2"),
        node.value("self"),
        alpha=node.real("alpha"),
        beta=node.real("beta"),
    )


def _matmul(second: str) -> Parser:
    def parse(node: Node) -> Value:
        return matrix.matmul(node.b, node.value("self"), node.value(second))

    return parse


def _attention(node: Node) -> Value:
    """softmax(query x key^T * scale + mask) x value, head by head."""
    b, query, key, value = node.b, *(node.value(name) for name in ("query", "key", "value"))
    if node.real("dropout_p"):
        raise UnsupportedNodeError("dropout is for training: export the module in evaluation mode")
    if node.flag("enable_gqa"):
        key, value = (_repeated(b, x, query.shape[-3]) for x in (key, value))
    scale = node.real("scale") if node.has("scale") else 1 / math.sqrt(query.shape[-1])
    scores = matrix.matmul(b, elementwise.scaled(b, query, scale), _turned(b, key))
    mask = node.optional("attn_mask")
    if node.flag("is_causal"):
        allowed = np.tril(np.ones((query.shape[-2], key.shape[-2]), bool))
        mask = b.constant(allowed)
    if mask is not None:
        scores = elementwise.add(b, scores, _penalty(b, mask))
    return matrix.matmul(b, norms.softmax(b, scores), value)


def _turned(b: Builder, value: Value) -> Value:
    """The matrices of a value transposed."""
    axes = range(value.rank)
    return moves.transpose(b, value, (*axes[:-2], axes[-1], axes[-2]))


def _repeated(b: Builder, value: Value, heads: int) -> Value:
    """Key and value heads repeated to the number of query heads."""
    *batch, own, length, depth = value.shape
    wide = moves.expand(
        b, moves.reshape(b, value, (*batch, own, 1, length, depth)), (*batch, own, heads // own, length, depth)
    )
    return moves.reshape(b, wide, (*batch, heads, length, depth))


def _penalty(b: Builder, mask: Value) -> Value:
    """The additive mask of scores: the mask itself, or a large penalty where a boolean one is false."""
    if mask.dtype != DType.BOOL:
        if mask.data is not None:
            return b.constant(np.maximum(mask.data, np.float32(NEVER)))
        return mask
    return elementwise.where(b, mask, elementwise.scalar(b, 0), elementwise.scalar(b, NEVER))


def _distances(node: Node) -> Value:
    return classical.pairwise(node.b, node.value("x1"), node.value("x2"), node.real("p"))


PARSERS: Mapping[str, Parser] = {
    "aten._cdist_forward.default": _distances,
    "aten.linear.default": _linear,
    "aten.addmm.default": _addmm,
    "aten.mm.default": _matmul("mat2"),
    "aten.bmm.default": _matmul("mat2"),
    "aten.matmul.default": _matmul("other"),
    "aten.scaled_dot_product_attention.default": _attention,
}
