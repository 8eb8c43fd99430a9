"""Merging layers: Add, Multiply, Concatenate, Dot and similar ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import matrix, moves, reductions
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras.call import LayerCall, Parser
from mote.frontends.keras.layers.normalization import UNIT

Pair = Callable[[Builder, Value, Value], Value]


def _aligned(call: LayerCall) -> list[Value]:
    """Values with equal ranks: Keras inserts axes after the first one."""
    values = call.values
    rank = max(v.rank for v in values)
    return [moves.reshape(call.b, v, (v.shape[0], *[1] * (rank - v.rank), *v.shape[1:])) for v in values]


def merge(pair: Pair) -> Parser:
    def parse(call: LayerCall) -> Value:
        values = _aligned(call)
        if len(values) < 2:
            raise UnsupportedNodeError("it needs at least two tensors")
        return reduce(lambda x, y: pair(call.b, x, y), values)

    return parse


def subtract(call: LayerCall) -> Value:
    values = _aligned(call)
    if len(values) != 2:
        raise UnsupportedNodeError(f"it subtracts one tensor from another, not {len(values)}")
    return e.sub(call.b, *values)


def average(call: LayerCall) -> Value:
    return e.scaled(call.b, _sum(call), 1 / len(call.values))


def _sum(call: LayerCall) -> Value:
    return reduce(lambda x, y: e.add(call.b, x, y), _aligned(call))


def concatenate(call: LayerCall) -> Value:
    return moves.concat(call.b, call.values, call.layer.integer("axis", -1))


def dot(call: LayerCall) -> Value:
    """Dot product along an axis of each operand, optionally normalized."""
    b, values = call.b, call.values
    if len(values) != 2:
        raise UnsupportedNodeError(f"it takes two tensors, not {len(values)}")
    axes = call.layer.list_of_integers("axes")
    first, second = axes if len(axes) == 2 else (axes[0], axes[0])
    x, y = values
    one, other = x.axis(first), y.axis(second)
    if not one or not other or max(x.rank, y.rank) > 3:
        raise UnsupportedNodeError(f"products along the axes {axes} of {x.shape} and {y.shape} are not supported")
    if call.layer.flag("normalize", False):
        x, y = _unit(b, x, one), _unit(b, y, other)
    left = moves.transpose(b, x, [*(a for a in range(x.rank) if a != one), one])
    right = moves.transpose(b, y, [0, other, *(a for a in range(1, y.rank) if a != other)])
    left = left if x.rank == 3 else moves.unsqueeze(b, left, [1])
    right = right if y.rank == 3 else moves.unsqueeze(b, right, [2])
    made = matrix.matmul(b, left, right)
    gone = [1] * (x.rank == 2) + [2] * (y.rank == 2)
    return moves.squeeze(b, made, gone[:1] if len(gone) == 2 else gone)


def _unit(b: Builder, x: Value, axis: int) -> Value:
    squares = reductions.sum_square(b, x, [axis], True)
    return e.mul(b, x, e.rsqrt(b, e.maximum(b, squares, e.scalar(b, UNIT))))


LAYERS: Mapping[str, Parser] = {
    "Add": merge(e.add),
    "Average": average,
    "Concatenate": concatenate,
    "Dot": dot,
    "Maximum": merge(e.maximum),
    "Minimum": merge(e.minimum),
    "Multiply": merge(e.mul),
    "Subtract": subtract,
}
