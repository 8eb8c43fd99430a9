"""Fits scikit-learn estimators for the choices of a classical search space."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from mote.base.extras import require
from mote.ir.graph.tensor import Array
from mote.optimize.nas.classical.classical_space import KIND

Estimator = Any
"""A fitted estimator of scikit-learn."""
Choice = Mapping[str, Any]
FoldScore = Callable[[Array, Array, Array, Array], float]
"""Computes an accuracy from (training rows, training labels, held-out rows, held-out labels)."""
FOLDS = 5
FEW, REPEATS = 1000, 3
"""Below FEW samples, cross-validation is repeated REPEATS times with different folds."""


def fit(choice: Choice, x: Array, y: Array, classes: bool, seed: int) -> Estimator:
    """The scikit-learn estimator of a choice, fitted to features and classes (or regression values)."""
    require("sklearn", extra="sklearn", what="a search among classical models")
    with warnings.catch_warnings(), import_module("threadpoolctl").threadpool_limits(1):
        warnings.simplefilter("ignore")
        return FITS[choice[KIND]](choice, x, y, classes, seed)


def cross_validated(score: FoldScore, x: Array, y: Array, classes: bool, seed: int) -> float:
    """Mean score over cross-validation folds; stratified for classes, and repeated with other folds if there are few
    samples."""
    selection = import_module("sklearn.model_selection")
    fewest = int(np.unique(y, return_counts=True)[1].min()) if classes else len(y)
    folds = max(2, min(FOLDS, fewest))
    repeated = selection.RepeatedStratifiedKFold if classes else selection.RepeatedKFold
    splitter = repeated(n_splits=folds, n_repeats=REPEATS if len(y) < FEW else 1, random_state=seed)
    return float(np.mean([score(x[part], y[part], x[held], y[held]) for part, held in splitter.split(x, y)]))


def _new_estimator(home: str, name: str, classes: bool, **options: Any) -> Estimator:
    return getattr(import_module(f"sklearn.{home}"), f"{name}{'Classifier' if classes else 'Regressor'}")(**options)


def _tree(choice: Choice, x: Array, y: Array, classes: bool, seed: int) -> Estimator:
    made = _new_estimator(
        "tree",
        "DecisionTree",
        classes,
        max_leaf_nodes=choice["leaves"],
        min_samples_leaf=choice["smallest"],
        ccp_alpha=choice["pruning"] * (1.0 if classes else float(np.var(y))),
        random_state=seed,
    )
    return made.fit(x, y)


def _forest(choice: Choice, x: Array, y: Array, classes: bool, seed: int) -> Estimator:
    made = _new_estimator(
        "ensemble",
        "RandomForest" if choice["splits"] == "best" else "ExtraTrees",
        classes,
        n_estimators=choice["trees"],
        max_leaf_nodes=choice["leaves"],
        min_samples_leaf=choice["smallest"],
        max_features=choice["share"],
        random_state=seed,
    )
    return made.fit(x, y)


def _boosting(choice: Choice, x: Array, y: Array, classes: bool, seed: int) -> Estimator:
    made = _new_estimator(
        "ensemble",
        "HistGradientBoosting",
        classes,
        max_iter=choice["trees"],
        max_leaf_nodes=choice["leaves"],
        min_samples_leaf=choice["smallest"],
        learning_rate=choice["rate"],
        early_stopping=False,
        random_state=seed,
    )
    return made.fit(x, y)


def _linear(choice: Choice, x: Array, y: Array, classes: bool, seed: int) -> Estimator:
    models, vectors = import_module("sklearn.linear_model"), import_module("sklearn.svm")
    inverse = choice["inverse"]
    if not classes:
        if choice["loss"] == "hinge":
            return vectors.LinearSVR(C=inverse * float(np.std(y)), max_iter=20_000, random_state=seed).fit(x, y)
        return models.Ridge(1 / inverse).fit(x, y)
    if choice["loss"] == "hinge":
        return _row_for_each_class(vectors.LinearSVC(C=inverse, max_iter=20_000, random_state=seed).fit(x, y))
    if choice["loss"] == "discriminant":
        analysis = import_module("sklearn.discriminant_analysis").LinearDiscriminantAnalysis
        return _row_for_each_class(analysis(solver="lsqr", shrinkage=1 / (1 + inverse)).fit(x, y))
    if choice["loss"] == "squared":
        return _row_for_each_class(models.RidgeClassifier(1 / inverse).fit(x, y))
    return _row_for_each_class(models.LogisticRegression(C=inverse, max_iter=5_000).fit(x, y))


def _row_for_each_class(estimator: Estimator) -> Estimator:
    """Gives a binary linear classifier one coefficient row per class, so that the class is an argmax over two
    scores."""
    if len(estimator.coef_) == 1:
        estimator.coef_ = np.concatenate([-estimator.coef_ / 2, estimator.coef_ / 2])
        estimator.intercept_ = np.concatenate([-estimator.intercept_ / 2, estimator.intercept_ / 2])
    return estimator


def _perceptron(choice: Choice, x: Array, y: Array, classes: bool, seed: int) -> Estimator:
    spread = 1.0 if classes else float(np.std(y)) or 1.0
    center = 0.0 if classes else float(np.mean(y))
    made = _new_estimator(
        "neural_network",
        "MLP",
        classes,
        hidden_layer_sizes=(choice["units"],),
        alpha=choice["decay"],
        max_iter=600,
        random_state=seed,
    )
    made.fit(x, y if classes else (y - center) / spread)
    weights, bias = made.coefs_[-1], made.intercepts_[-1]
    if not classes:
        made.coefs_[-1], made.intercepts_[-1] = weights * spread, bias * spread + center
    elif made.out_activation_ == "logistic":
        made.coefs_[-1], made.intercepts_[-1] = np.hstack([-weights / 2, weights / 2]), np.hstack([-bias / 2, bias / 2])
        made.out_activation_, made.n_outputs_ = "softmax", 2
    return made


def _bayes(choice: Choice, x: Array, y: Array, classes: bool, seed: int) -> Estimator:
    return import_module("sklearn.naive_bayes").GaussianNB(var_smoothing=choice["smoothing"]).fit(x, y)


def _neighbours(choice: Choice, x: Array, y: Array, classes: bool, seed: int) -> Estimator:
    """k-nearest neighbours over k-means centers: centers per class, or for regression centers with their mean value."""
    clusters = import_module("sklearn.cluster")
    count = choice["prototypes"]
    centers, labels = [], []
    if classes:
        for one in np.unique(y):
            rows = x[y == one]
            centers.append(
                clusters.KMeans(min(count, len(rows)), n_init=1, random_state=seed).fit(rows).cluster_centers_
            )
            labels.append(np.full(len(centers[-1]), one))
    else:
        grouped = clusters.KMeans(min(4 * count, len(x)), n_init=1, random_state=seed).fit(x)
        kept = np.unique(grouped.labels_)
        centers.append(grouped.cluster_centers_[kept])
        labels.append(np.array([y[grouped.labels_ == one].mean() for one in kept]))
    rows, known = np.concatenate(centers), np.concatenate(labels)
    made = _new_estimator("neighbors", "KNeighbors", classes, n_neighbors=min(choice["neighbours"], len(rows)))
    return made.fit(rows, known)


def _kernel(choice: Choice, x: Array, y: Array, classes: bool, seed: int) -> Estimator:
    vectors = import_module("sklearn.svm")
    if choice["samples"] < len(x):
        selection = import_module("sklearn.model_selection")
        enough = classes and np.unique(y, return_counts=True)[1].min() > 1 and choice["samples"] >= len(np.unique(y))
        few = min(choice["samples"], len(x) - len(np.unique(y))) if classes else choice["samples"]
        x, _, y, _ = selection.train_test_split(x, y, train_size=few, random_state=seed, stratify=y if enough else None)
    options = {"C": choice["inverse"], "gamma": choice["width"] / x.shape[1]}
    if classes:
        return vectors.SVC(**options, random_state=seed).fit(x, y)
    return vectors.SVR(**{**options, "C": options["C"] * float(np.std(y))}).fit(x, y)


FITS: Mapping[str, Callable[[Choice, Array, Array, bool, int], Estimator]] = {
    "tree": _tree,
    "forest": _forest,
    "boosting": _boosting,
    "linear": _linear,
    "perceptron": _perceptron,
    "bayes": _bayes,
    "neighbours": _neighbours,
    "kernel": _kernel,
}
