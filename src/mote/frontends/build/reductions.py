"""Reductions along axes, arg max, cumulative sums and top-k."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise, moves
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.orders import gathered, stored_groups, with_last
from mote.ir.graph.element_order import Atom
from mote.ir.graph.types import DType
from mote.ir.ops.reductions.along_axis import ArgMax, ArgMin, CumSum, TopK
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.reduce import (
    ReduceAll,
    ReduceAny,
    ReduceExtreme,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    Reduction,
    Sum,
)

Reduce = Callable[[Builder, Value, Sequence[int] | None, bool], Value]


def reduce(
    b: Builder, kind: type[Reduction], x: Value, axes: Sequence[int] | None, keep: bool = True, **attributes: Any
) -> Value:
    """A reduction over some axes (None: all), in any layout. `keep`: keeps them as axes of size 1."""
    gone = tuple(range(x.rank)) if axes is None else x.axes(axes)
    shape = tuple(1 if a in gone else n for a, n in enumerate(x.shape))
    if shape != x.shape or kind is Mean or attributes:
        x = _reduced(b, kind, x, gone, attributes)
    return x if keep else moves.squeeze(b, x, gone)


def _reduced(b: Builder, kind: type[Reduction], x: Value, gone: Sequence[int], attributes: Mapping[str, Any]) -> Value:
    atoms = [Atom(a, 0, n) for a, n in enumerate(x.shape)] if x.constant else x.atoms
    groups = [] if x.constant else stored_groups(atoms, b.tensors[x.tensor].shape)
    if not groups or any(len({atom.axis in gone for atom in group}) > 1 for group in groups):
        groups = [[atom] for atom in atoms]
    sizes = tuple(prod(atom.size for atom in group) for group in groups)
    axes = tuple(i for i, group in enumerate(groups) if group and group[0].axis in gone)
    source = b.ordered(x, atoms, sizes)
    stored = tuple(1 if i in axes else n for i, n in enumerate(sizes))
    if issubclass(kind, ReduceExtreme) and x.dtype == DType.FLOAT32:
        attributes = {**attributes, "infinite": True}
    made = b.op(kind, [source], stored, axes=axes, keep_dims=True, **attributes)
    shape = tuple(1 if a in gone else n for a, n in enumerate(x.shape))
    return b.value(made, shape, [atom for atom in atoms if atom.axis not in gone])


def _reduction(kind: type[Reduction]) -> Reduce:
    def apply(b: Builder, x: Value, axes: Sequence[int] | None = None, keep: bool = True) -> Value:
        return reduce(b, kind, x, axes, keep)

    return apply


mean, sum_, product = _reduction(Mean), _reduction(Sum), _reduction(ReduceProd)
maximum, minimum = _reduction(ReduceMax), _reduction(ReduceMin)
any_, all_ = _reduction(ReduceAny), _reduction(ReduceAll)


def l1(b: Builder, x: Value, axes: Sequence[int] | None = None, keep: bool = True) -> Value:
    """The sum of absolute values."""
    return sum_(b, elementwise.abs_(b, x), axes, keep)


def sum_square(b: Builder, x: Value, axes: Sequence[int] | None = None, keep: bool = True) -> Value:
    return sum_(b, elementwise.mul(b, x, x), axes, keep)


def l2(b: Builder, x: Value, axes: Sequence[int] | None = None, keep: bool = True) -> Value:
    """The square root of the sum of squares."""
    return elementwise.sqrt(b, sum_square(b, x, axes, keep))


def log_sum(b: Builder, x: Value, axes: Sequence[int] | None = None, keep: bool = True) -> Value:
    return elementwise.log(b, sum_(b, x, axes, keep))


def log_sum_exp(b: Builder, x: Value, axes: Sequence[int] | None = None, keep: bool = True) -> Value:
    """Log-sum-exp; the largest element is subtracted before and added after, against overflow."""
    largest = maximum(b, x, axes, True)
    log = log_sum(b, elementwise.exp(b, elementwise.sub(b, x, largest)), axes, True)
    total = elementwise.add(b, log, largest)
    return total if keep else moves.squeeze(b, total, range(x.rank) if axes is None else axes)


REDUCTIONS: Mapping[str, Reduce] = {
    "mean": mean,
    "sum": sum_,
    "prod": product,
    "max": maximum,
    "min": minimum,
    "any": any_,
    "all": all_,
    "l1": l1,
    "l2": l2,
    "sum_square": sum_square,
    "log_sum": log_sum,
    "log_sum_exp": log_sum_exp,
}


def arg_max(
    b: Builder, x: Value, axis: int, *, keep: bool = True, last: bool = False, dtype: DType = DType.INT64
) -> Value:
    """Index of the largest element along an axis: of equal ones the first, or the last."""
    return _arg(b, ArgMax, x, axis, keep, last, dtype)


def arg_min(
    b: Builder, x: Value, axis: int, *, keep: bool = True, last: bool = False, dtype: DType = DType.INT64
) -> Value:
    """Index of the smallest element along an axis: of equal ones the first, or the last."""
    return _arg(b, ArgMin, x, axis, keep, last, dtype)


def _arg(b: Builder, kind: type[ArgMax | ArgMin], x: Value, axis: int, keep: bool, last: bool, dtype: DType) -> Value:
    axis = x.axis(axis)
    if last:
        from_end = _arg(b, kind, moves.flip(b, x, [axis]), axis, keep, False, dtype)
        return elementwise.sub(b, elementwise.scalar(b, x.shape[axis] - 1, dtype), from_end)
    source, atoms, where = _along(b, x, axis)
    sizes = b.tensors[source].shape
    made = b.op(kind, [source], (*sizes[:where], *sizes[where + 1 :]), dtype, axis=where)
    shape = tuple(1 if a == axis else n for a, n in enumerate(x.shape))
    value = b.value(made, shape, [atom for atom in atoms if atom.axis != axis])
    return value if keep else moves.squeeze(b, value, [axis])


def _along(b: Builder, x: Value, axis: int) -> tuple[int, list[Atom], int]:
    """A value one of whose stored axes is this axis, its atoms, and the index of that stored axis."""
    atoms = gathered([Atom(a, 0, n) for a, n in enumerate(x.shape)] if x.constant else x.atoms, axis)
    source = b.ordered(x, atoms, tuple(atom.size for atom in atoms))
    return source, atoms, next(i for i, atom in enumerate(atoms) if atom.axis == axis)


def cumulative_sum(b: Builder, x: Value, axis: int, *, exclusive: bool = False, reverse: bool = False) -> Value:
    """Cumulative sums along an axis."""
    source, atoms, where = _along(b, x, x.axis(axis))
    shape = b.tensors[source].shape
    made = b.op(CumSum, [source], shape, axis=where, exclusive=exclusive, reverse=reverse)
    return b.value(made, x.shape, atoms)


def top_k(b: Builder, x: Value, k: int, axis: int = -1, *, largest: bool = True) -> tuple[Value, Value]:
    """The k largest (or smallest) elements along an axis in order, and their indices as int32."""
    axis = x.axis(axis)
    if not 1 <= k <= x.shape[axis]:
        raise UnsupportedNodeError(f"{k} elements do not fit an axis of {x.shape[axis]}")
    given = x if largest else elementwise.neg(b, x)
    source, leading, own = with_last(b, given, axis, exact=True)
    stored = (*b.tensors[source].shape[:-1], k)
    atoms = [*leading, *([replace(own[0], size=k)] if own else [Atom(axis, 0, k)])]
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    values = b.value(b.op(TopK, [source], stored, k=k), shape, atoms)
    indices = b.value(b.op(TopK, [source], stored, DType.INT32, k=k, indices=True), shape, atoms)
    return (values if largest else elementwise.neg(b, values)), indices


def one_hot(b: Builder, indices: Value, depth: int, axis: int = -1) -> Value:
    """Boolean one-hot encoding of indices along a new axis."""
    at = axis + indices.rank + 1 if axis < 0 else axis
    wide = moves.unsqueeze(b, indices, [at])
    counted = np.arange(depth, dtype=indices.dtype.numpy).reshape(-1, *[1] * (wide.rank - at - 1))
    return elementwise.equal(b, wide, b.constant(counted))
