"""A common layout for several values, so that element-wise operators need as few transposes as possible."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build.builder import Builder, Value
from mote.ir.graph.element_order import Atom
from mote.ir.graph.tensor import Shape


@dataclass(frozen=True)
class Together:
    """Tensors that broadcast in Mote's operators; their result has the stored shape `stored`, and is a value of the
    shape `shape` with these atoms."""

    tensors: list[int]
    stored: Shape
    shape: Shape
    atoms: list[Atom]


def together(b: Builder, *values: Value) -> Together:
    """Values broadcast as in NumPy, in the layout of the largest computed one."""
    shape = broadcast(*(v.shape for v in values))
    wide = [widened(v, len(shape)) for v in values]
    atoms = common_order(wide, shape)
    largest = max((v for v in wide if not v.constant), key=lambda v: v.size, default=None)
    stored = [] if largest is None else stored_groups(atoms, b.tensors[largest.tensor].shape)
    if not stored or any(_mixed(v.shape, group) for v in wide for group in stored):
        stored = _joined([v.shape for v in wide], atoms)
    tensors = []
    for v in wide:
        own = [atom for atom in atoms if v.shape[atom.axis] != 1]
        sizes = (prod(atom.size for atom in group) if _present(v.shape, group) else 1 for group in stored)
        tensors.append(b.ordered(v, own, tuple(sizes)))
    return Together(tensors, tuple(prod(a.size for a in group) for group in stored), shape, atoms)


def broadcast(*shapes: Shape) -> Shape:
    """The broadcast shape of values."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise UnsupportedNodeError(f"values of the shapes {' and '.join(map(str, shapes))} do not fit") from None


def widened(value: Value, rank: int) -> Value:
    """A value with leading axes of size 1."""
    shape = (1,) * (rank - value.rank) + value.shape
    return replace(value, shape=shape, data=None if value.data is None else value.data.reshape(shape))


def common_order(values: Sequence[Value], shape: Shape) -> list[Atom]:
    """The atoms of a value of that shape, in the layout of the largest computed value; axes that it lacks are placed as
    in the next of the values, or as in the file."""
    computed = sorted((v for v in values if not v.constant), key=lambda v: -v.size)
    order: list[Atom] = []
    for v in computed:
        have = {atom.axis for atom in order}
        new = [atom for atom in v.atoms if atom.axis not in have]
        order = inserted(order, new) if order else new
    have = {atom.axis for atom in order}
    return inserted(order, [Atom(a, 0, n) for a, n in enumerate(shape) if n != 1 and a not in have])


def inserted(order: Sequence[Atom], new: Sequence[Atom]) -> list[Atom]:
    """More atoms inserted into an order: each before those of the next axis, or after those of the previous one."""
    whole = list(order)
    for atom in new:
        axes = [other.axis for other in whole]
        following = min((axis for axis in axes if axis > atom.axis), default=None)
        before = max((axis for axis in axes if axis < atom.axis), default=None)
        if following is not None:
            at = axes.index(following)
        else:
            at = len(axes) if before is None else len(axes) - axes[::-1].index(before)
        whole.insert(at, atom)
    return whole


def _present(shape: Shape, group: Sequence[Atom]) -> bool:
    return any(shape[atom.axis] != 1 for atom in group)


def _mixed(shape: Shape, group: Sequence[Atom]) -> bool:
    """Whether a value has some of these atoms, and broadcasts along others."""
    return len({shape[atom.axis] != 1 for atom in group}) > 1


def stored_groups(atoms: Sequence[Atom], stored: Shape) -> list[list[Atom]]:
    """The atoms of each stored axis; empty where an axis ends within an atom."""
    groups: list[list[Atom]] = []
    rest = list(atoms)
    for n in stored:
        group: list[Atom] = []
        while rest and prod(a.size for a in group) < n:
            group.append(rest.pop(0))
        if prod(a.size for a in group) != n:
            return []
        groups.append(group)
    return groups if not rest else []


def _joined(shapes: Sequence[Shape], atoms: Sequence[Atom]) -> list[list[Atom]]:
    """Adjacent axes that all values have, or broadcast along, merged into one."""
    groups: list[list[Atom]] = [[atom] for atom in atoms[:1]]
    for before, atom in pairwise(atoms):
        alike = all((shape[before.axis] != 1) == (shape[atom.axis] != 1) for shape in shapes)
        if alike:
            groups[-1].append(atom)
        else:
            groups.append([atom])
    return groups


def gathered(atoms: Sequence[Atom], axis: int) -> list[Atom]:
    """The atoms with those of one axis joined at the position of the last of them; an axis without atoms gets one of
    size 1."""
    own = [i for i, atom in enumerate(atoms) if atom.axis == axis]
    joined = Atom(axis, 0, prod(atoms[i].size for i in own))
    if not own:
        return inserted(atoms, [joined])
    return [joined if i == own[-1] else atom for i, atom in enumerate(atoms) if i not in own[:-1]]


def with_last(b: Builder, value: Value, axis: int, *, exact: bool = False) -> tuple[int, list[Atom], list[Atom]]:
    """A value with an axis stored last, under a shape that ends with it: the tensor, the atoms before it, and those of
    the axis, which may be in any order unless the order must be exact."""
    atoms = [Atom(a, 0, n) for a, n in enumerate(value.shape) if n != 1] if value.constant else value.atoms
    leading = [atom for atom in atoms if atom.axis != axis]
    own = [atom for atom in atoms if atom.axis == axis]
    if exact or atoms != [*leading, *own]:
        own = sorted(own)
    depth = value.shape[axis]
    wanted = [*leading, *own]
    stored: Shape = (prod(atom.size for atom in leading), depth)
    if not value.constant and atoms == wanted and (shape := b.tensors[value.tensor].shape) and shape[-1] == depth:
        stored = shape
    return b.ordered(value, wanted, stored), leading, own


def stored_axes(b: Builder, value: Value, atoms: Sequence[Atom], apart: Collection[Atom]) -> list[list[Atom]]:
    """The stored axes of a computed value whose atoms are in this order, such that some atoms are axes of their own:
    those of its tensor where possible."""
    groups = stored_groups(atoms, b.tensors[value.tensor].shape)
    if groups and all(len(group) == 1 or not set(group) & set(apart) for group in groups):
        return groups
    return [[atom] for atom in atoms]


def sizes_of(groups: Sequence[Sequence[Atom]]) -> Shape:
    """The sizes of stored axes."""
    return tuple(prod(atom.size for atom in group) for group in groups)
