"""The float operators of com.microsoft, which the optimizer of ONNX Runtime writes: several ONNX operators fused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise, matrix, moves, norms
from mote.frontends.onnx.node import MICROSOFT, Key, Node, Parser
from mote.frontends.onnx.ops.matrix import gemm
from mote.frontends.onnx.ops.windows import conv

Activation = Callable[[Builder, Value, Sequence[float]], Value]

_ACTIVATIONS: Mapping[str, tuple[int, Activation]] = {
    "Relu": (0, lambda b, x, _: elementwise.relu(b, x)),
    "Tanh": (0, lambda b, x, _: elementwise.tanh(b, x)),
    "Sigmoid": (0, lambda b, x, _: elementwise.sigmoid(b, x)),
    "Clip": (2, lambda b, x, p: elementwise.clip(b, x, p[0], p[1])),
    "LeakyRelu": (1, lambda b, x, p: elementwise.leaky_relu(b, x, p[0])),
    "HardSigmoid": (2, lambda b, x, p: elementwise.hard_sigmoid(b, x, p[0], p[1])),
}
"""Activations that may be fused, and their numbers of parameters."""


def _activated(node: Node, x: Value, parameters: Sequence[float]) -> Value:
    name = node.text("activation", "")
    if not name:
        return x
    if name not in _ACTIVATIONS or len(parameters) != _ACTIVATIONS[name][0]:
        raise UnsupportedNodeError(f"the activation {name} with {len(parameters)} parameters is not supported")
    return _ACTIVATIONS[name][1](node.b, x, parameters)


def fused_conv(node: Node) -> Value:
    """A convolution with a fused addition and activation."""
    made = conv(node)
    made = elementwise.add(node.b, made, node.input(3)) if node.has(3) else made
    return _activated(node, made, node.reals("activation_params", []))


def fused_gemm(node: Node) -> Value:
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    return _activated(node, gemm(node), [node.real(name) for name in names if node.given(name)])


def fused_matmul(node: Node) -> Value:
    """A matrix product with optional transposes; transposed batch axes are refused."""
    if node.flag("transBatchA", False) or node.flag("transBatchB", False):
        raise UnsupportedNodeError("transposed batch axes are not supported")
    parts = []
    for place, name in enumerate(("transA", "transB")):
        x = node.input(place)
        turned = node.flag(name, False) and x.rank > 1
        parts.append(moves.transpose(node.b, x, [*range(x.rank - 2), x.rank - 1, x.rank - 2]) if turned else x)
    return elementwise.scaled(node.b, matrix.matmul(node.b, *parts), node.real("alpha", 1.0))


def gelu(node: Node) -> Value:
    return elementwise.gelu(node.b, node.input())


def bias_gelu(node: Node) -> Value:
    return elementwise.gelu(node.b, elementwise.add(node.b, node.input(0), node.input(1)))


def fast_gelu(node: Node) -> Value:
    x = elementwise.add(node.b, node.input(0), node.input(1)) if node.has(1) else node.input()
    return elementwise.gelu(node.b, x, approximate=True)


def _sum(node: Node, places: Sequence[int]) -> Value:
    """The sum of the inputs that are present."""
    x = node.input(places[0])
    for place in places[1:]:
        x = elementwise.add(node.b, x, node.input(place)) if node.has(place) else x
    return x


def skip_layer_norm(node: Node) -> list[Value | None]:
    """Skip connection (and bias), then layer normalization along the last axis."""
    total = _sum(node, (0, 1, 4))
    standardized, mean, inverse = norms.standardized(node.b, total, [-1], node.real("epsilon", 1e-12))
    return [norms.affine(node.b, standardized, node.input(2), node.optional(3)), mean, inverse, total]


def skip_rms_norm(node: Node) -> list[Value | None]:
    total = _sum(node, (0, 1, 3))
    normalized = norms.rms_norm(node.b, total, [-1], node.input(2), node.real("epsilon", 1e-12))
    if node.wants(1) or node.wants(2):
        raise UnsupportedNodeError("the mean and the variance of it are not supported as outputs")
    return [normalized, None, None, total]


def simplified_layer_norm(node: Node) -> Value:
    x = node.input()
    node.integer("stash_type", 1)
    if node.wants(1):
        raise UnsupportedNodeError("the deviation as an output is not supported")
    axes = range(x.axis(node.integer("axis", -1)), x.rank)
    return norms.rms_norm(node.b, x, axes, node.input(1), node.real("epsilon", 1e-5))


def attention(node: Node) -> Value:
    """Self-attention with one projection matrix for queries, keys and values."""
    x, weights = node.input(0), node.b.known(node.input(1), "the weights")
    _refuse(node, {3: "a mask", 4: "a past", 6: "a past"}, ("do_rotary",), outputs=1)
    if x.rank != 3 or weights.ndim != 2 or weights.shape[0] != x.shape[2]:
        raise UnsupportedNodeError(f"weights of {weights.shape} do not fit a value of the shape {x.shape}")
    sizes = node.integers("qkv_hidden_sizes", [weights.shape[1] // 3] * 3)
    if sum(sizes) != weights.shape[1] or len(sizes) != 3:
        raise UnsupportedNodeError(f"weights of {weights.shape} do not fit sizes of {sizes}")
    bias = node.b.known(node.input(2), "the bias") if node.has(2) else None
    made = matrix.linear(node.b, x, weights, bias)
    return _attended(node, moves.split(node.b, made, 2, sizes), node.optional(5))


def multi_head_attention(node: Node) -> Value:
    """Attention with projected queries, keys and values, except for a bias."""
    _refuse(node, {4: "a mask", 6: "a past", 7: "a past", 8: "a past"}, (), outputs=1)
    parts = [node.input(place) for place in range(3)]
    if any(part.rank != 3 for part in parts):
        raise UnsupportedNodeError(f"values of the shapes {[part.shape for part in parts]} are not supported")
    if node.has(3):
        ends = np.cumsum([part.shape[2] for part in parts])
        bias = node.b.known(node.input(3), "the bias")
        parts = [
            elementwise.add(node.b, part, node.b.constant(own))
            for part, own in zip(parts, np.split(bias, ends[:-1]), strict=True)
        ]
    return _attended(node, parts, node.optional(5))


def _refuse(node: Node, inputs: Mapping[int, str], flags: Sequence[str], outputs: int) -> None:
    for place, what in inputs.items():
        if node.has(place):
            raise UnsupportedNodeError(f"{what} (input {place}) is not supported")
    for name in flags:
        if node.flag(name, False):
            raise UnsupportedNodeError(f"the attribute {name} is not supported")
    if any(node.wants(place) for place in range(outputs, len(node.call.outputs))):
        raise UnsupportedNodeError("what it keeps for later is not supported as an output")


def _attended(node: Node, parts: Sequence[Value], bias: Value | None) -> Value:
    """Softmax of the products of queries and keys, times the values, for each head."""
    b, heads = node.b, node.integer("num_heads")
    node.real("mask_filter_value", -10000.0)
    if heads < 1 or any(part.shape[2] % heads for part in parts):
        raise UnsupportedNodeError(f"{[part.shape[2] for part in parts]} channels are not a multiple of {heads} heads")
    apart = [moves.reshape(b, v, (*v.shape[:2], heads, v.shape[2] // heads)) for v in parts]
    query, key, value = (moves.transpose(b, v, (0, 2, 1, 3)) for v in apart)
    scale = node.real("scale", 0.0) or 1 / sqrt(query.shape[3])
    scores = matrix.matmul(b, query, moves.transpose(b, key, (0, 1, 3, 2)))
    scores = elementwise.scaled(b, scores, scale)
    scores = scores if bias is None else elementwise.add(b, scores, bias)
    if node.flag("unidirectional", False):
        rows, columns = scores.shape[2:]
        later = np.triu(np.full((rows, columns), np.finfo(np.float32).min, np.float32), 1 + columns - rows)
        scores = elementwise.add(b, scores, b.constant(later))
    attended = moves.transpose(b, matrix.matmul(b, norms.softmax(b, scores), value), (0, 2, 1, 3))
    return moves.reshape(b, attended, (*attended.shape[:2], attended.shape[2] * attended.shape[3]))


PARSERS: Mapping[Key, Parser] = {
    (MICROSOFT, "Attention"): attention,
    (MICROSOFT, "BiasGelu"): bias_gelu,
    (MICROSOFT, "FastGelu"): fast_gelu,
    (MICROSOFT, "FusedConv"): fused_conv,
    (MICROSOFT, "FusedGemm"): fused_gemm,
    (MICROSOFT, "FusedMatMul"): fused_matmul,
    (MICROSOFT, "Gelu"): gelu,
    (MICROSOFT, "MultiHeadAttention"): multi_head_attention,
    (MICROSOFT, "SkipLayerNormalization"): skip_layer_norm,
    (MICROSOFT, "SkipSimplifiedLayerNormalization"): skip_rms_norm,
    ("", "SimplifiedLayerNormalization"): simplified_layer_norm,
}
