"""Normalizations and softmax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import norms
from mote.frontends.build.builder import Value
from mote.frontends.torch.node import Node, Parser
from mote.ir.graph.tensor import Array


def _weights(node: Node, name: str, count: int, default: float) -> Array:
    """Scales or offsets that must be constant; None where they are omitted."""
    return node.known(name) if node.has(name) else np.full(count, default, np.float32)


def _optional(node: Node, name: str) -> Array | None:
    return node.known(name) if node.has(name) else None


def _batch_norm(node: Node) -> Sequence[Value | None]:
    x = node.value("input")
    count = x.shape[1]
    scale, bias = _weights(node, "weight", count, 1), _weights(node, "bias", count, 0)
    mean, variance = node.known("running_mean"), node.known("running_var")
    return [norms.batch_norm(node.b, x, scale, bias, mean, variance, node.real("eps"))]


def _training_batch_norm(node: Node) -> Sequence[Value | None]:
    raise UnsupportedNodeError(
        "it normalizes with the statistics of its input, as in training: call module.eval() before the export"
    )


def _layer_norm(node: Node) -> Sequence[Value | None]:
    x = node.value("input")
    axes = range(x.rank - len(node.integers("normalized_shape")), x.rank)
    return [norms.layer_norm(node.b, x, axes, node.optional("weight"), node.optional("bias"), node.real("eps"))]


def _rms_norm(node: Node) -> Value:
    x = node.value("input")
    axes = range(x.rank - len(node.integers("normalized_shape")), x.rank)
    epsilon = node.real("eps") if node.has("eps") else float(np.finfo(np.float32).eps)
    return norms.rms_norm(node.b, x, axes, node.optional("weight"), epsilon)


def _group_norm(node: Node) -> Sequence[Value | None]:
    b, x = node.b, node.value("input")
    scale, bias = _optional(node, "weight"), _optional(node, "bias")
    return [norms.group_norm(b, x, node.integer("group"), scale, bias, node.real("eps"))]


def _instance_norm(node: Node) -> Value:
    b, x = node.b, node.value("input")
    scale, bias = _optional(node, "weight"), _optional(node, "bias")
    if not node.flag("use_input_stats"):
        ones, zeros = np.ones(x.shape[1], np.float32), np.zeros(x.shape[1], np.float32)
        mean, variance = node.known("running_mean"), node.known("running_var")
        factors = (ones if scale is None else scale, zeros if bias is None else bias)
        return norms.batch_norm(b, x, *factors, mean, variance, node.real("eps"))
    return norms.instance_norm(b, x, scale, bias, node.real("eps"))


def _softmax(node: Node) -> Value:
    return norms.softmax(node.b, node.operand("self", node.dtype), node.integer("dim"))


def _log_softmax(node: Node) -> Value:
    return norms.log_softmax(node.b, node.operand("self", node.dtype), node.integer("dim"))


TRAINING = ("aten._native_batch_norm_legit.no_stats", "aten._native_batch_norm_legit_functional.default")
"""Training operators, which are refused with a reason."""
PARSERS: Mapping[str, Parser] = {
    "aten._native_batch_norm_legit_no_training.default": _batch_norm,
    **dict.fromkeys(TRAINING, _training_batch_norm),
    "aten.native_layer_norm.default": _layer_norm,
    "aten.rms_norm.default": _rms_norm,
    "aten.native_group_norm.default": _group_norm,
    "aten.instance_norm.default": _instance_norm,
    "aten._softmax.default": _softmax,
    "aten._log_softmax.default": _log_softmax,
}
