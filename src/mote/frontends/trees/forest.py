"""A forest as formats describe it, and the tables that the operator has of it.

A node divides the numbers that a feature can have at some bounds, and leads each part to a child of its own; what is no
number goes to one of them too. That covers every question of every format: `x < t` is a bound just below `t`, a set of
categories has bounds around each of them. Bounds are exact: they are held as float64, and rounded down to the type of
the features, which changes the decision for no value of that type.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.classical.forest import LARGEST, Trees

EXACT = 1 << 24
"""All integers up to this are exact in float32."""
COMMON = 4096
"""Largest common denominator that is tried for the leaves."""


@dataclass(frozen=True)
class TreeNode:
    """A node: `children[i]` is for values above `bounds[i - 1]` and at most `bounds[i]`; bounds ascend."""

    feature: int
    bounds: tuple[float, ...]
    children: tuple[int, ...]
    missing: int
    """The child for NaN."""


@dataclass(frozen=True)
class Leaf:
    """A leaf, whose values are added to the outputs from `column` on."""

    column: int
    values: tuple[float, ...]


Tree = Sequence[TreeNode | Leaf]
"""A tree; children are node indices, and node 0 is the root."""


class Link(StrEnum):
    """Link function on the sums."""

    IDENTITY = "identity"
    LOGISTIC = "logistic"
    SOFTMAX = "softmax"
    EXP = "exp"
    HINGE = "hinge"
    """1 where the sum is above zero, else 0."""
    SOFTPLUS = "softplus"
    """log(1 + exp(x))."""
    SQUARE = "square"
    """x * |x|."""
    ISOLATION = "isolation"
    """-(2 ^ -x)."""


@dataclass(frozen=True)
class TreeEnsemble:
    """Trees with the format's treatment of the sums of their leaves."""

    features: int
    trees: Sequence[Tree]
    base: tuple[float, ...]
    """Initial sums, one for each output."""
    divisor: float = 1.0
    """Divisor of the sums: the number of trees, where leaves are averaged."""
    doubles: bool = True
    """Whether the format adds float64: integers in small units are as exact. Else it adds float32, one tree after
    another."""
    missing: bool = True
    """Whether features may be NaN."""
    link: Link = Link.IDENTITY
    slope: float = 1.0
    """Factor of the sums before the link."""
    classes: tuple[int | str, ...] | None = None
    """The classes; None for a regressor. With two classes and one sum, the second class is chosen where the sum is
    above `cut`."""
    cut: float = 0.0
    offset: float = 0.0
    """Offset that is added after the link; with the isolation link the class depends on it."""
    names: tuple[str, ...] = ()
    """Feature names, where the format has them."""


@dataclass(frozen=True, eq=False)
class Grown:
    """The tables, and the unit of their sums."""

    trees: Trees
    units: float
    """Units per 1 of the sums; 1 where sums are float."""


def check_tree(tree: Tree, features: int, outputs: int) -> None:
    """Refuse malformed trees: every node but the root has one parent, features and outputs exist, and values are
    finite."""
    parents = [0] * len(tree)
    if not tree:
        raise ValueError("a tree has no nodes")
    for node in tree:
        if isinstance(node, Leaf):
            if not 0 <= node.column <= outputs - len(node.values) or not all(map(math.isfinite, node.values)):
                raise ValueError("a leaf is of no output, or not finite")
            continue
        if not 0 <= node.feature < features:
            raise ValueError(f"a node tests feature {node.feature} of {features}")
        if any(math.isnan(bound) for bound in node.bounds) or list(node.bounds) != sorted(node.bounds):
            raise ValueError("a threshold is NaN")
        for child in {*node.children, node.missing}:
            if not 0 < child < len(tree):
                raise ValueError(f"a node leads to node {child} of {len(tree)}")
            parents[child] += 1
    reached = [0]
    for number in reached:
        node = tree[number]
        reached += [] if isinstance(node, Leaf) else sorted({*node.children, node.missing})
        if len(reached) > len(tree):
            break
    if max(parents) > 1 or len(reached) > len(tree):
        raise ValueError("the nodes are not a tree")


def below(threshold: float) -> float:
    """The bound for `x < threshold`."""
    return math.nextafter(threshold, -math.inf)


def only(feature: int, bound: float, yes: int, no: int, missing: int) -> TreeNode:
    """The usual node: one bound."""
    return TreeNode(feature, (bound,), (yes, no), missing)


def members(
    feature: int, intervals: Iterable[tuple[float, float]], inside: int, outside: int, missing: int
) -> TreeNode:
    """A node that leads values in one of some half-open intervals, (first, second], to `inside`."""
    bounds: list[float] = []
    children = [outside]
    for low, high in sorted(intervals):
        if bounds and low <= bounds[-1]:
            bounds[-1] = max(bounds[-1], high)
            continue
        bounds += [low, high]
        children += [inside, outside]
    return TreeNode(feature, tuple(bounds), tuple(children), missing)


def taken_for_missing(node: TreeNode, number: float) -> TreeNode:
    """A node that leads a number to where it leads NaN."""
    bounds = sorted({*node.bounds, below(number), number})
    children = [node.children[bisect_left(node.bounds, bound)] for bound in bounds]
    children[bounds.index(number)] = node.missing
    return TreeNode(node.feature, tuple(bounds), (*children, node.children[-1]), node.missing)


def category(number: int) -> tuple[float, float]:
    """The interval of numbers that truncate to a category."""
    return below(float(number)), below(float(number + 1))


def grow(forest: TreeEnsemble, dtype: DType) -> Grown:
    """The tables of a forest for a feature type: equal leaves and subtrees are shared, and redundant tests are
    removed."""
    leaves = [[node for node in tree if isinstance(node, Leaf)] for tree in forest.trees]
    narrow = _narrowed([leaf for tree in leaves for leaf in tree], len(forest.base))
    units = _units(forest, leaves)
    grower = _Grower(dtype, forest.missing and dtype == DType.FLOAT32, _stored(units))
    roots = [grower.tree(tree, narrow) for tree in forest.trees]
    return Grown(grower.finish(forest, roots, units), units or 1.0)


Narrow = Callable[[Leaf], Leaf]


def _narrowed(leaves: Sequence[Leaf], outputs: int) -> Narrow:
    """Leaves with equally many values: one where no leaf has more nonzero ones, else one for each output."""

    def single(leaf: Leaf) -> Leaf:
        at = next((i for i, value in enumerate(leaf.values) if value), 0)
        return Leaf(leaf.column + at, (leaf.values[at],)) if leaf.values[at] else Leaf(0, (0.0,))

    def whole(leaf: Leaf) -> Leaf:
        behind = outputs - leaf.column - len(leaf.values)
        return Leaf(0, (*[0.0] * leaf.column, *leaf.values, *[0.0] * behind))

    return single if all(sum(map(bool, leaf.values)) <= 1 for leaf in leaves) else whole


def _units(forest: TreeEnsemble, trees: Sequence[Sequence[Leaf]]) -> float | None:
    """Units per 1 with which the leaves are integers, exactly or nearly enough; None where sums are float32: because of
    the format, or because there is nothing to add."""
    values = {value for tree in trees for leaf in tree for value in leaf.values} | set(forest.base)
    if not all(map(math.isfinite, values)):
        return None
    reach = _reach(forest, trees)
    whole = all(value == round(value) for value in values)
    if whole and reach <= (LARGEST if forest.doubles else EXACT):
        return 1.0
    if not forest.doubles or len(trees) <= 1:
        return None
    if common := _denominator(values, LARGEST / reach):
        return float(common)
    return 2.0 ** math.floor(math.log2((LARGEST - len(trees) - 1) / reach))


def _reach(forest: TreeEnsemble, trees: Sequence[Sequence[Leaf]]) -> float:
    """The largest absolute value of the sums."""
    most = (max((abs(v) for leaf in tree for v in leaf.values), default=0.0) for tree in trees)
    return sum(most) + max(map(abs, forest.base), default=0.0)


def _denominator(values: Iterable[float], most: float) -> int | None:
    """The least common denominator of all values, where it is small."""
    denominator = 1
    for value in values:
        fraction = Fraction(value).limit_denominator(COMMON)
        if float(fraction) != value:
            return None
        denominator = math.lcm(denominator, fraction.denominator)
        if denominator > most:
            return None
    return denominator


def _stored(units: float | None) -> Callable[[float], float]:
    """A leaf's value in the tables."""
    return float if units is None else lambda value: round(value * units)


def rounded_down(bound: float, dtype: DType) -> float:
    """The largest number of a type that is not above a bound; for integers maybe one less than the smallest."""
    if dtype != DType.FLOAT32:
        low, high = dtype.limits
        return float(high) if bound >= high else float(max(math.floor(bound), low - 1)) if bound >= low - 1 else low - 1
    with np.errstate(over="ignore"):
        nearest = np.float32(bound)
    rounded = np.nextafter(nearest, np.float32(-np.inf)) if float(nearest) > bound else nearest
    return float(rounded) + 0.0


Known = dict[int, tuple[float | None, float, bool]]
"""Known bounds of features on the path to a node: lower, upper, and whether they may be NaN."""
Part = tuple[float, int]
"""The upper bound of an interval, and the reference that it leads to."""


@dataclass
class _Grower:
    """The tables of a forest under construction. A node is numbered after its children."""

    dtype: DType
    missing: bool
    stored: Callable[[float], float]
    nodes: dict[tuple[int, float, int, int, bool], int] = field(default_factory=dict)
    leaves: dict[tuple[int, tuple[float, ...]], int] = field(default_factory=dict)

    def leaf(self, leaf: Leaf) -> int:
        key = leaf.column, tuple(map(self.stored, leaf.values))
        return ~self.leaves.setdefault(key, len(self.leaves))

    def node(self, feature: int, bound: float, yes: int, no: int, missing: bool) -> int:
        if yes == no:
            return yes
        return self.nodes.setdefault((feature, bound, yes, no, missing), len(self.nodes))

    def tree(self, tree: Tree, narrow: Narrow) -> int:
        """The reference to a tree. Trees may be deep: this is not recursive."""
        results: list[int] = []
        ahead: list[tuple[int, Known, Sequence[int] | None]] = [(0, {}, None)]
        while ahead:
            number, known, entered = ahead.pop()
            node = tree[number]
            if isinstance(node, Leaf):
                results.append(self.leaf(narrow(node)))
            elif entered is None:
                ahead += self._entered(number, node, known)
            else:
                children = {child: results.pop() for child in reversed(entered)}
                results.append(self._left(node, known, children))
        (root,) = results
        return root

    def _entered(self, number: int, split: TreeNode, known: Known) -> list[tuple[int, Known, Sequence[int] | None]]:
        """The steps at a node, last first: its reachable children, and then the node itself."""
        low, high, missing = self._about(split.feature, known)
        parts = self._parts(split, low, high)
        children = list(dict.fromkeys([*(child for _, child in parts), *([split.missing] if missing else [])]))
        sides = dict.fromkeys(children, known)
        if len(parts) == 2 and len(children) == 2:
            (bound, first), (_, second) = parts
            sides[first] = known | {split.feature: (low, bound, missing and split.missing == first)}
            sides[second] = known | {split.feature: (bound, high, missing and split.missing == second)}
        after = [] if len(children) == 1 else [(number, known, tuple(children))]
        return [*after, *((child, sides[child], None) for child in reversed(children))]

    def _left(self, split: TreeNode, known: Known, children: Mapping[int, int]) -> int:
        """The reference to a node whose children are done."""
        low, high, missing = self._about(split.feature, known)
        parts: list[Part] = []
        for bound, child in self._parts(split, low, high):
            if parts and parts[-1][1] == children[child]:
                parts.pop()
            parts.append((bound, children[child]))
        absent = children[split.missing] if missing else None
        if absent is None or any(reference == absent for _, reference in parts):
            return self._between(split.feature, parts, absent)
        return self.node(split.feature, math.inf, self._between(split.feature, parts, None), absent, False)

    def _between(self, feature: int, parts: Sequence[Part], absent: int | None) -> int:
        """Single-bound tests that lead to one of some intervals."""
        if len(parts) == 1:
            return parts[0][1]
        middle = len(parts) // 2
        first, second = parts[:middle], parts[middle:]
        low = absent is not None and any(reference == absent for _, reference in first)
        yes = self._between(feature, first, absent if low else None)
        no = self._between(feature, second, None if low else absent)
        return self.node(feature, first[-1][0], yes, no, low)

    def _parts(self, split: TreeNode, low: float | None, high: float) -> list[Part]:
        """The intervals of a node that a feature in (low, high] can reach, or the one that it would reach if it were
        not NaN."""
        bounds = [*(rounded_down(b, self.dtype) for b in split.bounds), math.inf]
        parts: list[Part] = []
        for bound, child in zip(bounds, split.children, strict=True):
            if low is not None and bound <= low:
                continue
            if parts and parts[-1][1] == child:
                parts.pop()
            parts.append((bound, child))
            low = bound
            if bound >= high:
                break
        return parts

    def _about(self, feature: int, known: Known) -> tuple[float | None, float, bool]:
        if feature in known:
            return known[feature]
        if self.dtype == DType.FLOAT32:
            return None, math.inf, self.missing
        least, most = self.dtype.limits
        return least - 1, most, False

    def finish(self, forest: TreeEnsemble, roots: Sequence[int], units: float | None) -> Trees:
        count = len(self.nodes)

        def turned(references: Iterable[int]) -> NDArray[np.int64]:
            return np.array([count - 1 - r if r >= 0 else r for r in references], np.int64)

        keys = list(self.nodes)[::-1]
        leaves = list(self.leaves)
        dtype = np.float32 if units is None else np.int32
        base = [round(b * (units or 1)) if units else b for b in forest.base]
        return Trees(
            forest.features,
            np.array([key[0] for key in keys], np.int64),
            _typed([key[1] for key in keys], self.dtype),
            turned(key[2] for key in keys),
            turned(key[3] for key in keys),
            np.array([key[4] for key in keys], bool),
            turned(roots),
            np.array([column for column, _ in leaves], np.int64),
            np.array([values for _, values in leaves] or np.zeros((0, 1)), dtype),
            np.array(base, dtype),
            not self.missing,
        )


def _typed(bounds: Sequence[float], dtype: DType) -> Array:
    return np.array(bounds, dtype.numpy)
