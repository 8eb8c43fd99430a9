"""Activations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as make
from mote.frontends.build import moves
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.elementwise import Function
from mote.frontends.torch.node import Node, Parser

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _function(function: Function) -> Parser:
    """A unary function of the argument `self` or `input`."""

    def parse(node: Node) -> Value:
        return function(node.b, _tensor(node))

    return parse


def _tensor(node: Node) -> Value:
    return node.value("self" if "self" in node.arguments else "input")


def _hard_tanh(node: Node) -> Value:
    return make.clip(node.b, node.value("self"), node.real("min_val"), node.real("max_val"))


def _leaky_relu(node: Node) -> Value:
    return make.leaky_relu(node.b, node.value("self"), node.real("negative_slope"))


def _prelu(node: Node) -> Value:
    x, slope = node.value("self"), node.value("weight")
    if slope.size > 1:
        slope = moves.reshape(node.b, slope, (-1, *[1] * (x.rank - 2)))
    return make.prelu(node.b, x, slope)


def _gelu(node: Node) -> Value:
    return make.gelu(node.b, node.value("self"), approximate=node.text("approximate") == "tanh")


def _elu(node: Node) -> Value:
    if node.real("input_scale") != 1:
        raise UnsupportedNodeError("an ELU that scales its input is not supported")
    return make.elu_scaled(node.b, node.value("self"), node.real("alpha"), node.real("scale"))


def _softplus(node: Node) -> Value:
    """Above the threshold PyTorch returns x itself, which log(1 + exp(x)) equals there but for rounding."""
    b, beta = node.b, node.real("beta")
    return make.scaled(b, make.softplus(b, make.scaled(b, node.value("self"), beta)), 1 / beta)


def _celu(node: Node) -> Value:
    return make.celu(node.b, node.value("self"), node.real("alpha"))


def _log_sigmoid(b: Builder, x: Value) -> Value:
    return make.neg(b, make.softplus(b, make.neg(b, x)))


def _glu(node: Node) -> Value:
    b, x = node.b, node.value("self")
    axis = x.axis(node.integer("dim"))
    half = x.shape[axis] // 2
    kept, gate = moves.split(b, x, axis, [half, half])
    return make.mul(b, kept, make.sigmoid(b, gate))


def _random_relu(node: Node) -> Sequence[Value | None]:
    """RReLU in evaluation mode: its slope is the mean of the bounds."""
    if node.flag("training"):
        raise UnsupportedNodeError("random slopes are for training: export the module in evaluation mode")
    return [make.leaky_relu(node.b, node.value("self"), (node.real("lower") + node.real("upper")) / 2), None]


FUNCTIONS: Mapping[str, Function] = {
    "relu": make.relu,
    "relu6": make.relu6,
    "sigmoid": make.sigmoid,
    "tanh": make.tanh,
    "silu": make.silu,
    "mish": make.mish,
    "hardswish": make.hard_swish,
    "hardsigmoid": partial(make.hard_sigmoid, alpha=1 / 6, beta=0.5),
    "selu": partial(make.elu_scaled, alpha=SELU_ALPHA, gamma=SELU_SCALE),
    "log_sigmoid": _log_sigmoid,
}

PARSERS: Mapping[str, Parser] = {
    **{f"aten.{name}.default": _function(function) for name, function in FUNCTIONS.items()},
    "aten.hardtanh.default": _hard_tanh,
    "aten.leaky_relu.default": _leaky_relu,
    "aten.prelu.default": _prelu,
    "aten.gelu.default": _gelu,
    "aten.elu.default": _elu,
    "aten.softplus.default": _softplus,
    "aten.celu.default": _celu,
    "aten.glu.default": _glu,
    "aten.rrelu_with_noise_functional.default": _random_relu,
}
