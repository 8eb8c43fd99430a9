"""Normalizations, softmax, log-softmax and hardmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise, moves, norms
from mote.frontends.onnx.node import Key, Node, Parser
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType


def _constant(node: Node, position: int, what: str, size: int) -> Array:
    """A per-channel constant."""
    constant = node.b.known(node.input(position), what)
    if constant.shape != (size,):
        raise UnsupportedNodeError(f"{what} of the shape {constant.shape} does not fit {size} channels")
    return constant


def _channels(x: Value) -> int:
    if x.rank < 2:
        raise UnsupportedNodeError(f"a value of the shape {x.shape} has no channels on axis 1")
    return x.shape[1]


def batch_norm(node: Node) -> Value:
    if node.flag("training_mode", False) or any(node.wants(p) for p in range(1, 5)):
        raise UnsupportedNodeError("batch normalization in training is not supported: export the model for inference")
    x = node.input()
    names = ("the scale", "the bias", "the mean", "the variance")
    scale, bias, mean, variance = (_constant(node, p, what, _channels(x)) for p, what in enumerate(names, 1))
    return norms.batch_norm(node.b, x, scale, bias, mean, variance, node.real("epsilon", 1e-5))


def _with_channels(node: Node, x: Value, scale: Value, bias: Value) -> Value:
    """scale * x + bias with per-channel scale and bias."""
    shape = (_channels(x), *[1] * (x.rank - 2))
    return norms.affine(node.b, x, *(moves.reshape(node.b, v, shape) for v in (scale, bias)))


def instance_norm(node: Node) -> Value:
    x = node.input()
    standardized = norms.instance_norm(node.b, x, None, None, node.real("epsilon", 1e-5))
    return _with_channels(node, standardized, node.input(1), node.input(2))


def group_norm(node: Node) -> Value:
    """Opset 18 has a scale per group, 21 one per channel."""
    x, groups = node.input(), node.integer("num_groups")
    standardized = norms.group_norm(node.b, x, groups, None, None, node.real("epsilon", 1e-5))
    scale, bias = node.input(1), node.input(2)
    if node.version < 21:
        each = _channels(x) // groups
        scale, bias = (_repeated(node, v, groups, each) for v in (scale, bias))
    return _with_channels(node, standardized, scale, bias)


def _repeated(node: Node, value: Value, groups: int, each: int) -> Value:
    """Per-group constants repeated for their channels."""
    wide = moves.expand(node.b, moves.reshape(node.b, value, (groups, 1)), (groups, each))
    return moves.reshape(node.b, wide, (groups * each,))


def _last_axes(node: Node, x: Value) -> range:
    return range(x.axis(node.integer("axis", -1)), x.rank)


def layer_norm(node: Node) -> list[Value]:
    x = node.input()
    node.integer("stash_type", 1)
    if not (node.wants(1) or node.wants(2)):
        epsilon = node.real("epsilon", 1e-5)
        return [norms.layer_norm(node.b, x, _last_axes(node, x), node.optional(1), node.optional(2), epsilon)]
    standardized, mean, inverse = norms.standardized(node.b, x, _last_axes(node, x), node.real("epsilon", 1e-5))
    return [norms.affine(node.b, standardized, node.optional(1), node.optional(2)), mean, inverse]


def rms_norm(node: Node) -> Value:
    x = node.input()
    return norms.rms_norm(node.b, x, _last_axes(node, x), node.optional(1), node.real("epsilon", 1e-5))


def lrn(node: Node) -> Value:
    size, alpha, beta = node.integer("size"), node.real("alpha", 1e-4), node.real("beta", 0.75)
    _channels(node.input())
    return norms.local_response_norm(node.b, node.input(), size, alpha, beta, node.real("bias", 1.0))


def lp_norm(node: Node) -> Value:
    return norms.lp_norm(node.b, node.input(), node.integer("axis", -1), node.integer("p", 2))


def mean_variance_norm(node: Node) -> Value:
    return norms.mean_variance_norm(node.b, node.input(), node.integers("axes", [0, 2, 3]))


def _softmax(apply: Callable[[Builder, Value, int], Value]) -> Parser:
    """Before opset 13 over all axes from `axis` on, since then along one axis."""

    def parse(node: Node) -> Value:
        x = node.input()
        if node.version >= 13:
            return apply(node.b, x, node.integer("axis", -1))
        axis = node.integer("axis", 1)
        flat = moves.flatten(node.b, x, axis if axis == x.rank else x.axis(axis))
        return moves.reshape(node.b, apply(node.b, flat, 1), x.shape)

    return parse


def dropout(node: Node) -> list[Value | None]:
    """Dropout is the identity in inference; the mask is all true."""
    x = node.input()
    training = node.maybe_known(2)
    if node.has(2) and (training is None or training.any()):
        raise UnsupportedNodeError("dropout in training is not supported: export the model for inference")
    mask = elementwise.full(node.b, x.shape, 1, DType.BOOL) if node.wants(1) else None
    return [x, mask]


PARSERS: Mapping[Key, Parser] = {
    ("", "BatchNormalization"): batch_norm,
    ("", "InstanceNormalization"): instance_norm,
    ("", "GroupNormalization"): group_norm,
    ("", "LayerNormalization"): layer_norm,
    ("", "RMSNormalization"): rms_norm,
    ("", "LRN"): lrn,
    ("", "LpNormalization"): lp_norm,
    ("", "MeanVarianceNormalization"): mean_variance_norm,
    ("", "Softmax"): _softmax(norms.softmax),
    ("", "LogSoftmax"): _softmax(norms.log_softmax),
    ("", "Hardmax"): _softmax(norms.hardmax),
    ("", "Dropout"): dropout,
}
