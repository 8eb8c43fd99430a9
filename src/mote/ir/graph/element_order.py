"""Memory layout of a tensor's elements, independent of the shape in the model's file.

The axes of a value are split into atoms (factors of an axis). A transpose reorders the atoms, a reshape groups them
differently: neither moves an element. A stored tensor keeps its own order of the same atoms, so that a network trained
with channels first is computed with channels last, without copies in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Sizes = tuple[int, ...]


@dataclass(frozen=True, order=True)
class Atom:
    """A factor of an axis: factor number `place` of axis `axis`, of `size` elements; the last factor has the smallest
    stride."""

    axis: int
    place: int
    size: int


@dataclass(frozen=True)
class ElementOrder:
    """Layout of a value. `atoms`: sizes of the atoms in logical row-major order (consecutive ones form the axes);
    `order`: the permutation in which they are stored. Atoms of size 1 are dropped and atoms that are neighbours in both
    orders merged, so that two layouts are equal if they store a value alike."""

    atoms: Sizes
    order: Sizes

    @classmethod
    def plain(cls, size: int) -> ElementOrder:
        """The order of a value that is stored contiguously in row-major order."""
        return cls((), ()) if size == 1 else cls((size,), (0,))

    @classmethod
    def of(cls, stored: Sequence[Atom]) -> ElementOrder:
        """Layout from the atoms of all axes, listed in storage order."""
        counted = sorted(stored)
        sizes = tuple(atom.size for atom in counted)
        return cls(sizes, tuple(counted.index(atom) for atom in stored)).canonical()

    @property
    def is_plain(self) -> bool:
        """Whether the layout is row-major: elements are stored in logical order."""
        return len(self.atoms) < 2

    def canonical(self) -> ElementOrder:
        """Canonical form: atoms of size 1 dropped, neighbours merged."""
        kept = [i for i in self.order if self.atoms[i] != 1]
        real = sorted(kept)
        order = [real.index(i) for i in kept]
        first = [i for at, i in enumerate(order) if at == 0 or i != order[at - 1] + 1]
        begins = sorted(first)
        sizes = [self.atoms[i] for i in real]
        joined = tuple(prod(sizes[a:b]) for a, b in pairwise([*begins, len(sizes)]))
        return ElementOrder(joined, tuple(begins.index(i) for i in first))

    def split(self, shape: Sizes) -> list[Atom] | None:
        """The atoms of a value of this shape, in storage order; None if an axis boundary would cut an atom at a point
        that does not divide it."""
        cuts = sorted({*_suffix_products(self.atoms), *_suffix_products(shape)}, reverse=True)
        if any(a % b for a, b in pairwise(cuts)):
            return None
        atoms = [(a // b, b) for a, b in pairwise(cuts)]
        ends = _suffix_products(shape)
        places: dict[int, int] = {}
        named = []
        for size, behind in atoms:
            axis = next(i for i in range(len(shape)) if ends[i + 1] <= behind < ends[i])
            named.append(Atom(axis, places.setdefault(axis, 0), size))
            places[axis] += 1
        own = _suffix_products(self.atoms)
        return [
            atom
            for i in self.order
            for atom, (_, behind) in zip(named, atoms, strict=True)
            if own[i + 1] <= behind < own[i]
        ]

    def move(self, to: ElementOrder) -> tuple[Sizes, Sizes] | None:
        """Shape and permutation of the transpose that converts data in this layout to layout `to` of the same value;
        None if their atoms are incompatible."""
        origin, targets = self.split(to.atoms), to.split(self.atoms)
        if origin is None or targets is None:
            return None
        counted, others = sorted(origin), sorted(targets)
        numbers = [counted.index(atom) for atom in origin]
        runs: list[list[int]] = []
        for number in (others.index(atom) for atom in targets):
            at = numbers.index(number)
            if runs and at and numbers[at - 1] == runs[-1][-1]:
                runs[-1].append(number)
            else:
                runs.append([number])
        sources = sorted(runs, key=lambda run: numbers.index(run[0]))
        sizes = tuple(prod(counted[i].size for i in run) for run in sources)
        return sizes, tuple(sources.index(run) for run in runs)

    def stored(self, value: NDArray[Any], shape: Sizes) -> NDArray[Any]:
        """Convert a logical value to this layout, in the storing tensor's shape."""
        return value.reshape(self.atoms).transpose(self.order).reshape(shape)

    def logical(self, stored: NDArray[Any], shape: Sizes) -> NDArray[Any]:
        """Convert an array in this layout to the logical value, in the value's shape."""
        moved = stored.reshape([self.atoms[i] for i in self.order])
        return moved.transpose(np.argsort(self.order, kind="stable")).reshape(shape)


def permuted_axes(shape: Sizes, wanted: Sizes, sizes: Sizes, permutation: Sizes) -> tuple[Sizes, Sizes] | None:
    """Express a transpose of blocks (`sizes`, `permutation`) as a permutation of the axes of a tensor of this shape,
    with result shape `wanted`: images keep their rows, where a matrix of blocks has a row per pixel. None if no axis
    permutation does it."""
    blocks: list[list[int]] = []
    axes = [axis for axis, n in enumerate(shape) if n != 1]
    for size in sizes:
        block: list[int] = []
        while axes and prod(shape[a] for a in block) < size:
            block.append(axes.pop(0))
        if prod(shape[a] for a in block) != size:
            return None
        blocks.append(block)
    moved = [axis for block in permutation for axis in blocks[block]]
    single = [axis for axis, n in enumerate(shape) if n == 1]
    if [shape[axis] for axis in moved] != [n for n in wanted if n != 1] or len(shape) != len(wanted):
        return None
    return shape, tuple((single if n == 1 else moved).pop(0) for n in wanted)


def _suffix_products(sizes: Sizes) -> list[int]:
    """Products of the sizes from each axis to the last, then 1: the total size, followed by the stride of each axis."""
    return [prod(sizes[i:]) for i in range(len(sizes) + 1)]
