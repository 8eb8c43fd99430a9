"""Elements that indices name which are computed at run time."""

from __future__ import annotations

from dataclasses import replace

from mote.errors import UnsupportedNodeError
from mote.frontends.build import elementwise, moves
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.orders import gathered
from mote.graph.arrangement import Atom
from mote.graph.types import DType
from mote.ops.lookup import Gather, GatherNd


def gather(b: Builder, value: Value, axis: int, indices: Value, *, from_end: bool = False) -> Value:
    """The elements along an axis that indices name, under the shape of the indices. `from_end`: negative ones count
    from the end. What lies outside is zeros."""
    axis = value.axis(axis)
    if indices.constant:
        return moves.gather(b, value, axis, indices)
    if from_end:
        indices = wrapped(b, indices, value.shape[axis])
    counted = [Atom(a, 0, n) for a, n in enumerate(value.shape)]
    atoms = gathered(counted if value.constant else value.atoms, axis)
    where = next(i for i, atom in enumerate(atoms) if atom.axis == axis)
    sizes = tuple(atom.size for atom in atoms)
    source, at = b.ordered(value, atoms, sizes), b.plain(indices)
    stored = (*sizes[:where], *indices.shape, *sizes[where + 1 :])
    made = b.op(Gather, [source, at], stored, value.dtype, quant=b.tensors[source].quant, axis=where)
    more = indices.rank - 1
    new = [Atom(axis + i, 0, n) for i, n in enumerate(indices.shape)]
    moved = [replace(a, axis=a.axis + more) if a.axis > axis else a for a in atoms]
    shape = (*value.shape[:axis], *indices.shape, *value.shape[axis + 1 :])
    return b.value(made, shape, [*moved[:where], *new, *moved[where + 1 :]])


def wrapped(b: Builder, indices: Value, size: int) -> Value:
    """Indices of which negative ones count from the end of an axis, as those from its beginning."""
    if indices.dtype not in (DType.INT32, DType.INT64):
        raise UnsupportedNodeError(f"{indices.dtype} indices are not supported")
    below = elementwise.less(b, indices, elementwise.scalar(b, 0, indices.dtype))
    return elementwise.where(b, below, elementwise.scaled(b, indices, 1, size), indices)


def gather_nd(b: Builder, value: Value, indices: Value) -> Value:
    """The parts of a value that tuples of indices name, along its first axes."""
    depth = indices.shape[-1] if indices.shape else 0
    if not 1 <= depth <= value.rank:
        raise UnsupportedNodeError(f"indices of {indices.shape} do not fit a value of {value.shape}")
    shape = (*indices.shape[:-1], *value.shape[depth:])
    inputs = [b.plain(value), b.plain(indices)]
    return b.value(b.op(GatherNd, inputs, shape, value.dtype, quant=b.tensors[inputs[0]].quant), shape)
