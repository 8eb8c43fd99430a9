"""Functions of `keras.ops` beyond arithmetic: orders and places of elements, statistics, sorting, rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.base.integers import repeat
from mote.frontends.build import elementwise as e
from mote.frontends.build import indexing, matrix, moves, reductions
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras import activations
from mote.frontends.keras.call import LayerCall, Parser, Results, flat
from mote.frontends.keras.layers.operands import along, operands, option, pair, reduced, single
from mote.ir.graph.types import DType


def _whole(value: object, what: str) -> int:
    if not isinstance(value, int):
        raise UnsupportedNodeError(f"{what} of {value!r} is not supported (only integers)")
    return value


def _wholes(value: object, what: str) -> list[int]:
    return [_whole(n, what) for n in (value if isinstance(value, list | tuple) else [value])]


def _ranked(call: LayerCall) -> tuple[Value, int]:
    """A value and an axis of it: flattened where the function takes all elements."""
    axis = option(call, "axis", 1, None)
    return (moves.reshape(call.b, call.x, [-1]), 0) if axis is None else (call.x, call.x.axis(_whole(axis, "an axis")))


def _flip(call: LayerCall) -> Value:
    axes = option(call, "axis", 1)
    return moves.flip(call.b, call.x, range(call.x.rank) if axes is None else _wholes(axes, "an axis"))


def _roll(call: LayerCall) -> Value:
    """Each axis taken apart in two, whose halves change places; without axes over the flattened value."""
    b, axes = call.b, option(call, "axis", 2)
    x = moves.reshape(b, call.x, [-1]) if axes is None else call.x
    shifts, places = _wholes(option(call, "shift", 1), "a shift"), _wholes(0 if axes is None else axes, "an axis")
    for shift, place in zip(shifts * (len(places) if len(shifts) == 1 else 1), places, strict=True):
        axis = x.axis(place)
        order = (np.arange(x.shape[axis], dtype=np.int64) - shift) % x.shape[axis]
        x = moves.gather(b, x, axis, b.constant(order))
    return moves.reshape(b, x, call.x.shape)


def _stack(call: LayerCall) -> Value:
    return moves.stack(call.b, call.values, _whole(option(call, "axis", 1, 0), "an axis"))


def _split(call: LayerCall) -> Results:
    """Equal parts, or parts that begin at some places."""
    axis, given = call.x.axis(_whole(option(call, "axis", 2, 0), "an axis")), option(call, "indices_or_sections", 1)
    size = call.x.shape[axis]
    if isinstance(given, int):
        if given < 1 or size % given:
            raise UnsupportedNodeError(f"{given} parts of {size} elements are not equal")
        return moves.split(call.b, call.x, axis, [size // given] * given)
    bounds = [0, *_wholes(given, "a place"), size]
    return moves.split(call.b, call.x, axis, [end - begin for begin, end in pairwise(bounds)])


def _unstack(call: LayerCall) -> Results:
    axis = call.x.axis(_whole(option(call, "axis", 2, 0), "an axis"))
    parts = moves.split(call.b, call.x, axis, [1] * call.x.shape[axis])
    return [moves.squeeze(call.b, part, [axis]) for part in parts]


def _indices(call: LayerCall) -> Value:
    given = call.argument("indices", 1)
    if isinstance(given, Value):
        return given
    try:
        return call.b.constant(np.asarray(given, np.int32))
    except (TypeError, ValueError, OverflowError):
        raise UnsupportedNodeError(f"indices of {given!r} are not supported") from None


def _take(call: LayerCall) -> Value:
    axis = option(call, "axis", 2)
    x = moves.reshape(call.b, call.x, [-1]) if axis is None else call.x
    return indexing.gather(call.b, x, 0 if axis is None else _whole(axis, "an axis"), _indices(call), from_end=True)


def _take_along(call: LayerCall) -> Value:
    axis = option(call, "axis", 2)
    x = moves.reshape(call.b, call.x, [-1]) if axis is None else call.x
    indices = indexing.as_indices(call.b, _indices(call), x.shape[0 if axis is None else x.axis(axis)])
    flat = moves.reshape(call.b, indices, [-1]) if axis is None else indices
    return indexing.gather_elements(call.b, x, 0 if axis is None else axis, flat)


def _tile(call: LayerCall) -> Value:
    repeats = _wholes(option(call, "repeats", 1), "a count")
    x = moves.reshape(call.b, call.x, (*[1] * (len(repeats) - call.x.rank), *call.x.shape))
    return moves.tile(call.b, x, [*[1] * (x.rank - len(repeats)), *repeats])


def _repeat(call: LayerCall) -> Value:
    count, axis = _whole(option(call, "repeats", 1), "a count"), option(call, "axis", 2)
    x = moves.reshape(call.b, call.x, [-1]) if axis is None else call.x
    place = 0 if axis is None else x.axis(_whole(axis, "an axis"))
    return moves.gather(call.b, x, place, call.b.constant(repeat(np.arange(x.shape[place], dtype=np.int64), count)))


def _pad(call: LayerCall) -> Value:
    given, mode = option(call, "pad_width", 1), str(option(call, "mode", 2, "constant"))
    pairs = given if isinstance(given, list | tuple) else [[given, given]]
    widths = [tuple(_wholes(p, "a width")) * (2 if isinstance(p, int) else 1) for p in pairs]
    widths = widths * call.x.rank if len(widths) == 1 else widths
    if mode not in ("constant", "reflect", "symmetric") or any(len(width) != 2 for width in widths):
        raise UnsupportedNodeError(f"padding of {given!r} by '{mode}' is not supported")
    fill = call.argument("constant_values", 3) or 0
    return moves.pad(call.b, call.x, [(before, after) for before, after in widths], mode, float(fill))


def _swapaxes(call: LayerCall) -> Value:
    order = list(range(call.x.rank))
    first, second = (call.x.axis(_whole(option(call, f"axis{n}", n), "an axis")) for n in (1, 2))
    order[first], order[second] = order[second], order[first]
    return moves.transpose(call.b, call.x, order)


def _moveaxis(call: LayerCall) -> Value:
    names = ("source", 1), ("destination", 2)
    source, destination = ([call.x.axis(a) for a in _wholes(option(call, *n), "an axis")] for n in names)
    order = [a for a in range(call.x.rank) if a not in source]
    for place, axis in sorted(zip(destination, source, strict=True)):
        order.insert(place, axis)
    return moves.transpose(call.b, call.x, order)


def _ravel(call: LayerCall) -> Value:
    return moves.reshape(call.b, call.x, [-1])


def _broadcast(call: LayerCall) -> Value:
    return moves.expand(call.b, call.x, _wholes(option(call, "shape", 1), "a size"))


def _slice(call: LayerCall) -> Value:
    starts, sizes = _wholes(call.argument("start_indices", 1), "a place"), _wholes(option(call, "shape", 2), "a size")
    x = call.x
    for axis, (begin, count) in enumerate(zip(starts, sizes, strict=True)):
        x = moves.slice_(call.b, x, axis, begin, count)
    return x


def _extreme(function: Callable[..., Value]) -> Parser:
    def parse(call: LayerCall) -> Value:
        x, axis = _ranked(call)
        keep = bool(option(call, "keepdims", 2, False))
        places = function(call.b, x, axis, keep=keep, dtype=DType.INT32)
        return moves.reshape(call.b, places, [1] * call.x.rank) if keep and x.rank < call.x.rank else places

    return parse


def _cumsum(call: LayerCall) -> Value:
    x, axis = _ranked(call)
    return reductions.cumulative_sum(call.b, x, axis)


def _variance(b: Builder, x: Value, axes: Sequence[int] | None, keep: bool) -> Value:
    apart = e.sub(b, x, reductions.mean(b, x, axes, True))
    return reductions.mean(b, e.mul(b, apart, apart), axes, keep)


def _deviation(b: Builder, x: Value, axes: Sequence[int] | None, keep: bool) -> Value:
    return e.sqrt(b, _variance(b, x, axes, keep))


def _norm(call: LayerCall) -> Value:
    """The norm of vectors along one axis, or of all elements."""
    order, axis = option(call, "ord", 1), option(call, "axis", 2)
    norms = {None: reductions.l2, "fro": reductions.l2, 2: reductions.l2, 1: reductions.l1}
    alone = isinstance(axis, int) or (axis is None and order is None)
    if order not in norms or not alone:
        raise UnsupportedNodeError(f"the norm of order {order!r} along {axis!r} is not supported")
    return norms[order](call.b, call.x, None if axis is None else [axis], bool(option(call, "keepdims", 3, False)))


def _top_k(call: LayerCall) -> Results:
    return list(reductions.top_k(call.b, call.x, _whole(option(call, "k", 1), "a count")))


def _sorted(part: int) -> Parser:
    def parse(call: LayerCall) -> Value:
        axis = call.x.axis(_whole(option(call, "axis", 1, -1), "an axis"))
        return reductions.top_k(call.b, call.x, call.x.shape[axis], axis, largest=False)[part]

    return parse


def _one_hot(call: LayerCall) -> Value:
    count, axis = _whole(option(call, "num_classes", 1), "a count"), option(call, "axis", 2, -1)
    if option(call, "sparse", 4, False) or option(call, "dtype", 3, "float32") not in (None, "float32"):
        raise UnsupportedNodeError("only dense vectors of float32 are supported")
    return reductions.one_hot(call.b, call.x, count, _whole(axis, "an axis"))


def _einsum(call: LayerCall) -> Value:
    return matrix.einsum(call.b, str(call.layer.options.get("subscripts")), list(flat(call.args)))


def _dot(call: LayerCall) -> Value:
    x, y = operands(call)
    if y.rank > 2:
        raise UnsupportedNodeError(f"a second operand of {y.rank} axes is not supported: use matmul or einsum")
    return matrix.matmul(call.b, x, y)


def _round(call: LayerCall) -> Value:
    if option(call, "decimals", 1, 0):
        raise UnsupportedNodeError("rounding to decimals is not supported (only to integers)")
    return e.round_(call.b, call.x)


def _floor_divide(b: Builder, x: Value, y: Value) -> Value:
    if x.dtype != DType.FLOAT32:
        return e.div(b, e.sub(b, x, e.floor_mod(b, x, y)), y)
    return e.floor(b, e.div(b, x, y))


def _filled(call: LayerCall) -> Value:
    number, dtype = call.argument("fill_value", 1), option(call, "dtype", 2)
    if not isinstance(number, int | float) or dtype not in (None, str(call.x.dtype)):
        raise UnsupportedNodeError(f"filling with {number!r} of type {dtype} is not supported")
    return call.b.constant(np.full(call.x.shape, number, call.x.dtype.numpy))


def _normalize(call: LayerCall) -> Value:
    order, axis, least = (option(call, *n) for n in (("order", 2, 2), ("axis", 1, -1), ("epsilon", 3)))
    if order not in (1, 2):
        raise UnsupportedNodeError(f"the norm of order {order!r} is not supported")
    b, x, axes = call.b, call.x, _wholes(axis, "an axis")
    least = 1e-7 if least is None else float(least)
    if order == 2:
        squares = reductions.sum_square(b, x, axes, True)
        return e.mul(b, x, e.rsqrt(b, e.maximum(b, squares, e.scalar(b, least**2))))
    return e.div(b, x, e.maximum(b, reductions.l1(b, x, axes, True), e.scalar(b, least)))


def _median(call: LayerCall) -> Value:
    """The element in the middle, or the mean of the two there."""
    x, axis = _ranked(call)
    if option(call, "keepdims", 2, False) and option(call, "axis", 1) is None:
        raise UnsupportedNodeError("keepdims without an axis is not supported")
    size = x.shape[axis]
    ascending, _ = reductions.top_k(call.b, x, size, axis, largest=False)
    middle = moves.slice_(call.b, ascending, axis, (size - 1) // 2, 2 - size % 2)
    return reductions.mean(call.b, middle, [axis], bool(option(call, "keepdims", 2, False)))


def _count(call: LayerCall) -> Value:
    b, axes = call.b, option(call, "axis", 1)
    present = e.cast(b, e.not_equal(b, call.x, e.scalar(b, 0, call.x.dtype)), DType.FLOAT32)
    listed = None if axes is None else _wholes(axes, "an axis")
    return e.cast(b, reductions.sum_(b, present, listed, False), DType.INT32)


def _log_add(b: Builder, x: Value, y: Value) -> Value:
    """max + log(1 + exp(-|x - y|)), which does not overflow."""
    rest = e.log1p(b, e.exp(b, e.neg(b, e.abs_(b, e.sub(b, x, y)))))
    return e.add(b, e.maximum(b, x, y), rest)


def _either(b: Builder, x: Value, y: Value) -> Value:
    return e.not_equal(b, *(e.cast(b, v, DType.BOOL) for v in (x, y)))


def _is_infinite(b: Builder, x: Value) -> Value:
    return e.equal(b, e.abs_(b, x), e.scalar(b, math.inf))


def _is_finite(b: Builder, x: Value) -> Value:
    return e.less(b, e.abs_(b, x), e.scalar(b, math.inf))


def _with(function: Callable[..., Value], name: str, default: float) -> Parser:
    """An activation with one number."""
    return lambda call: function(call.b, call.x, float(option(call, name, 1, default)))


def _threshold(call: LayerCall) -> Value:
    limit, other = (e.scalar(call.b, float(option(call, n, i))) for i, n in ((1, "threshold"), (2, "default_value")))
    return e.where(call.b, e.greater(call.b, call.x, limit), call.x, other)


def _identity(_: Builder, x: Value) -> Value:
    return x


FUNCTIONS: Mapping[str, Parser] = {
    "Amax": reduced(reductions.maximum),
    "Amin": reduced(reductions.minimum),
    "Arccos": single(e.acos),
    "Arccosh": single(e.acosh),
    "Arcsin": single(e.asin),
    "Arcsinh": single(e.asinh),
    "Arctan": single(e.atan),
    "Arctan2": pair(e.atan2),
    "Arctanh": single(e.atanh),
    "Argmax": _extreme(reductions.arg_max),
    "Argmin": _extreme(reductions.arg_min),
    "Argsort": _sorted(1),
    "BroadcastTo": _broadcast,
    "Ceil": single(e.ceil),
    "Celu": _with(e.celu, "alpha", 1.0),
    "Copy": single(_identity),
    "Cos": single(e.cos),
    "Cosh": single(e.cosh),
    "CountNonzero": _count,
    "Cumsum": _cumsum,
    "Dot": _dot,
    "Einsum": _einsum,
    "Elu": _with(e.elu_scaled, "alpha", 1.0),
    "Erf": single(e.erf),
    "Expm1": single(e.expm1),
    "Flip": _flip,
    "Floor": single(e.floor),
    "FloorDivide": pair(_floor_divide),
    "FullLike": _filled,
    "Glu": along(activations.glu),
    "HardShrink": _with(activations.hard_shrink, "threshold", 0.5),
    "HardTanh": single(partial(e.clip, low=-1, high=1)),
    "Hypot": pair(e.hypot),
    "Isfinite": single(_is_finite),
    "Isinf": single(_is_infinite),
    "Isnan": single(lambda b, x: e.not_equal(b, x, x)),
    "LeakyRelu": _with(e.leaky_relu, "negative_slope", 0.2),
    "Log10": single(e.logarithm(10)),
    "Log1p": single(e.log1p),
    "Log2": single(e.logarithm(2)),
    "LogSigmoid": single(activations.log_sigmoid),
    "Logaddexp": pair(_log_add),
    "LogicalXor": pair(_either),
    "Logsumexp": reduced(reductions.log_sum_exp),
    "Median": _median,
    "Mod": pair(e.floor_mod),
    "Moveaxis": _moveaxis,
    "Norm": _norm,
    "Normalize": _normalize,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Prod": reduced(reductions.product),
    "Ravel": _ravel,
    "Reciprocal": single(e.reciprocal),
    "Repeat": _repeat,
    "Roll": _roll,
    "Round": _round,
    "Selu": single(activations.FUNCTIONS["selu"]),
    "Sign": single(e.sign),
    "Sin": single(e.sin),
    "Sinh": single(e.sinh),
    "Slice": _slice,
    "SoftShrink": _with(activations.soft_shrink, "threshold", 0.5),
    "Softsign": single(e.softsign),
    "Sort": _sorted(0),
    "SparsePlus": single(activations.sparse_plus),
    "SparseSigmoid": single(activations.sparse_sigmoid),
    "Split": _split,
    "Squareplus": _with(activations.squareplus, "b", 4.0),
    "Stack": _stack,
    "Std": reduced(_deviation),
    "StopGradient": single(_identity),
    "Swapaxes": _swapaxes,
    "Take": _take,
    "TakeAlongAxis": _take_along,
    "Tan": single(e.tan),
    "TanhShrink": single(activations.tanh_shrink),
    "Threshold": _threshold,
    "Tile": _tile,
    "TopK": _top_k,
    "Trunc": single(e.truncated),
    "Unstack": _unstack,
    "Var": reduced(_variance),
}
"""Parsers by the class of the function."""
