"""Functions of `keras.ops` between layers, and Python operators on tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import matrix, moves, norms, reductions
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras import activations
from mote.frontends.keras.call import LayerCall, Parser, flat
from mote.frontends.keras.layers.functions import FUNCTIONS
from mote.frontends.keras.layers.operands import along, constant_like, option, pair, reduced, single
from mote.ir.graph.types import DType


def reshape(call: LayerCall) -> Value:
    shape = list(option(call, "newshape", 1, ()))
    if shape and shape[0] is None:
        shape[0] = call.x.shape[0]
    return moves.reshape(call.b, call.x, [-1 if n is None else int(n) for n in shape])


def transpose(call: LayerCall) -> Value:
    axes = option(call, "axes", 1)
    return moves.transpose(call.b, call.x, range(call.x.rank - 1, -1, -1) if axes is None else axes)


def concatenate(call: LayerCall) -> Value:
    values = list(flat(call.args[0] if call.args else call.kwargs.get("xs")))
    return moves.concat(call.b, values, int(option(call, "axis", 1, 0)))


def expand_dims(call: LayerCall) -> Value:
    axis = option(call, "axis", 1)
    return moves.unsqueeze(call.b, call.x, [axis] if isinstance(axis, int) else list(axis))


def squeeze(call: LayerCall) -> Value:
    axis = option(call, "axis", 1)
    return moves.squeeze(call.b, call.x, None if axis is None else [axis] if isinstance(axis, int) else list(axis))


def clip(call: LayerCall) -> Value:
    low, high = option(call, "x_min", 1), option(call, "x_max", 2)
    return e.clip(call.b, call.x, None if low is None else float(low), None if high is None else float(high))


def get_item(call: LayerCall) -> Value:
    """x[...] with integers, slices, an ellipsis and new axes."""
    b, x = call.b, call.x
    said = call.argument("key", 1)
    keys = list(said) if isinstance(said, list | tuple) else [said]
    if Ellipsis in keys:
        at, taken = keys.index(Ellipsis), sum(key is not None and key is not Ellipsis for key in keys)
        keys[at : at + 1] = [slice(None)] * (x.rank - taken)
    axis = 0
    gone: list[int] = []
    new: list[int] = []
    for key in keys:
        if key is None:
            new.append(axis - len(gone) + len(new))
            continue
        x = _part(b, x, axis, key)
        gone += [axis] if isinstance(key, int) else []
        axis += 1
    x = moves.squeeze(b, x, gone) if gone else x
    return moves.unsqueeze(b, x, new) if new else x


def _part(b: Builder, x: Value, axis: int, key: Any) -> Value:
    """One index or slice of an axis."""
    if axis >= x.rank:
        raise UnsupportedNodeError(f"it has more indices than the {x.rank} axes of its operand")
    size = x.shape[axis]
    if isinstance(key, int) and not isinstance(key, bool) and -size <= key < size:
        return moves.slice_(b, x, axis, key % size, 1)
    ends = (key.start, key.stop, key.step) if isinstance(key, slice) else (key,)
    if isinstance(key, slice) and all(n is None or isinstance(n, int) for n in ends) and key.step != 0:
        begin, end, step = key.indices(size)
        return moves.slice_(b, x, axis, begin, len(range(begin, end, step)), step)
    raise UnsupportedNodeError(f"an index of {key!r} is not supported for an axis of {size} elements")


def truth(function: Callable[..., Value]) -> Parser:
    """Logical any or all along axes."""

    def of_numbers(b: Builder, x: Value, axes: Sequence[int] | None, keep: bool) -> Value:
        return e.cast(b, function(b, e.cast(b, e.cast(b, x, DType.BOOL), DType.FLOAT32), axes, keep), DType.BOOL)

    return reduced(of_numbers)


def _typed(call: LayerCall, position: int) -> DType | None:
    """The `dtype` argument of a function; None for the operand's type."""
    said = option(call, "dtype", position)
    if said is None:
        return None
    if said not in [str(known) for known in DType]:
        raise UnsupportedNodeError(f"the type {said} is not supported")
    return DType(str(said))


def cast(call: LayerCall) -> Value:
    wanted = _typed(call, 1)
    return call.x if wanted is None else e.cast(call.b, call.x, wanted)


def filled(number: int) -> Parser:
    """A constant with the shape of a tensor."""

    def parse(call: LayerCall) -> Value:
        return call.b.constant(np.full(call.x.shape, number, (_typed(call, 1) or call.x.dtype).numpy))

    return parse


def where(call: LayerCall) -> Value:
    condition = call.x
    given = [call.argument(name, i) for i, name in ((1, "x1"), (2, "x2"))]
    like = next((x for x in given if isinstance(x, Value)), None)
    if like is None:
        raise UnsupportedNodeError("it chooses among two operands, of which one is a tensor")
    x, y = (v if isinstance(v, Value) else constant_like(call.b, v, like) for v in given)
    return e.where(call.b, e.cast(call.b, condition, DType.BOOL), x, y)


OPERATIONS: Mapping[str, Parser] = {
    **FUNCTIONS,
    "Absolute": single(e.abs_),
    "Add": pair(e.add),
    "All": truth(reductions.minimum),
    "Any": truth(reductions.maximum),
    "Cast": cast,
    "ConvertToTensor": cast,
    "Equal": pair(e.equal),
    "Greater": pair(e.greater),
    "GreaterEqual": pair(e.greater_equal),
    "Less": pair(e.less),
    "LessEqual": pair(e.less_equal),
    "LogicalAnd": pair(e.logical_and),
    "LogicalNot": single(e.logical_not),
    "LogicalOr": pair(e.logical_or),
    "NotEqual": pair(e.not_equal),
    "OnesLike": filled(1),
    "Where": where,
    "ZerosLike": filled(0),
    "Clip": clip,
    "Concatenate": concatenate,
    "Divide": pair(e.div),
    "Exp": single(e.exp),
    "ExpandDims": expand_dims,
    "GetItem": get_item,
    "Log": single(e.log),
    "LogSoftmax": along(norms.log_softmax),
    "Matmul": pair(matrix.matmul),
    "Max": reduced(reductions.maximum),
    "Maximum": pair(e.maximum),
    "Mean": reduced(reductions.mean),
    "Min": reduced(reductions.minimum),
    "Minimum": pair(e.minimum),
    "Multiply": pair(e.mul),
    "Negative": single(e.neg),
    "Power": pair(e.power),
    "Relu": single(e.relu),
    "Relu6": single(e.relu6),
    "Reshape": reshape,
    "Rsqrt": single(e.rsqrt),
    "Sigmoid": single(e.sigmoid),
    "Silu": single(e.silu),
    "Softmax": along(norms.softmax),
    "Softplus": single(e.softplus),
    "Sqrt": single(e.sqrt),
    "Square": single(lambda b, x: e.mul(b, x, x)),
    "Squeeze": squeeze,
    "Subtract": pair(e.sub),
    "Sum": reduced(reductions.sum_),
    "Tanh": single(e.tanh),
    "Transpose": transpose,
    "TrueDivide": pair(e.div),
    "HardSigmoid": single(activations.hard_sigmoid),
    "HardSilu": single(e.hard_swish),
    "Gelu": lambda call: e.gelu(call.b, call.x, approximate=bool(option(call, "approximate", 1, True))),
}
