"""Activations of layers, by Keras's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import moves, norms
from mote.frontends.build.builder import Builder, Value

Function = Callable[[Builder, Value], Value]

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
LEAKY = 0.2


def linear(b: Builder, x: Value) -> Value:
    return x


def soft_shrink(b: Builder, x: Value, threshold: float = 0.5) -> Value:
    """Soft shrinkage: x moved towards zero by the threshold."""
    return e.sub(b, x, e.clip(b, x, -threshold, threshold))


def hard_shrink(b: Builder, x: Value, threshold: float = 0.5) -> Value:
    """Hard shrinkage: zero where |x| is at most the threshold."""
    far = e.greater(b, e.abs_(b, x), e.scalar(b, threshold))
    return e.where(b, far, x, e.scalar(b, 0))


def tanh_shrink(b: Builder, x: Value) -> Value:
    return e.sub(b, x, e.tanh(b, x))


def squareplus(b: Builder, x: Value, offset: float = 4.0) -> Value:
    root = e.sqrt(b, e.scaled(b, e.mul(b, x, x), 1, offset))
    return e.scaled(b, e.add(b, x, root), 0.5)


def sparse_plus(b: Builder, x: Value) -> Value:
    """0 up to -1, x from 1 on, a parabola between them."""
    between = e.scaled(b, e.clip(b, x, -1, 1), 1, 1)
    parabola = e.scaled(b, e.mul(b, between, between), 0.25)
    return e.where(b, e.less(b, x, e.scalar(b, 1)), parabola, x)


def sparse_sigmoid(b: Builder, x: Value) -> Value:
    return e.clip(b, e.scaled(b, x, 0.5, 0.5), 0, 1)


def hard_sigmoid(b: Builder, x: Value) -> Value:
    return e.hard_sigmoid(b, x, 1 / 6, 0.5)


def log_sigmoid(b: Builder, x: Value) -> Value:
    return e.neg(b, e.softplus(b, e.neg(b, x)))


def glu(b: Builder, x: Value, axis: int = -1) -> Value:
    """Gated linear unit: one half of the channels times the sigmoid of the other half."""
    half, rest = divmod(x.shape[x.axis(axis)], 2)
    if rest:
        raise UnsupportedNodeError(f"glu needs an even number of channels, not {x.shape[x.axis(axis)]}")
    value, gate = moves.split(b, x, axis, [half, half])
    return e.mul(b, value, e.sigmoid(b, gate))


def relu(b: Builder, x: Value, slope: float = 0.0, most: float | None = None, threshold: float = 0.0) -> Value:
    """ReLU with a negative slope, a threshold and a maximum."""
    above = e.clip(b, x, 0, most) if threshold == 0 else e.thresholded_relu(b, x, threshold)
    if threshold != 0 and most is not None:
        above = e.clip(b, above, 0, most)
    if slope == 0:
        return above
    if threshold == 0 and most is None:
        return e.leaky_relu(b, x, slope)
    below = e.clip(b, e.scaled(b, x, slope, -slope * threshold), None, 0)
    return e.add(b, above, below)


FUNCTIONS: Mapping[str, Function] = {
    "celu": e.celu,
    "elu": e.elu,
    "exponential": e.exp,
    "gelu": e.gelu,
    "glu": glu,
    "hard_shrink": hard_shrink,
    "hard_sigmoid": hard_sigmoid,
    "hard_silu": e.hard_swish,
    "hard_swish": e.hard_swish,
    "hard_tanh": partial(e.clip, low=-1, high=1),
    "leaky_relu": partial(e.leaky_relu, alpha=LEAKY),
    "linear": linear,
    "log_sigmoid": log_sigmoid,
    "log_softmax": norms.log_softmax,
    "mish": e.mish,
    "relu": e.relu,
    "relu6": e.relu6,
    "selu": partial(e.elu_scaled, alpha=SELU_ALPHA, gamma=SELU_SCALE),
    "sigmoid": e.sigmoid,
    "silu": e.silu,
    "soft_shrink": soft_shrink,
    "softmax": norms.softmax,
    "softplus": e.softplus,
    "softsign": e.softsign,
    "sparse_plus": sparse_plus,
    "sparse_sigmoid": sparse_sigmoid,
    "squareplus": squareplus,
    "swish": e.silu,
    "tanh": e.tanh,
    "tanh_shrink": tanh_shrink,
}

KERAS2_HARD_SIGMOID = "keras2_hard_sigmoid"
"""Name of Keras 2's hard_sigmoid, whose slope is 0.2; in Keras 3 it is 1/6."""


def named(name: Any) -> Function:
    """The activation of a name; None for the identity."""
    if name is None:
        return linear
    if name == KERAS2_HARD_SIGMOID:
        return partial(e.hard_sigmoid, alpha=0.2, beta=0.5)
    if not isinstance(name, str) or name not in FUNCTIONS:
        raise UnsupportedNodeError(f"the activation '{shown(name)}' is not supported")
    return FUNCTIONS[name]


def shown(name: Any) -> str:
    """The name of a serialized activation in messages."""
    if isinstance(name, Mapping):
        inside = name.get("config")
        return str(inside if isinstance(inside, str) else name.get("class_name"))
    return str(name)
