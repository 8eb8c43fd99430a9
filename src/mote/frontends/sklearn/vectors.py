"""Clustering, nearest neighbours and naive Bayes: models by distances to stored vectors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, classical, elementwise, moves, norms, reductions
from mote.frontends.sklearn.estimators import (
    DISTANCES,
    LABEL,
    PROBABILITIES,
    Estimator,
    EstimatorOutputs,
    Predict,
    Transform,
    classes_of,
    reals,
    regression,
    scored,
)
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.classical.distances_svm import Metric
from mote.ir.ops.indexing.gather import Gather

METRICS = {
    "euclidean": Metric.EUCLIDEAN,
    "l2": Metric.EUCLIDEAN,
    "manhattan": Metric.MANHATTAN,
    "l1": Metric.MANHATTAN,
    "cityblock": Metric.MANHATTAN,
    "sqeuclidean": Metric.SQUARED,
}


def centers(b: Builder, estimator: Estimator, x: Value) -> Value:
    """The distances to the centers of clusters."""
    return classical.distances(b, x, reals(estimator.cluster_centers_), Metric.EUCLIDEAN)


def clusters(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    distances = centers(b, estimator, x)
    return EstimatorOutputs({LABEL: classical.nearest(b, distances), DISTANCES: distances})


def nearest_centroid(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    metric = METRICS.get(estimator.metric)
    priors = reals(getattr(estimator, "class_prior_", np.ones(1)))
    if metric is None or np.ptp(priors) > 1e-12:
        raise UnsupportedNodeError(f"the metric {estimator.metric} with priors {priors.tolist()} is not supported")
    distances = classical.distances(b, x, reals(estimator.centroids_), metric)
    return EstimatorOutputs({LABEL: classical.nearest(b, distances)}, classes_of(estimator))


def _metric(estimator: Estimator) -> Metric:
    name = estimator.effective_metric_
    if name == "minkowski":
        name = {1: "manhattan", 2: "euclidean"}.get(estimator.effective_metric_params_.get("p", 2), name)
    if name not in METRICS:
        raise UnsupportedNodeError(f"the metric {name} is not supported (only {', '.join(METRICS)})")
    return METRICS[name]


def _weighted_neighbours(b: Builder, estimator: Estimator, x: Value) -> tuple[Value, Value]:
    """The indices of the nearest samples, and their weights, [1, neighbours]."""
    if estimator.weights not in ("uniform", "distance"):
        raise UnsupportedNodeError(f"weights {estimator.weights} of neighbours are not supported")
    apart = classical.distances(b, x, reals(estimator._fit_X), _metric(estimator))
    near, places = reductions.top_k(b, apart, int(estimator.n_neighbors), largest=False)
    if estimator.weights == "uniform":
        return places, elementwise.full(b, (1, int(estimator.n_neighbors)), 1.0)
    zero = elementwise.cast(b, elementwise.equal(b, near, elementwise.scalar(b, 0.0)), DType.FLOAT32)
    any_ = elementwise.greater(b, reductions.maximum(b, zero, [-1], True), elementwise.scalar(b, 0.0))
    far = elementwise.maximum(b, near, elementwise.scalar(b, float(np.finfo(np.float32).tiny)))
    return places, elementwise.where(b, any_, zero, elementwise.reciprocal(b, far))


def _at(b: Builder, known: Array, places: Value) -> Value:
    """Stored values of the samples at some indices."""
    shape = (*places.shape, *known.shape[1:])
    return b.value(b.op(Gather, [b.tensor(known), b.plain(places)], shape, axis=0), shape)


def neighbour_classifier(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    """The class with the largest sum of neighbour weights, the first of equal ones."""
    classes = classes_of(estimator)
    places, weights = _weighted_neighbours(b, estimator, x)
    labels = _at(b, np.asarray(estimator._y, np.int32).reshape(-1), places)
    own = elementwise.cast(b, reductions.one_hot(b, labels, len(classes)), DType.FLOAT32)
    weighed = elementwise.mul(b, own, moves.unsqueeze(b, weights, [2]))
    votes = reductions.sum_(b, weighed, [1], False)
    return EstimatorOutputs({LABEL: classical.best(b, votes), PROBABILITIES: classical.shares(b, votes)}, classes)


def neighbour_regressor(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    """The weighted mean of the neighbours' targets."""
    places, weights = _weighted_neighbours(b, estimator, x)
    known = np.asarray(estimator._y, np.float32)
    known = known.reshape(len(known), -1)
    values = _at(b, known, places)
    weighed = elementwise.mul(b, values, moves.unsqueeze(b, classical.shares(b, weights), [2]))
    return regression(b, reductions.sum_(b, weighed, [1], False))


def gaussian(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    """GaussianNB: log-densities from squared distances divided by the variances."""
    means, variances = reals(estimator.theta_), reals(estimator.var_)
    apart = classical.distances(b, x, means, Metric.SQUARED, 1 / variances)
    constants = np.log(reals(estimator.class_prior_)) - 0.5 * np.log(2 * np.pi * variances).sum(axis=1)
    scores = elementwise.add(b, elementwise.scaled(b, apart, -0.5), b.constant(constants.astype(np.float32)))
    return scored(b, estimator, scores, norms.softmax(b, scores))


def bernoulli(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    if estimator.binarize is not None:
        x = _ones(b, x, float(estimator.binarize))
    yes = reals(estimator.feature_log_prob_)
    no = np.log1p(-np.exp(yes))
    return _counted(b, estimator, x, yes - no, reals(estimator.class_log_prior_) + no.sum(axis=1))


def multinomial(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    return _counted(b, estimator, x, reals(estimator.feature_log_prob_), reals(estimator.class_log_prior_))


def complement(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    alone = len(estimator.classes_) == 1
    prior = reals(estimator.class_log_prior_) if alone else None
    return _counted(b, estimator, x, reals(estimator.feature_log_prob_), prior)


def _counted(b: Builder, estimator: Estimator, x: Value, weights: Array, bias: Array | None) -> EstimatorOutputs:
    scores = classical.affine(b, x, weights, bias)
    return scored(b, estimator, scores, norms.softmax(b, scores))


def categorical(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    """CategoricalNB: log-probabilities by category, feature and class."""
    counts = [int(n) for n in estimator.n_categories_]
    parts = [
        moves.reshape(b, classical.matches(b, moves.slice_(b, x, 1, i, 1), range(n)), (-1, n))
        for i, n in enumerate(counts)
    ]
    weights = np.concatenate([reals(logs) for logs in estimator.feature_log_prob_], axis=1)
    return _counted(b, estimator, moves.concat(b, parts, -1), weights, reals(estimator.class_log_prior_))


def mixture(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    """GaussianMixture: weighted log-densities."""
    kind, means, roots = estimator.covariance_type, reals(estimator.means_), reals(estimator.precisions_cholesky_)
    count, features = means.shape
    logs = np.log(reals(estimator.weights_)) - 0.5 * features * np.log(2 * np.pi)
    if kind in ("diag", "spherical"):
        wide = roots if kind == "diag" else np.repeat(roots[:, None], features, axis=1)
        apart = classical.distances(b, x, means, Metric.SQUARED, wide**2)
        logs = logs + np.log(wide).sum(axis=1)
    else:
        axes = roots if kind == "full" else np.broadcast_to(roots, (count, features, features))
        apart = classical.apart(b, x, means, list(axes))
        logs = logs + np.array([np.log(np.diag(a)).sum() for a in axes])
    scores = elementwise.add(b, elementwise.scaled(b, apart, -0.5), b.constant(logs.astype(np.float32)))
    return EstimatorOutputs({LABEL: classical.best(b, scores), PROBABILITIES: norms.softmax(b, scores)})


def _ones(b: Builder, x: Value, threshold: float) -> Value:
    return elementwise.cast(b, elementwise.greater(b, x, elementwise.scalar(b, threshold)), DType.FLOAT32)


def binarizer(b: Builder, estimator: Estimator, x: Value) -> Value:
    return _ones(b, x, float(estimator.threshold))


PREDICTIONS: Mapping[str, Predict] = {
    "BernoulliNB": bernoulli,
    "BisectingKMeans": clusters,
    "CategoricalNB": categorical,
    "ComplementNB": complement,
    "GaussianMixture": mixture,
    "GaussianNB": gaussian,
    "KMeans": clusters,
    "KNeighborsClassifier": neighbour_classifier,
    "KNeighborsRegressor": neighbour_regressor,
    "MiniBatchKMeans": clusters,
    "MultinomialNB": multinomial,
    "NearestCentroid": nearest_centroid,
}
TRANSFORMS: Mapping[str, Transform] = {
    "Binarizer": binarizer,
    "KMeans": centers,
    "MiniBatchKMeans": centers,
}
