"""A user's inputs: a file or arrays in, the inputs of each inference out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.data.readers.arrays import ONE
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.io_order import model_shape, to_code
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.quantize import QUANTIZED, quantized

Arrays = Mapping[int, Array] | Mapping[str, Array]
Inputs = Array | Arrays | Sequence[Arrays]
"""Inputs of one inference or of several: an array, arrays by the name or the id of the input, or a list of such."""
AT_ONCE = 1 << 22
"""About as many values are quantized together: that takes many times the memory of the result."""


def given_inputs(graph: Graph, inputs: Inputs) -> list[dict[int, Array]]:
    """The inputs that a caller of the API hands over."""
    if isinstance(inputs, np.ndarray):
        return inferences(graph, {ONE: inputs}, "option inputs")
    if isinstance(inputs, Mapping):
        names: dict[int | str, str] = {t: f"arr_{i}" for i, t in enumerate(graph.inputs)}
        arrays = {names.get(key, str(key)): np.asarray(value) for key, value in inputs.items()}
        return inferences(graph, arrays, "option inputs")
    return [case for several in inputs for case in given_inputs(graph, several)]


def inferences(
    graph: Graph, arrays: Mapping[str, Array], where: str, given: Mapping[str, Array] | None = None
) -> list[dict[int, Array]]:
    """Each input's array, cut into inferences: of as many as there are rows of a batch, or pieces of a stream. `given`:
    the arrays as the user has them, for messages, where `arrays` have other shapes."""
    by_input = {t: _found(graph.tensors[t], i, arrays, where, given or arrays) for i, t in enumerate(graph.inputs)}
    counts = {graph.tensors[t].name: len(cases) for t, cases in by_input.items()}
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{count} of '{name}'" for name, count in counts.items())
        raise MoteError(f"has more inputs of one kind than of another: {shown}", where=where)
    return [dict(zip(by_input, case, strict=True)) for case in zip(*by_input.values(), strict=True)]


def _found(
    tensor: Tensor, number: int, arrays: Mapping[str, Array], where: str, given: Mapping[str, Array]
) -> list[Array]:
    """The values of an input for each inference: of the array of its name, of that of its number, or of the only one
    that fits it."""
    name = next((name for name in (tensor.name, f"arr_{number}") if name in arrays), None)
    if name is None and len(arrays) == 1:
        name = next(iter(arrays))
    if name is not None:
        return _cases(tensor, arrays[name]) or _misfit(tensor, arrays[name], given[name], where)
    fitting = [cases for value in arrays.values() if (cases := _cases(tensor, value))]
    if len(fitting) == 1:
        return fitting[0]
    shown = ", ".join(f"{name} ({described(value)})" for name, value in given.items()) or "none"
    which = f"{len(fitting)} arrays that fit" if fitting else "no array for"
    raise MoteError(
        f"has {which} '{tensor.name}', {_wanted(tensor)}; it has {shown}",
        where=where,
        remedy=f"save it under the name '{tensor.name}', or the inputs in order as arr_0, arr_1, ...",
    )


def _misfit(tensor: Tensor, value: Array, given: Array, where: str) -> NoReturn:
    remedy = "give an array of that shape, or several along an axis before it or instead of a first one of 1"
    if value.dtype.kind in "iub" and _pieces(tensor, value) is not None and value.size:
        remedy = f"whole numbers are taken as {tensor.dtype}: where they stand for real ones, give float32 values"
        remedy += ", which are quantized (--preprocess float)" if tensor.quant is not None else ""
    raise MoteError(
        f"'{tensor.name}' is {described(given)}, the model takes {_wanted(tensor)}", where=where, remedy=remedy
    )


def _wanted(tensor: Tensor) -> str:
    return _type_and_shape(tensor.dtype, model_shape(tensor))


def described(value: Array) -> str:
    """The type and the shape of an array, for messages."""
    return _type_and_shape(value.dtype, value.shape)


def _type_and_shape(dtype: object, shape: Shape) -> str:
    return f"{dtype} {'x'.join(map(str, shape)) or 'scalar'}"


def _cases(tensor: Tensor, value: Array) -> list[Array]:
    """The inferences that a value is for; none where it does not fit."""
    pieces = _pieces(tensor, value)
    converted = None if pieces is None else _converted(tensor, pieces)
    return [] if converted is None else list(converted)


def _pieces(tensor: Tensor, value: Array) -> Array | None:
    """A value as [inferences, *shape]: the pieces of a stream, one inference, or a batch; None where it fits none."""
    lying = to_code(tensor, value)
    if lying is None:
        return None
    value, shape, axis = lying, tensor.shape, tensor.newest
    if axis is not None and value.ndim == len(shape) and value.shape[axis] % shape[axis] == 0:
        parts = np.split(value, max(value.shape[axis] // shape[axis], 1), axis)
        return np.stack(parts) if parts[0].shape == shape else None
    batch = value.shape[1:] == shape or (
        shape[:1] == (1,) and value.ndim == len(shape) and value.shape[1:] == shape[1:]
    )
    return value.reshape(-1, *shape) if batch or value.size == tensor.size else None


def _converted(tensor: Tensor, value: Array) -> Array | None:
    """Values converted to a tensor's type: floats are quantized with its scale. None where a conversion would lose
    information."""
    wanted, kind = np.dtype(tensor.dtype.numpy), value.dtype.kind
    if value.dtype == wanted:
        return value
    if kind == "f" and tensor.dtype == DType.FLOAT32:
        return value.astype(wanted)
    if kind == "f" and tensor.dtype in QUANTIZED and tensor.quant is not None:
        pieces = np.array_split(value, max(1, value.size // AT_ONCE))
        return np.concatenate([quantized(np.where(np.isnan(piece), 0, piece), tensor) for piece in pieces])
    if kind in "iub" or (kind == "f" and tensor.quant is None):
        with np.errstate(invalid="ignore"):
            same = value.astype(wanted)
        return same if np.array_equal(same, value) else None
    return None
