"""Operands and options of functions of `keras.ops`, and parsers of those that take one or two tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras.call import LayerCall, Parser


def operands(call: LayerCall) -> tuple[Value, Value]:
    """Two operands, of which one may be a Python number."""
    given = [*call.args, *call.kwargs.values()][:2]
    tensor = next((x for x in given if isinstance(x, Value)), None)
    if tensor is None or len(given) != 2:
        raise UnsupportedNodeError("it takes two operands, of which one is a tensor")
    both = [x if isinstance(x, Value) else constant_like(call.b, x, tensor) for x in given]
    return both[0], both[1]


def constant_like(b: Builder, number: Any, like: Value) -> Value:
    try:
        return b.constant(np.asarray(number, like.dtype.numpy))
    except (TypeError, ValueError, OverflowError):
        raise UnsupportedNodeError(f"an operand of {number!r} is not supported") from None


def pair(function: Callable[[Builder, Value, Value], Value]) -> Parser:
    return lambda call: function(call.b, *operands(call))


def single(function: Callable[[Builder, Value], Value]) -> Parser:
    return lambda call: function(call.b, call.x)


def option(call: LayerCall, name: str, position: int, default: Any = None) -> Any:
    """An argument of a function, from its construction or from its call."""
    return call.layer.options.get(name, call.argument(name, position, default))


def reduced(function: Callable[..., Value]) -> Parser:
    def parse(call: LayerCall) -> Value:
        axes = option(call, "axis", 1)
        axes = None if axes is None else [axes] if isinstance(axes, int) else list(axes)
        return function(call.b, call.x, axes, bool(option(call, "keepdims", 2, False)))

    return parse


def along(function: Callable[[Builder, Value, int], Value]) -> Parser:
    def parse(call: LayerCall) -> Value:
        axis = option(call, "axis", 1, -1)
        if not isinstance(axis, int):
            raise UnsupportedNodeError(f"an axis of {axis!r} is not supported")
        return function(call.b, call.x, axis)

    return parse
