"""Boosted trees of XGBoost, from its JSON or UBJSON format, without the package."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mote.base.documents import parse_json
from mote.base.errors import MoteError
from mote.frontends.model import Model
from mote.frontends.source import Source
from mote.frontends.trees import ubjson
from mote.frontends.trees.files import model_of
from mote.frontends.trees.forest import (
    Leaf,
    Link,
    Tree,
    TreeEnsemble,
    TreeNode,
    below,
    category,
    members,
    only,
    taken_for_missing,
)

IDENTITY = (
    "reg:squarederror",
    "reg:linear",
    "reg:squaredlogerror",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:quantileerror",
    "reg:expectileerror",
    "rank:pairwise",
    "rank:ndcg",
    "rank:map",
    "binary:logitraw",
)
EXP = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")
LINKS: Mapping[str, Link] = {
    **dict.fromkeys(IDENTITY, Link.IDENTITY),
    **dict.fromkeys(EXP, Link.EXP),
    "reg:logistic": Link.LOGISTIC,
    "binary:logistic": Link.LOGISTIC,
    "binary:hinge": Link.HINGE,
    "multi:softmax": Link.SOFTMAX,
    "multi:softprob": Link.SOFTMAX,
}
"""Link functions by the name of the objective."""
CLASSIFIERS = ("binary:logistic", "multi:softmax", "multi:softprob")
LARGEST_CATEGORY = 1 << 24


def read(source: Source) -> Model:
    return model_of(source, lambda: forest_of(source))


def forest_of(source: Source) -> TreeEnsemble:
    """The forest of a file. Raises ValueError, KeyError and similar errors for malformed files."""
    text = source.data.lstrip()[1:].lstrip()[:1] in (b'"', b"}")
    learner = (parse_json(source.data) if text else ubjson.decode(source.data))["learner"]
    name, booster = learner["gradient_booster"]["name"], learner["gradient_booster"]
    if name == "gblinear":
        raise MoteError(
            "is a linear model of XGBoost (gblinear), not a forest",
            where=source.where,
            remedy="train it with booster=gbtree, or with a linear model of scikit-learn",
        )
    weights = booster["weight_drop"] if name == "dart" else None
    model = (booster["gbtree"] if name == "dart" else booster)["model"]
    trees, groups = _kept(source, learner, model)
    objective = learner["objective"]["name"]
    if objective not in LINKS:
        raise MoteError(
            f"has the objective {objective}, which Mote does not know",
            where=source.where,
            remedy=f"train it with one of {', '.join(LINKS)}",
        )
    return _forest(learner, objective, trees, groups, weights, _missing(source))


def _missing(source: Source) -> float:
    """The number that an estimator takes for missing beside NaN; NaN if none. Files do not have it."""
    number = getattr(source.origin, "missing", None)
    return math.nan if number is None else float(np.float32(number))


def _kept(source: Source, learner: Mapping[str, Any], model: Mapping[str, Any]) -> tuple[list[Any], list[int]]:
    """The trees, and the output of each. An estimator with early stopping predicts with those up to the best
    iteration."""
    trees, groups = list(model["trees"]), [int(g) for g in model["tree_info"]]
    if len(trees) != len(groups):
        raise ValueError("not every tree has an output")
    best = (learner.get("attributes") or {}).get("best_iteration")
    if best is not None and hasattr(source.origin, "get_booster") and model.get("iteration_indptr"):
        count = int(model["iteration_indptr"][int(best) + 1])
        return trees[:count], groups[:count]
    return trees, groups


def _forest(
    learner: Mapping[str, Any],
    objective: str,
    trees: Sequence[Mapping[str, Any]],
    groups: Sequence[int],
    weights: Sequence[float] | None,
    missing: float,
) -> TreeEnsemble:
    param = learner["learner_model_param"]
    classes = int(param["num_class"])
    outputs = max(classes, int(param.get("num_target", 1)), 1)
    if not 0 < outputs <= 1 << 16:
        raise ValueError(f"it has {outputs} outputs")
    factors = [1.0] * len(trees) if weights is None else [float(w) for w in weights]
    return TreeEnsemble(
        int(param["num_feature"]),
        [_tree(t, g, w, missing) for t, g, w in zip(trees, groups, factors, strict=True)],
        _base(param["base_score"], objective, outputs),
        doubles=False,
        link=LINKS[objective],
        classes=tuple(range(max(classes, 2))) if objective in CLASSIFIERS else None,
        cut=_half() if objective == "binary:logistic" else 0.0,
        names=tuple(map(str, learner.get("feature_names") or ())),
    )


def _base(score: str | float, objective: str, outputs: int) -> tuple[float, ...]:
    """The initial sums: the file has them as predictions, XGBoost adds them as float32 sums."""
    given = parse_json(score) if isinstance(score, str) else score
    scores = [np.float32(s) for s in (given if isinstance(given, list) else [given])]
    with np.errstate(divide="ignore", invalid="ignore"):
        if LINKS[objective] is Link.LOGISTIC:
            scores = [np.float32(-np.log(np.float64(np.float32(1) / s - np.float32(1)))) for s in scores]
        elif LINKS[objective] is Link.EXP:
            scores = [np.float32(np.log(np.float64(s))) for s in scores]
    base = tuple(float(s) for s in (scores * outputs if len(scores) == 1 else scores))
    if len(base) != outputs or not all(map(math.isfinite, base)):
        raise ValueError(f"a base_score of {score} does not fit {outputs} outputs of {objective}")
    return base


def _half() -> float:
    """The largest sum whose float32 probability is not above one half."""
    low, high = np.float32(0), np.float32(1e-6)
    for _ in range(64):
        middle = np.float32((low + high) / np.float32(2))
        above = np.float32(1) / (np.float32(1) + np.exp(-middle)) > np.float32(0.5)
        low, high = (low, middle) if above else (middle, high)
    return float(low)


def _tree(tree: Mapping[str, Any], group: int, weight: float, absent: float) -> Tree:
    """A tree: features below a threshold go to the left, and categories in a set to the right. `absent`: a number that
    is taken for missing."""
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise ValueError("its leaves are vectors (multi_output_tree), which is not supported")
    names = ("left_children", "right_children", "split_indices", "split_conditions", "default_left")
    columns = [tree[name] for name in names]
    kinds = tree.get("split_type") or [0] * len(columns[0])
    sets = _sets(tree)
    tree_nodes: list[TreeNode | Leaf] = []
    rows = zip(*columns, kinds, strict=True)
    for number, (left, right, feature, condition, default, kind) in enumerate(rows):
        threshold = float(np.float32(condition))
        if left == -1:
            tree_nodes.append(Leaf(group, (float(np.float32(weight) * np.float32(threshold)),)))
            continue
        missing = left if default else right
        if kind:
            chosen = [category(c) for c in sets[number]]
            node = members(feature, chosen, right, left, missing)
        else:
            node = only(feature, below(threshold), left, right, missing)
        tree_nodes.append(node if math.isnan(absent) else taken_for_missing(node, absent))
    return tree_nodes


def _sets(tree: Mapping[str, Any]) -> dict[int, list[int]]:
    """The categories of each categorical node."""
    if not tree.get("categories_nodes"):
        return {}
    columns = tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"]
    sets = {}
    for node, begin, size in zip(*columns, strict=True):
        numbers = [int(c) for c in tree["categories"][int(begin) : int(begin) + int(size)]]
        if not all(0 <= c < LARGEST_CATEGORY for c in numbers):
            raise ValueError("a category is too large")
        sets[int(node)] = numbers
    return sets
