"""TensorFlow functions between layers of Keras 2: calls of public functions (TFOpLambda) and graph operators
(TensorFlowOpLayer)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import matrix, moves, norms, reductions
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras import activations
from mote.frontends.keras.archive import DamagedArchiveError
from mote.frontends.keras.call import LayerCall, Parser, Results, flat
from mote.frontends.keras.layers.operations import get_item
from mote.ir.graph.types import DType

MODULES = {"", "__operators__", "compat.v1", "compat.v1.math", "compat.v1.nn", "linalg", "math", "nn"}
"""TensorFlow modules of the functions in the table."""


def _operand(call: LayerCall, given: Any, like: Value | None = None) -> Value:
    """A tensor, or a constant in the type of another operand."""
    if isinstance(given, Value):
        return given
    try:
        return call.b.constant(np.asarray(given, np.float32 if like is None else like.dtype.numpy))
    except (TypeError, ValueError, OverflowError):
        raise UnsupportedNodeError(f"an operand of {given!r} is not supported") from None


def _given(call: LayerCall, *names: str, default: Any = None) -> Any:
    """An argument after the first one, by any of its names."""
    return next((call.kwargs[name] for name in names if name in call.kwargs), default)


def _pair(function: Callable[[Builder, Value, Value], Value]) -> Parser:
    def parse(call: LayerCall) -> Value:
        x, y = call.args[0] if call.args else None, _given(call, "y")
        tensor = next((v for v in (x, y) if isinstance(v, Value)), None)
        return function(call.b, _operand(call, x, tensor), _operand(call, y, tensor))

    return parse


def _single(function: Callable[[Builder, Value], Value]) -> Parser:
    return lambda call: function(call.b, call.x)


def _axes(given: Any, rank: int) -> list[int]:
    """Axes as a list; None for all."""
    if isinstance(given, Value) and given.data is not None:
        given = given.data.reshape(-1).tolist()
    axes = list(range(rank)) if given is None else given if isinstance(given, list) else [given]
    if not all(isinstance(a, int) for a in axes):
        raise UnsupportedNodeError(f"axes of {given!r} are not supported")
    return axes


def _reduced(function: Callable[..., Value]) -> Parser:
    def parse(call: LayerCall) -> Value:
        axes = _axes(_given(call, "axis", "reduction_indices"), call.x.rank)
        return function(call.b, call.x, axes, bool(_given(call, "keepdims", "keep_dims", default=False)))

    return parse


def _along(function: Callable[[Builder, Value, int], Value]) -> Parser:
    return lambda call: function(call.b, call.x, _axis(call, -1))


def _axis(call: LayerCall, default: int) -> int:
    axis = _given(call, "axis", default=default)
    axes = _axes(default if axis is None else axis, 1)
    if len(axes) != 1:
        raise UnsupportedNodeError(f"an axis of {axis!r} is not supported")
    return axes[0]


def _numbers(call: LayerCall, *names: str) -> list[int]:
    """Integers that are constant."""
    given = _given(call, *names)
    parts = [p.data.reshape(-1).tolist() if isinstance(p, Value) and p.data is not None else p for p in _listed(given)]
    numbers = [n for p in parts for n in (p if isinstance(p, list) else [p])]
    if not all(isinstance(n, int) for n in numbers):
        raise UnsupportedNodeError(f"{names[0]} is computed by the model, which is not supported")
    return numbers


def _listed(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list) else [given]


def _reshape(call: LayerCall) -> Value:
    return moves.reshape(call.b, call.x, _numbers(call, "shape"))


def _transpose(call: LayerCall) -> Value:
    order = range(call.x.rank - 1, -1, -1) if _given(call, "perm") is None else _numbers(call, "perm")
    return moves.transpose(call.b, call.x, order)


def _concat(call: LayerCall) -> Value:
    return moves.concat(call.b, call.values, _axis(call, 0))


def _stack(call: LayerCall) -> Value:
    return moves.stack(call.b, call.values, _axis(call, 0))


def _expand_dims(call: LayerCall) -> Value:
    return moves.unsqueeze(call.b, call.x, [_axis(call, -1)])


def _squeeze(call: LayerCall) -> Value:
    axes = _given(call, "axis", "squeeze_dims")
    return moves.squeeze(call.b, call.x, None if axes in (None, []) else _axes(axes, call.x.rank))


def _split(call: LayerCall) -> Results:
    sizes, axis = _numbers(call, "num_or_size_splits"), call.x.axis(_axis(call, 0))
    if not isinstance(_given(call, "num_or_size_splits"), list):
        sizes = [call.x.shape[axis] // max(sizes[0], 1)] * sizes[0]
    return moves.split(call.b, call.x, axis, sizes)


def _clip(call: LayerCall) -> Value:
    low, high = (_given(call, f"clip_value_{end}") for end in ("min", "max"))
    if not all(isinstance(n, int | float) for n in (low, high)):
        raise UnsupportedNodeError("bounds that are tensors are not supported")
    return e.clip(call.b, call.x, float(low), float(high))


def _matmul(call: LayerCall) -> Value:
    b, (x, y) = call.b, (call.x, _operand(call, _given(call, "b", "y"), call.x))
    turned = ("transpose_a", "adjoint_a", "adj_x"), ("transpose_b", "adjoint_b", "adj_y")
    first, second = (
        moves.transpose(b, v, [*range(v.rank - 2), v.rank - 1, v.rank - 2]) if any(map(call.kwargs.get, names)) else v
        for v, names in zip((x, y), turned, strict=True)
    )
    return matrix.matmul(b, first, second)


def _cast(call: LayerCall) -> Value:
    wanted = str(_given(call, "dtype", default=""))
    if wanted not in [str(known) for known in DType]:
        raise UnsupportedNodeError(f"a cast to '{wanted}' is not supported")
    return e.cast(call.b, call.x, DType(wanted))


def _leaky_relu(call: LayerCall) -> Value:
    return e.leaky_relu(call.b, call.x, float(_given(call, "alpha", default=activations.LEAKY)))


def _gelu(call: LayerCall) -> Value:
    return e.gelu(call.b, call.x, approximate=bool(_given(call, "approximate", default=False)))


def _l2_normalize(call: LayerCall) -> Value:
    b, x = call.b, call.x
    squares = reductions.sum_square(b, x, _axes(_given(call, "axis"), x.rank), True)
    return e.mul(b, x, e.rsqrt(b, e.maximum(b, squares, e.scalar(b, float(_given(call, "epsilon", default=1e-12))))))


def _pad(call: LayerCall) -> Value:
    numbers = _given(call, "paddings")
    numbers = numbers.data.tolist() if isinstance(numbers, Value) and numbers.data is not None else numbers
    mode = str(_given(call, "mode", default="CONSTANT")).upper()
    pairs = isinstance(numbers, list) and all(isinstance(p, list) and len(p) == 2 for p in numbers)
    if not pairs or mode != "CONSTANT" or len(numbers) != call.x.rank:
        raise UnsupportedNodeError(f"padding of {numbers!r} by '{mode}' is not supported (only CONSTANT)")
    fill = float(_given(call, "constant_values", default=0) or 0)
    return moves.pad(call.b, call.x, [(int(before), int(after)) for before, after in numbers], fill=fill)


def _squared_difference(b: Builder, x: Value, y: Value) -> Value:
    difference = e.sub(b, x, y)
    return e.mul(b, difference, difference)


def _identity(b: Builder, x: Value) -> Value:
    return x


FUNCTIONS: Mapping[str, Parser] = {
    "abs": _single(e.abs_),
    "add": _pair(e.add),
    "cast": _cast,
    "clip_by_value": _clip,
    "concat": _concat,
    "divide": _pair(e.div),
    "elu": _single(e.elu),
    "exp": _single(e.exp),
    "expand_dims": _expand_dims,
    "gelu": _gelu,
    "identity": _single(_identity),
    "l2_normalize": _l2_normalize,
    "leaky_relu": _leaky_relu,
    "log": _single(e.log),
    "log_softmax": _along(norms.log_softmax),
    "matmul": _matmul,
    "maximum": _pair(e.maximum),
    "minimum": _pair(e.minimum),
    "multiply": _pair(e.mul),
    "negative": _single(e.neg),
    "pad": _pad,
    "pow": _pair(e.power),
    "reduce_max": _reduced(reductions.maximum),
    "reduce_mean": _reduced(reductions.mean),
    "reduce_min": _reduced(reductions.minimum),
    "reduce_sum": _reduced(reductions.sum_),
    "relu": _single(e.relu),
    "relu6": _single(e.relu6),
    "reshape": _reshape,
    "rsqrt": _single(e.rsqrt),
    "selu": _single(activations.FUNCTIONS["selu"]),
    "sigmoid": _single(e.sigmoid),
    "silu": _single(e.silu),
    "softmax": _along(norms.softmax),
    "softplus": _single(e.softplus),
    "softsign": _single(e.softsign),
    "split": _split,
    "sqrt": _single(e.sqrt),
    "square": _single(lambda b, x: e.mul(b, x, x)),
    "squared_difference": _pair(_squared_difference),
    "squeeze": _squeeze,
    "stack": _stack,
    "stop_gradient": _single(_identity),
    "subtract": _pair(e.sub),
    "swish": _single(e.silu),
    "tanh": _single(e.tanh),
    "transpose": _transpose,
    "truediv": _pair(e.div),
}
"""TensorFlow functions by the last part of their names."""
OPERATORS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "Abs": ("abs", ()),
    "Add": ("add", ("y",)),
    "AddV2": ("add", ("y",)),
    "BatchMatMul": ("matmul", ("y",)),
    "BatchMatMulV2": ("matmul", ("y",)),
    "ConcatV2": ("concat", ()),
    "Elu": ("elu", ()),
    "Exp": ("exp", ()),
    "ExpandDims": ("expand_dims", ("axis",)),
    "Identity": ("identity", ()),
    "LeakyRelu": ("leaky_relu", ()),
    "Log": ("log", ()),
    "MatMul": ("matmul", ("y",)),
    "Max": ("reduce_max", ("axis",)),
    "Maximum": ("maximum", ("y",)),
    "Mean": ("reduce_mean", ("axis",)),
    "Min": ("reduce_min", ("axis",)),
    "Minimum": ("minimum", ("y",)),
    "Mul": ("multiply", ("y",)),
    "Neg": ("negative", ()),
    "Pad": ("pad", ("paddings",)),
    "Pow": ("pow", ("y",)),
    "RealDiv": ("truediv", ("y",)),
    "Relu": ("relu", ()),
    "Relu6": ("relu6", ()),
    "Reshape": ("reshape", ("shape",)),
    "Rsqrt": ("rsqrt", ()),
    "Sigmoid": ("sigmoid", ()),
    "Softmax": ("softmax", ()),
    "Softplus": ("softplus", ()),
    "Sqrt": ("sqrt", ()),
    "Square": ("square", ()),
    "Squeeze": ("squeeze", ()),
    "Sub": ("subtract", ("y",)),
    "Sum": ("reduce_sum", ("axis",)),
    "Tanh": ("tanh", ()),
    "Transpose": ("transpose", ("perm",)),
}
"""Operators of TensorFlow graphs: the equivalent functions, and the names of their arguments after the first one."""


def function(call: LayerCall) -> Results:
    """A call of a TensorFlow function."""
    symbol = call.layer.text("function")
    module, _, name = symbol.rpartition(".")
    if module not in MODULES or name not in FUNCTIONS:
        raise UnsupportedNodeError(f"the function tf.{symbol} is not supported")
    return FUNCTIONS[name](call)


def item(call: LayerCall) -> Value:
    """x[...] with a Python index."""
    return get_item(replace(call, kwargs={"key": call.kwargs.get("slice_spec")}))


def operator(call: LayerCall) -> Results:
    """A TensorFlow graph operator, whose constant operands the file stores by position."""
    node, held = call.layer.get("node_def"), call.layer.get("constants", None) or {}
    if not isinstance(node, Mapping) or not isinstance(held, Mapping):
        raise DamagedArchiveError(f"the operator of '{call.layer.name}' is not described")
    kind = str(node.get("op"))
    if kind not in OPERATORS:
        raise UnsupportedNodeError(f"the operator {kind} of TensorFlow is not supported")
    waiting = list(flat(call.args))
    known = {int(place): value for place, value in held.items() if str(place).isdigit()}
    count = len(waiting) + len(known)
    operands = [known[i] if i in known else waiting.pop(0) for i in range(count) if i in known or waiting]
    name, names = OPERATORS[kind]
    if name == "concat":
        operands, names = [operands[:-1], operands[-1]], ("axis",)
    kwargs = _attributes(node.get("attr")) | dict(zip(names, operands[1:], strict=False))
    return FUNCTIONS[name](replace(call, args=operands[:1], kwargs=kwargs))


def _attributes(said: Any) -> dict[str, Any]:
    """The attributes of an operator as arguments of the function, decoded from protobuf's JSON."""
    attributes: dict[str, Any] = {}
    for name, value in said.items() if isinstance(said, Mapping) else ():
        if isinstance(value, Mapping) and "b" in value:
            attributes[name] = bool(value["b"])
        elif isinstance(value, Mapping) and isinstance(value.get("f"), int | float):
            attributes[name] = float(value["f"])
        elif name == "squeeze_dims" and isinstance(value, Mapping):
            numbers = (value.get("list") or {}).get("i") or []
            attributes[name] = [int(n) for n in numbers]
    return attributes


LAYERS: Mapping[str, Parser] = {
    "SlicingOpLambda": item,
    "TFOpLambda": function,
    "TensorFlowOpLayer": operator,
}
