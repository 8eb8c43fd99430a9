"""Forests of scikit-learn: decision trees, random forests, extra trees, gradient boosting, isolation forests.

An estimator is read from its fitted attributes; nothing of scikit-learn is imported, so that this file needs none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.trees.forest import Leaf, Link, Tree, TreeEnsemble, TreeNode, below, only

TIE = 1e-3
"""Tolerance of path lengths at the threshold between inliers and outliers."""

Values = Callable[[int], Leaf]
"""Computes the values of the leaf at a node."""
Estimator = Any
"""An estimator of a package that need not be installed."""


def forest_of(estimator: Estimator) -> TreeEnsemble:
    """The forest of a fitted estimator."""
    return READERS[_kind(estimator)](estimator)


def is_forest(estimator: Estimator) -> bool:
    """Whether a fitted estimator is trees, and nothing else."""
    kind = _kind(estimator)
    return kind in READERS and (kind not in ENSEMBLES or are_trees(estimator.estimators_))


def are_trees(estimators: Sequence[Estimator]) -> bool:
    return all(_kind(estimator) == "BaseDecisionTree" for estimator in estimators)


def _kind(estimator: Estimator) -> str:
    """The class that a reader is for and that an estimator derives from, or nothing."""
    kinds = (kind.__name__ for kind in type(estimator).__mro__ if kind.__module__.startswith("sklearn."))
    return next((name for name in kinds if name in READERS), "")


def _classes(estimator: Estimator) -> tuple[int | str, ...]:
    """The classes, as integers where they are integral."""
    classes = estimator.classes_
    if isinstance(classes, list):
        raise UnsupportedNodeError("a classifier with several outputs is not supported: compile one for each of them")
    numbers = [int(c) if isinstance(c, int | np.integer | np.bool_) else None for c in classes]
    whole = [
        int(c) if isinstance(c, float | np.floating) and float(c).is_integer() else n
        for c, n in zip(classes, numbers, strict=True)
    ]
    return tuple(str(c) if n is None else n for c, n in zip(classes, whole, strict=True))


def _names(estimator: Estimator) -> tuple[str, ...]:
    return tuple(map(str, getattr(estimator, "feature_names_in_", ())))


def _tree(tree: Any, leaf: Values, features: Sequence[int] | None = None) -> Tree:
    """A scikit-learn tree: float32 features are compared with float64 thresholds. `features`: the indices of the
    features that it was given."""
    missing = getattr(tree, "missing_go_to_left", None)
    columns = [tree.children_left, tree.children_right, tree.feature, tree.threshold]
    tree_nodes: list[TreeNode | Leaf] = []
    for i, (left, right, feature, threshold) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        if left < 0:
            tree_nodes.append(leaf(i))
            continue
        absent = left if missing is not None and missing[i] else right
        tree_nodes.append(only(feature if features is None else int(features[feature]), threshold, left, right, absent))
    return tree_nodes


def _distribution(tree: Any, width: int) -> Values:
    """The class distribution of a leaf, or a value for each output."""
    values = tree.value.reshape(tree.node_count, -1)
    if width == 1 or tree.value.shape[1] > 1:
        return lambda i: Leaf(0, tuple(values[i].tolist()))
    shares = values / np.where(values.sum(axis=1, keepdims=True) == 0, 1, values.sum(axis=1, keepdims=True))
    return lambda i: Leaf(0, tuple(shares[i].tolist()))


def _single(estimator: Estimator) -> TreeEnsemble:
    return _mean(estimator, [estimator])


def _averaged(estimator: Estimator) -> TreeEnsemble:
    return _mean(estimator, list(estimator.estimators_))


def _mean(estimator: Estimator, trees: Sequence[Any]) -> TreeEnsemble:
    """Averaged trees: class distributions, or values."""
    classes = _classes(estimator) if hasattr(estimator, "classes_") else None
    width = len(classes) if classes is not None else int(estimator.n_outputs_)
    return TreeEnsemble(
        int(estimator.n_features_in_),
        [_tree(t.tree_, _distribution(t.tree_, width)) for t in trees],
        (0.0,) * width,
        divisor=float(len(trees)),
        classes=classes,
        names=_names(estimator),
    )


def _bagged(estimator: Estimator) -> TreeEnsemble:
    """Bagged trees: each has some of the features, and may know some of the classes only, by their indices."""
    classes = _classes(estimator) if hasattr(estimator, "classes_") else None
    parts = estimator.estimators_
    width = len(classes) if classes is not None else int(parts[0].n_outputs_)
    trees = []
    for part, features in zip(parts, estimator.estimators_features_, strict=True):
        values = _distribution(part.tree_, len(part.classes_) if classes is not None else width)
        columns = [int(c) for c in part.classes_] if classes is not None else list(range(width))
        trees.append(_tree(part.tree_, _spread(values, columns, width), features))
    return TreeEnsemble(
        int(estimator.n_features_in_),
        trees,
        (0.0,) * width,
        divisor=float(len(trees)),
        classes=classes,
        names=_names(estimator),
    )


def _spread(values: Values, columns: Sequence[int], width: int) -> Values:
    """Leaves with values for some of the outputs, as leaves with a value for each."""

    def leaf(node: int) -> Leaf:
        known = dict(zip(columns, values(node).values, strict=True))
        return Leaf(0, tuple(known.get(column, 0.0) for column in range(width)))

    return leaf


def _weighted(estimator: Estimator) -> TreeEnsemble:
    """AdaBoostClassifier of trees: a tree votes for its class with its weight, and against all others with an equal
    share of it. What the votes against a class take from it is the same for all, but for two classes, where one sum
    has the votes for the second one and against the first."""
    classes = _classes(estimator)
    others = len(classes) - 1
    if not others:
        raise UnsupportedNodeError("a classifier of a single class is not supported")
    weights = [float(w) for w in estimator.estimator_weights_[: len(estimator.estimators_)]]
    pairs = zip(estimator.estimators_, weights, strict=True)
    return TreeEnsemble(
        int(estimator.n_features_in_),
        [_tree(part.tree_, _vote(part, list(estimator.classes_), weight)) for part, weight in pairs],
        (0.0,) * (1 if others == 1 else len(classes)),
        divisor=sum(weights) / 2 if others == 1 else sum(weights) * others**2 / len(classes),
        missing=False,
        link=Link.LOGISTIC if others == 1 else Link.SOFTMAX,
        classes=classes,
        names=_names(estimator),
    )


def _vote(part: Estimator, classes: Sequence[Any], weight: float) -> Values:
    """The weight of a tree in the column of the class that a leaf decides for, or with the sign of one of two."""
    chosen = part.tree_.value.reshape(part.tree_.node_count, -1).argmax(axis=1)
    columns = [classes.index(part.classes_[c]) for c in chosen]
    if len(classes) == 2:
        return lambda i: Leaf(0, (weight if columns[i] else -weight,))
    return lambda i: Leaf(columns[i], (weight,))


def side_by_side(trees: Sequence[Estimator]) -> TreeEnsemble:
    """The predictions of regression trees, each as an output."""
    return TreeEnsemble(
        int(trees[0].n_features_in_),
        [_tree(part.tree_, _scaled(part.tree_, column, 1.0)) for column, part in enumerate(trees)],
        (0.0,) * len(trees),
        doubles=False,
        missing=False,
    )


def _scaled(tree: Any, column: int, rate: float) -> Values:
    values = tree.value.reshape(-1).tolist()
    return lambda i: Leaf(column, (rate * values[i],))


def _boosted(estimator: Estimator) -> TreeEnsemble:
    """GradientBoosting*: leaves times the learning rate are added to the initial estimator's output, which must be
    constant."""
    stages = estimator.estimators_
    init = estimator.init_
    if not (isinstance(init, str) or type(init).__name__ in ("DummyClassifier", "DummyRegressor")):
        raise UnsupportedNodeError(f"gradient boosting that begins with a {type(init).__name__} is not supported")
    features = int(estimator.n_features_in_)
    base = np.asarray(estimator._raw_predict_init(np.zeros((1, features), np.float32))).reshape(-1)
    rate = float(estimator.learning_rate)
    trees = [_tree(t.tree_, _scaled(t.tree_, k, rate)) for stage in stages for k, t in enumerate(stage)]
    regression = not hasattr(estimator, "classes_")
    link = Link.IDENTITY if regression else Link.LOGISTIC if base.size == 1 else Link.SOFTMAX
    exponential = getattr(estimator, "loss", "") == "exponential"
    return TreeEnsemble(
        features,
        trees,
        tuple(base.tolist()),
        missing=False,
        link=link,
        slope=2.0 if exponential else 1.0,
        classes=None if regression else _classes(estimator),
        cut=below(0.0),
        names=_names(estimator),
    )


LINKS = {
    "IdentityLink": Link.IDENTITY,
    "LogLink": Link.EXP,
    "LogitLink": Link.LOGISTIC,
    "MultinomialLogit": Link.SOFTMAX,
}


def _histogram(estimator: Estimator) -> TreeEnsemble:
    """HistGradientBoosting*: thresholds are float64, and categories are sets."""
    link = LINKS.get(type(estimator._loss.link).__name__)
    if link is None:
        raise UnsupportedNodeError(f"the link {type(estimator._loss.link).__name__} is not supported")
    columns, categories = _columns(estimator)
    trees: list[Tree] = []
    for stage in estimator._predictors:
        trees += [_histogram_tree(p, k, columns, categories) for k, p in enumerate(stage)]
    base = np.asarray(estimator._baseline_prediction, np.float64).reshape(-1)
    return TreeEnsemble(
        int(estimator.n_features_in_),
        trees,
        tuple(base.tolist()),
        link=link,
        classes=_classes(estimator) if hasattr(estimator, "classes_") else None,
        names=_names(estimator),
    )


def _columns(estimator: Estimator) -> tuple[list[int], Mapping[int, Sequence[float]]]:
    """The features in the order of the trees, with categorical ones first; and the values of their categories."""
    count = int(estimator.n_features_in_)
    chosen = estimator.is_categorical_
    if chosen is None:
        return list(range(count)), {}
    first = [i for i in range(count) if chosen[i]]
    encoder = estimator._preprocessor.named_transformers_["encoder"]
    categories: dict[int, Sequence[float]] = {}
    for column, known in zip(first, encoder.categories_, strict=True):
        if not np.issubdtype(np.asarray(known).dtype, np.number):
            raise UnsupportedNodeError(f"feature {column} has categories that are not numbers")
        categories[column] = [float(c) for c in known]
    return [*first, *(i for i in range(count) if not chosen[i])], categories


def _histogram_tree(
    predictor: Any, column: int, columns: Sequence[int], categories: Mapping[int, Sequence[float]]
) -> Tree:
    nodes = predictor.nodes
    names = ("is_leaf", "value", "feature_idx", "num_threshold", "missing_go_to_left", "left", "right")
    tree_nodes: list[TreeNode | Leaf] = []
    fields = (nodes[name].tolist() for name in (*names, "is_categorical", "bitset_idx"))
    for leaf, value, feature, threshold, absent, left, right, chosen, bitset in zip(*fields, strict=True):
        missing = left if absent else right
        if leaf:
            tree_nodes.append(Leaf(column, (value,)))
        elif chosen:
            bits = predictor.raw_left_cat_bitsets[bitset]
            known = categories[columns[feature]]
            sides = [left if int(bits[i // 32]) >> (i % 32) & 1 else right for i in range(len(known))]
            tree_nodes.append(_equal(columns[feature], known, sides, missing))
        else:
            tree_nodes.append(only(columns[feature], threshold, left, right, missing))
    return tree_nodes


def _equal(feature: int, known: Sequence[float], sides: Sequence[int], missing: int) -> TreeNode:
    """A node that leads some numbers to children, and all others to the child for missing values."""
    bounds: list[float] = []
    children = [missing]
    for number, side in sorted(zip(known, sides, strict=True)):
        if not math.isnan(number):
            bounds += [below(number), number]
            children += [side, missing]
    return TreeNode(feature, tuple(bounds), tuple(children), missing)


def _isolation(estimator: Estimator) -> TreeEnsemble:
    """IsolationForest: leaves are path lengths, whose mean becomes a score between -1 and 0; minus the offset it is the
    `decision_function`."""
    trees = []
    for number, (tree, features) in enumerate(zip(estimator.estimators_, estimator.estimators_features_, strict=True)):
        lengths = estimator._decision_path_lengths[number] + estimator._average_path_length_per_tree[number] - 1.0
        trees.append(_tree(tree.tree_, _at(lengths.tolist()), features))
    size = float(_average_path_length(estimator._max_samples))
    return TreeEnsemble(
        int(estimator.n_features_in_),
        trees,
        (0.0,),
        divisor=len(trees) * size if size else 1.0,
        link=Link.ISOLATION,
        cut=-math.log2(-float(estimator.offset_)) * len(trees) * size - TIE,
        offset=-float(estimator.offset_),
        classes=(-1, 1),
        names=_names(estimator),
    )


def _at(values: Sequence[float]) -> Values:
    return lambda i: Leaf(0, (values[i],))


def _average_path_length(samples: int) -> float:
    """The average path length in a tree of so many samples."""
    if samples <= 2:
        return float(max(samples - 1, 0))
    return 2.0 * (math.log(samples - 1.0) + float(np.euler_gamma)) - 2.0 * (samples - 1.0) / samples


READERS: Mapping[str, Callable[[Estimator], TreeEnsemble]] = {
    "AdaBoostClassifier": _weighted,
    "BaseBagging": _bagged,
    "BaseDecisionTree": _single,
    "ForestClassifier": _averaged,
    "ForestRegressor": _averaged,
    "BaseGradientBoosting": _boosted,
    "BaseHistGradientBoosting": _histogram,
    "IsolationForest": _isolation,
}
"""Readers by the class that an estimator derives from."""
ENSEMBLES = ("AdaBoostClassifier", "BaseBagging")
"""Ensembles of any estimators, which are forests where all of these are trees."""
