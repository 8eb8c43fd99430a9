"""Decision forests as tables for kernels: features as quantized codes, and trees as lists of small integers (see
`mote_forest.h`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Refusal
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.classical.forest import Trees

Key = tuple[int, bool]
"""A feature, and whether NaN counts as lower than all thresholds (instead of higher)."""


@dataclass(frozen=True)
class Width:
    """Bit widths of the integers in a forest's tables."""

    bits: int
    """Width of a feature code and of a tree element."""
    wide: int
    """Width of feature indices, of counts of thresholds, and of tree sizes."""

    @property
    def most(self) -> int:
        return (1 << min(self.bits, 31)) - 1

    @property
    def code(self) -> np.dtype[np.generic]:
        return np.dtype(f"uint{self.bits}")

    @property
    def number(self) -> np.dtype[np.generic]:
        return np.dtype(f"uint{self.wide}")


BYTES, HALVES, WORDS = Width(8, 16), Width(16, 16), Width(32, 32)
JUMP = 1
"""One number after the slots is reserved: it marks a jump."""
LEAST_SHARED = 8
"""Minimum size of a shared subtree, in elements, that is jumped to instead of being duplicated."""
LARGEST = 1 << 24
"""Maximum number of elements in a table."""


@dataclass(frozen=True, eq=False)
class Slot:
    """A feature together with an ascending list of thresholds, to be replaced by one integer code."""

    key: Key
    thresholds: Ints
    most: int
    spread: bool
    """Whether the code is the rank among the listed thresholds; otherwise it is the distance from the first
    threshold."""

    def code(self, threshold: int) -> int:
        """The largest code of values that are <= `threshold`."""
        return int(np.searchsorted(self.thresholds, threshold)) if self.spread else threshold - int(self.thresholds[0])

    @property
    def listed(self) -> Ints:
        return self.thresholds if self.spread else self.thresholds[:1]

    def codes(self, keys: Ints) -> Ints:
        """The codes of feature values (as `keys_of`), as the C code computes them."""
        ranks = np.searchsorted(self.thresholds, keys) if self.spread else keys - self.thresholds[0]
        return np.asarray(np.clip(ranks, 0, self.most), np.int64)


def keys_of(values: Array) -> Ints:
    """Maps values to integers of the same order: the bit patterns of floats, mapped so that they sort; -0.0 sorts
    directly before 0.0."""
    if values.dtype != np.float32:
        return values.astype(np.int64)
    bits = values.view(np.int32).astype(np.int64)
    return np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)


@dataclass(frozen=True, eq=False)
class Slots:
    """All slots of a forest, and for each node the slot that it tests and the largest code that passes."""

    slots: tuple[Slot, ...]
    slot: Ints
    code: Ints
    count: int
    """Number of slots; the number of features if features are compared without codes."""
    bytes: int = 1
    """Elements that a threshold takes in a tree."""

    def ordered(self, order: Sequence[int]) -> Slots:
        """A copy with the slots (feature and thresholds) in another order, and nodes referring to their new
        positions."""
        place = np.argsort(np.array(order, np.int64))
        return replace(self, slots=tuple(self.slots[i] for i in order), slot=place[self.slot])

    @property
    def thresholds(self) -> Ints:
        return np.concatenate([s.listed for s in self.slots]) if self.slots else np.zeros(0, np.int64)

    @property
    def described(self) -> Ints:
        """Slot table as in C: for each slot 2 * feature + the NaN flag, and the number of listed thresholds."""
        pairs = [(2 * s.key[0] + s.key[1], len(s.thresholds) if s.spread else 0) for s in self.slots]
        return np.array(pairs, np.int64).reshape(-1)


def slots_of(trees: Trees, width: Width, dtype: DType) -> Slots:
    """Slots with feature codes: each feature's thresholds, split where one code has too few values for all."""
    keys = keys_of(trees.threshold)
    slot, code = np.zeros(trees.nodes, np.int64), np.zeros(trees.nodes, np.int64)
    slots: list[Slot] = []
    for feature, missing in sorted(set(zip(trees.feature.tolist(), trees.missing.tolist(), strict=True))):
        (nodes,) = np.nonzero((trees.feature == feature) & (trees.missing == missing))
        thresholds = np.unique(keys[nodes])
        for part in _parts(thresholds, width, dtype):
            here = nodes[(keys[nodes] >= part[0]) & (keys[nodes] <= part[-1])]
            made = Slot((feature, missing), part, width.most, _spread(part, width, dtype))
            slot[here] = len(slots)
            code[here] = [made.code(t) for t in keys[here].tolist()]
            slots.append(made)
    return Slots(tuple(slots), slot, code, len(slots))


def plain_slots(trees: Trees, dtype: DType) -> Slots:
    """Slots for kernels that compare features themselves, with thresholds of as many bytes as needed."""
    keys = keys_of(trees.threshold)
    return Slots((), trees.feature, keys, trees.features, plain_type(keys, dtype)[1])


def plain_type(keys: Ints, dtype: DType) -> tuple[str, int]:
    """The smallest element type that holds all thresholds: its name in C macros, and its size in bytes."""
    low, high = int(keys.min(initial=0)), int(keys.max(initial=0))
    for name in (DType.UINT8, DType.INT8, DType.INT16):
        if dtype != DType.FLOAT32 and name.limits[0] <= low and high <= name.limits[1]:
            return SHORT[name], name.itemsize
    return SHORT[DType.INT32], 4


SHORT = {DType.UINT8: "U8", DType.INT8: "S8", DType.INT16: "S16", DType.INT32: "S32"}


def _spread(thresholds: Ints, width: Width, dtype: DType) -> bool:
    return dtype == DType.FLOAT32 or int(thresholds[-1] - thresholds[0]) >= width.most


def _parts(thresholds: Ints, width: Width, dtype: DType) -> list[Ints]:
    """Splits a feature's thresholds into as many slots as code values require."""
    if not _spread(thresholds, width, dtype):
        return [thresholds]
    count = -(-len(thresholds) // width.most)
    return np.array_split(thresholds, count)


@dataclass(frozen=True, eq=False)
class ForestTable:
    """A forest encoded as lists of elements, one per tree, with the parameters to decode them."""

    width: Width
    slots: Slots
    near: int
    far: int
    more: int
    elements: Array
    sizes: Ints
    leaves: Ints
    """For each leaf of the table, a leaf of the original trees with the same value."""

    def walk(self, codes: Ints) -> Ints:
        """The leaf of every tree for given slot codes; a model of the C code."""
        root, reached = 0, []
        for size in self.sizes.tolist():
            at = root
            while (slot := int(self.elements[at])) < self.far:
                is_far = slot >= self.near
                skip = int(self.elements[at + 2]) | (int(self.elements[at + 3]) << self.width.bits if is_far else 0)
                tested = slot - self.near - JUMP if is_far else slot
                yes = tested >= 0 and codes[tested] <= self.elements[at + 1]
                at += 3 + is_far + (0 if yes else skip)
            leaf = slot - self.far
            reached.append(leaf << self.more | int(self.elements[at + 1]) if self.more else leaf)
            root += size
        return self.leaves[reached]


def table_of(trees: Trees, slots: Slots, width: Width, leaves: Ints) -> ForestTable | Refusal:
    """Encodes a forest. `leaves` maps each leaf of the trees to a leaf of the table; equal leaves are shared."""
    if max(int(slots.thresholds.size), 2 * trees.features + 1) >= 1 << width.wide:
        return Refusal(f"it has more features or thresholds than {width.wide} bits can count")
    count = int(leaves.max(initial=-1)) + 1
    for more in dict.fromkeys((0, width.bits if width is not WORDS else 0)):
        encoder = _TableEncoder(trees, slots, leaves, width, 2 if more else 1).encoded()
        marks = -(-count // (1 << more))
        if slots.count + JUMP + len(encoder.numbers) + marks <= width.most + 1 and encoder.fits:
            return encoder.table(more)
    return Refusal(f"its slots and leaves are more than {width.bits} bits can count")


@dataclass
class _TableEncoder:
    """Encoder that writes the table from its end to its start, so that the targets of all forward skips are known.
    Elements are kept symbolic until slots are numbered."""

    trees: Trees
    slots: Slots
    leaves: Ints
    width: Width
    leaf_size: int
    elements: list[tuple[str, int]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    """Number of elements of each tree."""
    far_slots: set[int] = field(default_factory=set)
    """Slots tested by nodes whose skip distance takes two elements."""
    positions: dict[int, int] = field(default_factory=dict)
    """Position of each encoded node, counted from the end of the table."""
    fits: bool = True

    def encoded(self) -> _TableEncoder:
        for root in reversed(self.trees.roots.tolist()):
            before = len(self.elements)
            self._tree(root)
            self.sizes.insert(0, len(self.elements) - before)
        self.fits &= max(self.sizes, default=0) < 1 << self.width.wide
        return self

    @cached_property
    def _bounds(self) -> NDArray[np.float64]:
        """Upper bound for the elements of each node's subtree, if nothing is shared."""
        bounds = np.zeros(self.trees.nodes)
        for i in reversed(range(self.trees.nodes)):
            sides = (self.trees.yes[i], self.trees.no[i])
            bounds[i] = 3 + self.slots.bytes + sum(bounds[r] if r >= 0 else self.leaf_size for r in sides)
        return bounds

    def _tree(self, root: int) -> None:
        ahead: list[tuple[str, int, int]] = [("enter", root, 0)]
        while ahead:
            what, reference, no = ahead.pop()
            self.fits &= len(self.elements) < LARGEST
            if not self.fits:
                return
            if what == "enter" and reference < 0:
                leaf = int(self.leaves[~reference])
                self.elements += [("rest", leaf), ("leaf", leaf)][2 - self.leaf_size :]
            elif what == "enter":
                there = self._shared_no(reference)
                after = ("yes", reference, there if there is not None else -1)
                ahead += [after] if there is not None else [after, ("enter", int(self.trees.no[reference]), 0)]
            elif what == "yes":
                begin = len(self.elements) if no < 0 else no
                ahead.append(("node", reference, begin))
                if not self._jump_to_yes(int(self.trees.yes[reference])):
                    ahead.append(("enter", int(self.trees.yes[reference]), 0))
            else:
                self._node(reference, len(self.elements) - no)

    def _shared_no(self, node: int) -> int | None:
        """Position of a node's "no" subtree if it is already in the table and close enough to skip to; otherwise
        None."""
        no, yes = int(self.trees.no[node]), int(self.trees.yes[node])
        there = self.positions.get(no)
        if no < 0 or there is None:
            return None
        between = len(self.elements) + (self._bounds[yes] if yes >= 0 else self.leaf_size) - there
        return there if between < self._skip_limit else None

    def _jump_to_yes(self, reference: int) -> bool:
        """Writes a jump to the "yes" subtree if it is already in the table, close enough and large enough; returns
        whether it did."""
        if reference < 0 or reference not in self.positions or self._bounds[reference] < LEAST_SHARED:
            return False
        distance = len(self.elements) - self.positions[reference]
        if self.width is WORDS or distance >= self._skip_limit:
            return False
        low, high = distance & self.width.most, distance >> self.width.bits
        self.elements += [("number", high), ("number", low), *[("number", 0)] * self.slots.bytes, ("jump", 0)]
        return True

    @property
    def numbers(self) -> range:
        """The numbers reserved for slots with two-element skip distances. With feature codes these slots come first;
        otherwise features keep their order."""
        return range(len(self.far_slots) if self.slots.slots else max(self.far_slots, default=-1) + 1)

    @property
    def _skip_limit(self) -> int:
        """Exclusive upper limit of the distance, in elements, that a node can skip."""
        return 1 << min(2 * self.width.bits, 31)

    def _node(self, node: int, skip: int) -> None:
        slot, code = int(self.slots.slot[node]), int(self.slots.code[node])
        threshold = [("number", code >> 8 * i & 0xFF) for i in reversed(range(self.slots.bytes))]
        threshold = [("number", code)] if self.slots.slots else threshold
        if skip <= self.width.most:
            self.elements += [("number", skip), *threshold, ("near", slot)]
        else:
            self.fits &= self.width is not WORDS and skip < self._skip_limit
            low, high = skip & self.width.most, skip >> self.width.bits
            self.elements += [("number", high), ("number", low), *threshold, ("far", slot)]
            self.far_slots.add(slot)
        self.positions[node] = len(self.elements)

    def table(self, more: int) -> ForestTable:
        order = sorted(range(self.slots.count), key=lambda i: i not in self.far_slots) if self.slots.slots else []
        near = self.slots.count
        far = near + JUMP + len(self.numbers)
        place = {slot: i for i, slot in enumerate(order or range(near))}

        def written(what: str, n: int) -> int:
            match what:
                case "near":
                    return place[n]
                case "far":
                    return near + JUMP + place[n]
                case "jump":
                    return near
                case "leaf":
                    return far + (n >> more)
                case "rest":
                    return n & ((1 << more) - 1)
            return n

        elements = np.array([written(what, n) for what, n in reversed(self.elements)], self.width.code)
        first = np.zeros(int(self.leaves.max(initial=-1)) + 1, np.int64)
        first[self.leaves] = np.arange(len(self.leaves), dtype=np.int64)
        slots = self.slots.ordered(order) if order else self.slots
        return ForestTable(self.width, slots, near, far, more, elements, np.array(self.sizes, np.int64), first)
