"""Boosted trees of LightGBM, from its text format, without the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from mote.base.errors import MoteError
from mote.frontends.model import Model
from mote.frontends.source import Source
from mote.frontends.trees.files import model_of
from mote.frontends.trees.forest import Leaf, Link, Tree, TreeEnsemble, TreeNode, below, category, members, only

ZERO = 1.0000000180025095e-35
"""LightGBM takes absolute values up to this for zero."""
BELOW_ZERO = below(-ZERO)
CATEGORICAL, DEFAULT_LEFT = 1, 2
NONE, ZEROS, NANS = range(3)
"""Kinds of missing values at a node."""
LINKS: Mapping[str, Link] = {
    **dict.fromkeys(
        ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg", "custom", ""),
        Link.IDENTITY,
    ),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), Link.EXP),
    "binary": Link.LOGISTIC,
    "cross_entropy": Link.LOGISTIC,
    "cross_entropy_lambda": Link.SOFTPLUS,
    "multiclass": Link.SOFTMAX,
    "multiclassova": Link.LOGISTIC,
}
CLASSIFIERS = ("binary", "multiclass", "multiclassova")
Section = Mapping[str, str]


def read(source: Source) -> Model:
    return model_of(source, lambda: forest_of(source))


def forest_of(source: Source) -> TreeEnsemble:
    """The forest of a file. Raises ValueError, KeyError and similar errors for malformed files."""
    head, sections = _sections(source.data.decode())
    objective, *options = head.get("objective", "").split() or [""]
    if objective not in LINKS:
        raise MoteError(
            f"has the objective {objective}, which Mote does not know",
            where=source.where,
            remedy=f"train it with one of {', '.join(filter(None, LINKS))}",
        )
    each = int(head["num_tree_per_iteration"])
    if not 0 < each <= 1 << 16:
        raise ValueError(f"it has {each} outputs")
    slope = next((float(o.removeprefix("sigmoid:")) for o in options if o.startswith("sigmoid:")), 1.0)
    link = Link.SQUARE if objective == "regression" and "sqrt" in options else LINKS[objective]
    trees = [_tree(section, number % each) for number, section in enumerate(sections)]
    return TreeEnsemble(
        int(head["max_feature_idx"]) + 1,
        trees,
        (0.0,) * each,
        divisor=max(len(trees) // each, 1) if "average_output" in head else 1.0,
        link=link,
        slope=slope,
        classes=tuple(range(max(each, 2))) if objective in CLASSIFIERS else None,
        names=tuple(head.get("feature_names", "").split()),
    )


def _sections(text: str) -> tuple[Section, list[Section]]:
    """The key-value lines of the header, and of each tree."""
    if not text.startswith("tree"):
        raise ValueError("it does not begin with 'tree'")
    trees, end, _ = text.partition("\nend of trees")
    head, *rest = trees.split("\nTree=")
    header = _lines(head)
    if not end or len(header["tree_sizes"].split()) != len(rest):
        raise ValueError("it ends before its trees do")
    return header, [_lines(part) for part in rest]


def _lines(text: str) -> Section:
    pairs = (line.partition("=") for line in text.splitlines() if line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _tree(section: Section, column: int) -> Tree:
    """One tree; internal nodes come before leaves."""
    if int(section.get("is_linear", "0")):
        raise ValueError("its leaves are linear functions, which is not supported")
    values = [float(v) for v in section["leaf_value"].split()]
    if int(section["num_leaves"]) != len(values):
        raise ValueError(f"a tree of {section['num_leaves']} leaves has {len(values)} values")
    leaves = [Leaf(column, (value,)) for value in values]
    if len(values) == 1:
        return leaves
    names = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
    columns = [section[name].split() for name in names]
    sets = _sets(section)
    nodes: list[TreeNode | Leaf] = []
    count = len(values) - 1
    for feature, threshold, kind, left, right in zip(*columns, strict=True):
        children = [int(c) if int(c) >= 0 else count + ~int(c) for c in (left, right)]
        nodes.append(_node(int(feature), threshold, int(kind), children, sets))
    if len(nodes) != count:
        raise ValueError(f"a tree of {len(values)} leaves has {len(nodes)} nodes")
    return [*nodes, *leaves]


def _node(feature: int, threshold: str, kind: int, children: Sequence[int], sets: Sequence[Sequence[int]]) -> TreeNode:
    left, right = children
    if kind & CATEGORICAL:
        return members(feature, map(_category, sets[int(threshold)]), left, right, right)
    bound, missing = _bound(float(threshold)), kind >> 2 & 3
    default = left if kind & DEFAULT_LEFT else right
    if missing == NANS:
        return only(feature, bound, left, right, default)
    if missing == NONE:
        return only(feature, bound, left, right, left if bound >= 0 else right)
    if missing != ZEROS:
        raise ValueError(f"unknown missing type {missing}")
    bounds = tuple(sorted({BELOW_ZERO, ZERO, bound}))
    sides = (default if BELOW_ZERO < b <= ZERO else left if b <= bound else right for b in bounds)
    return TreeNode(feature, bounds, (*sides, right), default)


def _bound(threshold: float) -> float:
    """A threshold; one within the range that LightGBM takes for zero is moved to a bound of that range."""
    if BELOW_ZERO < threshold < ZERO:
        return ZERO if threshold >= 0 else BELOW_ZERO
    return threshold


def _category(number: int) -> tuple[float, float]:
    """The interval of a category; that of category 0 reaches below zero."""
    low, high = category(number)
    return (low if number else -1.0), high


def _sets(section: Section) -> list[list[int]]:
    """The categories of each categorical node, from its bit sets."""
    if not int(section.get("num_cat", "0")):
        return []
    borders = [int(b) for b in section["cat_boundaries"].split()]
    words = [int(w) for w in section["cat_threshold"].split()]
    sets = []
    for begin, end in pairwise(borders):
        if not 0 <= begin <= end <= len(words):
            raise ValueError("sets of categories are not where they should be")
        bits = (32 * i + k for i, word in enumerate(words[begin:end]) for k in range(32) if word >> k & 1)
        sets.append(list(bits))
    return sets
