"""A forest as formats describe it, and the tables that the operator has of it.

A node divides the numbers that a feature can have at some bounds, and leads each part to a child of its own; what is no
number goes to one of them too. That covers every question of every format: `x < t` is a bound just below `t`, a set of
categories has bounds around each of them. Bounds are exact: they are held as float64, and rounded down to the type of
the features, which changes the decision for no value of that type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mote.graph.tensor import Array
from mote.graph.types import DType
from mote.ops.forest import LARGEST, Trees

COMMON = 4096
"""Leaves that are fractions are looked for with denominators up to this."""


@dataclass(frozen=True)
class Split:
    """A node: `children[i]` is for what is above `bounds[i - 1]` and at most `bounds[i]`; bounds ascend."""

    feature: int
    bounds: tuple[float, ...]
    children: tuple[int, ...]
    missing: int
    """The child for what is no number."""


@dataclass(frozen=True)
class Leaf:
    """What is added to the outputs from `column` on."""

    column: int
    values: tuple[float, ...]


Tree = Sequence[Split | Leaf]
"""Children are numbers of nodes of the tree; node 0 is the root."""


class Link(StrEnum):
    """What is made of the sums."""

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
class Forest:
    """Trees with what the format does with the sums of their leaves."""

    features: int
    trees: Sequence[Tree]
    base: tuple[float, ...]
    """What the sums begin with, one for each output."""
    divisor: float = 1.0
    """What sums are divided by: the number of trees, where leaves are averaged."""
    doubles: bool = True
    """The format adds float64: integers in small units are as exact. Else it adds float32, one tree after another."""
    missing: bool = True
    """Features may be no numbers."""
    link: Link = Link.IDENTITY
    slope: float = 1.0
    """What sums are multiplied by before the link."""
    classes: tuple[int | str, ...] | None = None
    """The classes that it chooses from; None: it predicts numbers. Where there are two and one sum, the second class is
    chosen where that is above `cut`."""
    cut: float = 0.0
    offset: float = 0.0
    """What is added to what the link makes; where it is the link of isolation, the class depends on that."""
    names: tuple[str, ...] = ()
    """What features are called, where the format says."""


@dataclass(frozen=True, eq=False)
class Grown:
    """The tables, and what their sums are multiples of."""

    trees: Trees
    units: float
    """How many units of the sums are 1; 1 where they are real numbers."""


def below(threshold: float) -> float:
    """The bound for `x < threshold`."""
    return math.nextafter(threshold, -math.inf)


def only(feature: int, bound: float, yes: int, no: int, missing: int) -> Split:
    """The usual node: one bound."""
    return Split(feature, (bound,), (yes, no), missing)


def members(feature: int, intervals: Iterable[tuple[float, float]], inside: int, outside: int, missing: int) -> Split:
    """A node that leads to `inside` what lies above the first and at most the second bound of one of the intervals."""
    bounds: list[float] = []
    children = [outside]
    for low, high in sorted(intervals):
        if bounds and low <= bounds[-1]:
            bounds[-1] = max(bounds[-1], high)
            continue
        bounds += [low, high]
        children += [inside, outside]
    return Split(feature, tuple(bounds), tuple(children), missing)


def category(number: int) -> tuple[float, float]:
    """The numbers that become a category when what is behind the point is cut off, from below zero too."""
    return (-1.0 if number == 0 else below(float(number)), below(float(number + 1)))


def grow(forest: Forest, dtype: DType) -> Grown:
    """The tables of a forest over features of a type: leaves and subtrees that are the same are there once, and nothing
    is asked whose answer is known from what was asked before."""
    leaves = [node for tree in forest.trees for node in tree if isinstance(node, Leaf)]
    outputs = len(forest.base)
    narrow = _narrowed(leaves, outputs)
    units = _units(forest, [[leaf for leaf in tree if isinstance(leaf, Leaf)] for tree in forest.trees])
    grower = _Grower(dtype, forest.missing and dtype == DType.FLOAT32, _stored(units))
    roots = [grower.tree(tree, narrow) for tree in forest.trees]
    return Grown(grower.finish(forest, roots, units), units or 1.0)


Narrow = Callable[[Leaf], Leaf]


def _narrowed(leaves: Sequence[Leaf], outputs: int) -> Narrow:
    """How leaves are told so that all have the same number of values: one, where none has more that count, or one for
    each output."""

    def single(leaf: Leaf) -> Leaf:
        at = next((i for i, value in enumerate(leaf.values) if value), 0)
        return Leaf(leaf.column + at, (leaf.values[at],)) if leaf.values[at] else Leaf(0, (0.0,))

    def whole(leaf: Leaf) -> Leaf:
        behind = outputs - leaf.column - len(leaf.values)
        return Leaf(0, (*[0.0] * leaf.column, *leaf.values, *[0.0] * behind))

    return single if all(sum(map(bool, leaf.values)) <= 1 for leaf in leaves) else whole


def _units(forest: Forest, trees: Sequence[Sequence[Leaf]]) -> float | None:
    """How many units are 1, so that the leaves are whole numbers of them, or so near that it does not count; None where
    sums are float32 numbers: of the format, or because there is nothing to add."""
    values = {value for tree in trees for leaf in tree for value in leaf.values} | set(forest.base)
    if all(value == round(value) and abs(value) <= LARGEST for value in values if math.isfinite(value)):
        whole = _reach(forest, trees) <= LARGEST
    else:
        whole = False
    if whole and (forest.doubles or _exact_floats(forest, trees)):
        return 1.0
    if not forest.doubles or len(trees) <= 1 or not all(map(math.isfinite, values)):
        return None
    reach = _reach(forest, trees)
    if common := _denominator(values, LARGEST / max(reach, 1e-30)):
        return float(common)
    room = (LARGEST - len(trees) - 1) / reach
    return 2.0 ** math.floor(math.log2(room))


def _exact_floats(forest: Forest, trees: Sequence[Sequence[Leaf]]) -> bool:
    """Whether float32 sums of whole numbers are exact."""
    return _reach(forest, trees) <= 1 << 24


def _reach(forest: Forest, trees: Sequence[Sequence[Leaf]]) -> float:
    """How far sums go at most."""
    most = (max((abs(v) for leaf in tree for v in leaf.values), default=0.0) for tree in trees)
    return sum(most) + max(map(abs, forest.base), default=0.0)


def _denominator(values: Iterable[float], most: float) -> int | None:
    """The least number that makes whole numbers of all values, where all are fractions with small denominators."""
    found = 1
    for value in values:
        fraction = Fraction(value).limit_denominator(COMMON)
        if float(fraction) != value:
            return None
        found = math.lcm(found, fraction.denominator)
        if found > most:
            return None
    return found


def _stored(units: float | None) -> Callable[[float], float]:
    """A leaf's value as the tables have it."""
    return float if units is None else lambda value: round(value * units)


def rounded_down(bound: float, dtype: DType) -> float:
    """The largest number of a type that is not above a bound; for integers maybe one less than the least of them."""
    if dtype != DType.FLOAT32:
        low, high = dtype.limits
        return float(high) if bound >= high else float(max(math.floor(bound), low - 1)) if bound >= low - 1 else low - 1
    with np.errstate(over="ignore"):
        nearest = np.float32(bound)
    found = np.nextafter(nearest, np.float32(-np.inf)) if float(nearest) > bound else nearest
    return float(found) + 0.0


@dataclass(frozen=True)
class _Test:
    """A node with one bound, of which children are tests, or leaves."""

    feature: int
    bound: float
    yes: _Test | Leaf | int
    no: _Test | Leaf | int
    missing: bool


def _tests(split: Split) -> _Test | int:
    """A node as tests with one bound each; children are numbers."""
    children = split.children

    def between(low: int, high: int) -> _Test | int:
        """For children `low` to `high`."""
        if all(children[i] == children[low] for i in range(low, high + 1)):
            return children[low]
        middle = (low + high) // 2
        missing = split.missing in children[low : middle + 1]
        return _Test(split.feature, split.bounds[middle], between(low, middle), between(middle + 1, high), missing)

    found = between(0, len(children) - 1)
    if split.missing in children:
        return found
    return _Test(split.feature, math.inf, found, split.missing, False)


Known = dict[int, tuple[float | None, float, bool]]
"""What is known of features on the way to a node: what they are above, and at most, and if they may be no number."""


@dataclass
class _Grower:
    """The tables of a forest while it grows. A node is numbered behind those that it leads to, until it is finished."""

    dtype: DType
    missing: bool
    stored: Callable[[float], float]
    nodes: dict[tuple[int, float, int, int, bool], int] = field(default_factory=dict)
    leaves: dict[tuple[int, tuple[float, ...]], int] = field(default_factory=dict)

    def leaf(self, leaf: Leaf) -> int:
        key = leaf.column, tuple(map(self.stored, leaf.values))
        return ~self.leaves.setdefault(key, len(self.leaves))

    def node(self, test: _Test, yes: int, no: int, missing: bool) -> int:
        if yes == no:
            return yes
        key = test.feature, test.bound, yes, no, missing
        return self.nodes.setdefault(key, len(self.nodes))

    def tree(self, tree: Tree, narrow: Narrow) -> int:
        """The reference to a tree. Trees may be deep: no function calls itself here."""
        opened = {i: _tests(node) for i, node in enumerate(tree) if isinstance(node, Split)}
        results: list[int] = []
        ahead: list[tuple[_Test | Leaf | int, Known | bool]] = [(0, {})]
        while ahead:
            what, known = ahead.pop()
            while isinstance(what, int):
                node = tree[what]
                what = node if isinstance(node, Leaf) else opened[what]
            if isinstance(what, Leaf):
                results.append(self.leaf(narrow(what)))
            elif isinstance(known, bool):
                yes, no = results.pop(), results.pop()
                results.append(self.node(what, yes, no, known))
            else:
                ahead += self._entered(what, known)
        (root,) = results
        return root

    def _entered(self, given: _Test, known: Known) -> list[tuple[_Test | Leaf | int, Known | bool]]:
        """What is to be done at a test, the last first: one of its sides only where the other cannot be."""
        test = _Test(given.feature, rounded_down(given.bound, self.dtype), given.yes, given.no, given.missing)
        low, high, missing = known.get(test.feature, (*self._range, self.missing))
        takes_yes = low is None or test.bound > low
        takes_no = test.bound < high
        if not (takes_no or (missing and not test.missing)):
            return [(test.yes, known)]
        if not (takes_yes or (missing and test.missing)):
            return [(test.no, known)]
        yes = known | {test.feature: (low, min(test.bound, high), missing and test.missing)}
        above = test.bound if low is None else max(test.bound, low)
        no = known | {test.feature: (above, high, missing and not test.missing)}
        return [(test, missing and test.missing), (test.yes, yes), (test.no, no)]

    @property
    def _range(self) -> tuple[float | None, float]:
        if self.dtype == DType.FLOAT32:
            return None, math.inf
        low, high = self.dtype.limits
        return low - 1, high

    def finish(self, forest: Forest, roots: Sequence[int], units: float | None) -> Trees:
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
            np.array([values for _, values in leaves], dtype),
            np.array(base, dtype),
            not self.missing,
        )


def _typed(bounds: Sequence[float], dtype: DType) -> Array:
    return np.array(bounds, dtype.numpy)
