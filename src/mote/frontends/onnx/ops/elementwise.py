"""Element-wise operators: activations, arithmetic, comparisons, Where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise
from mote.frontends.onnx.node import MICROSOFT, Key, Node, Parser
from mote.ir.graph.types import DType

Function = Callable[[Builder, Value], Value]
Pair = Callable[[Builder, Value, Value], Value]


def function(apply: Function) -> Parser:
    def parse(node: Node) -> Value:
        return apply(node.b, node.input())

    return parse


def _pair(apply: Pair) -> Parser:
    def parse(node: Node) -> Value:
        return apply(node.b, node.input(0), node.input(1))

    return parse


def _many(apply: Pair) -> Parser:
    """A binary function folded over any number of inputs."""

    def parse(node: Node) -> Value:
        return reduce(partial(apply, node.b), (node.input(p) for p in range(len(node.inputs))))

    return parse


def _of_real(apply: Callable[..., Value], **defaults: float) -> Parser:
    """A function with float attributes, by their names in the file."""

    def parse(node: Node) -> Value:
        return apply(node.b, node.input(), **{name: node.real(name, default) for name, default in defaults.items()})

    return parse


def mean(node: Node) -> Value:
    total = _many(elementwise.add)(node)
    assert isinstance(total, Value)
    return elementwise.scaled(node.b, total, 1 / len(node.inputs))


def clip(node: Node) -> Value:
    """Bounds are attributes before opset 11, inputs since then."""
    x = node.input()
    bounds: list[float | Value | None] = [None, None]
    for place, name in enumerate(("min", "max"), 1):
        known = node.maybe_known(place)
        if node.given(name):
            bounds[place - 1] = node.real(name)
        elif known is not None:
            bounds[place - 1] = node.number(place, name)
        else:
            bounds[place - 1] = node.optional(place)
    low, high = bounds
    numbers = [bound if not isinstance(bound, Value) else None for bound in bounds]
    x = elementwise.clip(node.b, x, *numbers)
    x = elementwise.maximum(node.b, x, low) if isinstance(low, Value) else x
    return elementwise.minimum(node.b, x, high) if isinstance(high, Value) else x


def gelu(node: Node) -> Value:
    rule = node.text("approximate", "none")
    if rule not in ("none", "tanh"):
        raise UnsupportedNodeError(f"the approximation {rule} is not supported")
    return elementwise.gelu(node.b, node.input(), approximate=rule == "tanh")


def prelu(node: Node) -> Value:
    return elementwise.prelu(node.b, node.input(0), node.input(1))


def identity(node: Node) -> Value:
    return node.input()


def where(node: Node) -> Value:
    return elementwise.where(node.b, node.input(0), node.input(1), node.input(2))


def power(node: Node) -> Value:
    """The result has the type of the base. Common exponents become products and square roots."""
    x, exponent = node.input(0), node.input(1)
    known = exponent.data.reshape(-1) if exponent.data is not None and exponent.size else np.array([0.0])
    same = float(known[0]) if exponent.size and np.all(known == known[0]) and exponent.constant else None
    if exponent.size == 1 and x.dtype == DType.FLOAT32 and same in (1, 2, 3, 0.5):
        return _usual_power(node.b, x, same)
    if x.dtype.integer and not exponent.dtype.integer:
        real = elementwise.power(node.b, elementwise.cast(node.b, x, exponent.dtype), exponent)
        return elementwise.cast(node.b, real, x.dtype)
    return elementwise.power(node.b, x, elementwise.cast(node.b, exponent, x.dtype))


def _usual_power(b: Builder, x: Value, exponent: float | None) -> Value:
    if exponent == 0.5:
        return elementwise.sqrt(b, x)
    squared = x if exponent == 1 else elementwise.mul(b, x, x)
    return elementwise.mul(b, squared, x) if exponent == 3 else squared


def logical_xor(b: Builder, x: Value, y: Value) -> Value:
    return elementwise.not_equal(b, x, y)


def swish(node: Node) -> Value:
    return elementwise.silu(node.b, node.input(), node.real("alpha", 1.0))


def hard_swish(node: Node) -> Value:
    return elementwise.hard_swish(node.b, node.input())


def shrink(node: Node) -> Value:
    """x + bias below -lambd, x - bias above lambd, else 0."""
    b, x = node.b, node.input()
    edge, bias = node.real("lambd", 0.5), node.real("bias", 0.0)
    zero, at = (elementwise.scalar(b, n, x.dtype) for n in (0, edge))
    above = elementwise.where(b, elementwise.greater(b, x, at), elementwise.scaled(b, x, 1, -bias), zero)
    below = elementwise.less(b, x, elementwise.scalar(b, -edge, x.dtype))
    return elementwise.where(b, below, elementwise.scaled(b, x, 1, bias), above)


_FUNCTIONS: Mapping[str, Function] = {
    "Abs": elementwise.abs_,
    "Ceil": elementwise.ceil,
    "Cos": elementwise.cos,
    "Erf": elementwise.erf,
    "Exp": elementwise.exp,
    "Floor": elementwise.floor,
    "HardSwish": elementwise.hard_swish,
    "Log": elementwise.log,
    "Mish": elementwise.mish,
    "Neg": elementwise.neg,
    "Not": elementwise.logical_not,
    "Reciprocal": elementwise.reciprocal,
    "Relu": elementwise.relu,
    "Round": elementwise.round_,
    "Sigmoid": elementwise.sigmoid,
    "Sign": elementwise.sign,
    "Sin": elementwise.sin,
    "Softplus": elementwise.softplus,
    "Softsign": elementwise.softsign,
    "Sqrt": elementwise.sqrt,
    "Tanh": elementwise.tanh,
}
_PAIRS: Mapping[str, Pair] = {
    "Add": elementwise.add,
    "And": elementwise.logical_and,
    "Div": elementwise.div,
    "Equal": elementwise.equal,
    "Greater": elementwise.greater,
    "GreaterOrEqual": elementwise.greater_equal,
    "Less": elementwise.less,
    "LessOrEqual": elementwise.less_equal,
    "Mul": elementwise.mul,
    "Or": elementwise.logical_or,
    "Sub": elementwise.sub,
    "Xor": logical_xor,
}
_SELU = {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}

PARSERS: Mapping[Key, Parser] = {
    **{("", name): function(apply) for name, apply in _FUNCTIONS.items()},
    **{("", name): _pair(apply) for name, apply in _PAIRS.items()},
    ("", "Celu"): _of_real(elementwise.celu, alpha=1.0),
    ("", "Clip"): clip,
    ("", "Elu"): _of_real(elementwise.elu_scaled, alpha=1.0),
    ("", "Gelu"): gelu,
    ("", "HardSigmoid"): _of_real(elementwise.hard_sigmoid, alpha=0.2, beta=0.5),
    ("", "Identity"): identity,
    ("", "LeakyRelu"): _of_real(elementwise.leaky_relu, alpha=0.01),
    ("", "Max"): _many(elementwise.maximum),
    ("", "Mean"): mean,
    ("", "Min"): _many(elementwise.minimum),
    ("", "Pow"): power,
    ("", "PRelu"): prelu,
    ("", "Selu"): _of_real(elementwise.elu_scaled, **_SELU),
    ("", "Shrink"): shrink,
    ("", "Sum"): _many(elementwise.add),
    ("", "Swish"): swish,
    ("", "ThresholdedRelu"): _of_real(elementwise.thresholded_relu, alpha=1.0),
    ("", "Where"): where,
    (MICROSOFT, "QuickGelu"): _of_real(elementwise.silu, alpha=1.702),
}
