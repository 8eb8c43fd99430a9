"""Linear models: regressions, classifiers, discriminants and multi-layer perceptrons."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, classical, elementwise, moves, norms, reductions
from mote.frontends.sklearn.estimators import (
    LABEL,
    PROBABILITIES,
    Estimator,
    EstimatorOutputs,
    Predict,
    classes_of,
    reals,
    regression,
    scored,
)


def _plane(b: Builder, estimator: Estimator, x: Value) -> Value:
    """[1, outputs]: the input times the coefficients, plus the intercept."""
    weights = np.atleast_2d(reals(estimator.coef_))
    bias = np.broadcast_to(reals(estimator.intercept_).reshape(-1), len(weights))
    return classical.affine(b, x, weights, bias)


def regressor(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    return regression(b, _plane(b, estimator, x))


def exponential(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    """Poisson, gamma and Tweedie regression, with a log or an identity link."""
    link = type(estimator._base_loss.link).__name__
    if link not in ("LogLink", "IdentityLink"):
        raise UnsupportedNodeError(f"the link {link} is not supported")
    plane = _plane(b, estimator, x)
    return regression(b, elementwise.exp(b, plane) if link == "LogLink" else plane)


def partial_least_squares(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    centered = classical.shifted(b, x, reals(estimator._x_mean), None)
    return regression(b, classical.affine(b, centered, reals(estimator.coef_), reals(estimator.intercept_)))


def classifier(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    """A classifier with scores only."""
    return scored(b, estimator, _plane(b, estimator, x))


def logistic(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    """Multinomial, or one-against-rest where an option of older versions asks for it."""
    scores = _plane(b, estimator, x)
    way = getattr(estimator, "multi_class", "auto")
    alone = way == "ovr" or (way != "multinomial" and getattr(estimator, "solver", "") == "liblinear")
    if scores.shape[-1] == 1:
        doubled = elementwise.scaled(b, scores, 2) if way == "multinomial" else scores
        return scored(b, estimator, scores, classical.pair(b, doubled), logistic=way != "multinomial")
    if alone:
        return scored(b, estimator, scores, classical.shares(b, elementwise.sigmoid(b, scores)))
    return scored(b, estimator, scores, norms.softmax(b, scores))


def stochastic(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    """SGDClassifier, which has probabilities for two of its losses."""
    scores = _plane(b, estimator, x)
    single = scores.shape[-1] == 1
    if estimator.loss == "log_loss":
        probabilities = classical.pair(b, scores) if single else classical.shares(b, elementwise.sigmoid(b, scores))
    elif estimator.loss == "modified_huber":
        probabilities = _clipped(b, scores)
    else:
        return scored(b, estimator, scores)
    return scored(b, estimator, scores, probabilities, logistic=estimator.loss == "log_loss")


def _clipped(b: Builder, scores: Value) -> Value:
    """(clip(score) + 1) / 2; for several classes normalized to a sum of 1, uniform where all are zero."""
    chances = elementwise.scaled(b, elementwise.clip(b, scores, -1, 1), 0.5, 0.5)
    if scores.shape[-1] == 1:
        return moves.concat(b, [elementwise.scaled(b, chances, -1, 1), chances], -1)
    total = reductions.sum_(b, chances, [-1], True)
    none = elementwise.equal(b, total, elementwise.scalar(b, 0.0))
    alike = elementwise.where(b, none, elementwise.scalar(b, 1.0), chances)
    return classical.shares(b, alike)


def discriminant(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    scores = _plane(b, estimator, x)
    single = scores.shape[-1] == 1
    return scored(b, estimator, scores, classical.pair(b, scores) if single else norms.softmax(b, scores))


def quadratic(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    """Quadratic discriminants: each class has axes and scales of its own, along which the squared distance to its mean
    is measured."""
    parts = zip(estimator.rotations_, estimator.scalings_, strict=True)
    axes = [reals(rotation) / np.sqrt(reals(scaling)) for rotation, scaling in parts]
    squares = classical.apart(b, x, reals(estimator.means_), axes)
    sizes = np.array([np.log(reals(s)).sum() for s in estimator.scalings_])
    constants = np.log(reals(estimator.priors_)) - 0.5 * sizes
    scores = elementwise.add(b, elementwise.scaled(b, squares, -0.5), b.constant(constants.astype(np.float32)))
    return scored(b, estimator, scores, norms.softmax(b, scores))


ACTIVATIONS = {
    "identity": lambda b, x: x,
    "logistic": elementwise.sigmoid,
    "tanh": elementwise.tanh,
    "relu": elementwise.relu,
    "softmax": norms.softmax,
}


def _layers(b: Builder, estimator: Estimator, x: Value) -> Value:
    """A perceptron before its output activation."""
    pairs = list(zip(estimator.coefs_, estimator.intercepts_, strict=True))
    for number, (weights, bias) in enumerate(pairs):
        x = classical.affine(b, x, reals(weights).T, reals(bias))
        x = x if number == len(pairs) - 1 else ACTIVATIONS[estimator.activation](b, x)
    return x


def network_regressor(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    return regression(b, ACTIVATIONS[estimator.out_activation_](b, _layers(b, estimator, x)))


def network_classifier(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    scores = _layers(b, estimator, x)
    if estimator.out_activation_ == "softmax":
        return scored(b, estimator, scores, norms.softmax(b, scores))
    if scores.shape[-1] != 1:
        raise UnsupportedNodeError("a classifier with several labels at once is not supported")
    outputs = {LABEL: classical.above(b, scores), PROBABILITIES: classical.pair(b, scores)}
    return EstimatorOutputs(outputs, classes_of(estimator), None, scores)


REGRESSORS = (
    *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "Lars", "LarsCV"),
    *("LassoLars", "LassoLarsCV", "LassoLarsIC", "MultiTaskLasso", "MultiTaskElasticNet", "BayesianRidge"),
    *("ARDRegression", "HuberRegressor", "TheilSenRegressor", "QuantileRegressor", "OrthogonalMatchingPursuit"),
    *("OrthogonalMatchingPursuitCV", "SGDRegressor", "PassiveAggressiveRegressor", "LinearSVR"),
)
CLASSIFIERS = (*("LinearSVC", "Perceptron", "PassiveAggressiveClassifier", "RidgeClassifier", "RidgeClassifierCV"),)

PREDICTIONS: Mapping[str, Predict] = {
    **dict.fromkeys(REGRESSORS, regressor),
    **dict.fromkeys(CLASSIFIERS, classifier),
    "GammaRegressor": exponential,
    "LinearDiscriminantAnalysis": discriminant,
    "LogisticRegression": logistic,
    "LogisticRegressionCV": logistic,
    "MLPClassifier": network_classifier,
    "MLPRegressor": network_regressor,
    "PLSRegression": partial_least_squares,
    "PoissonRegressor": exponential,
    "QuadraticDiscriminantAnalysis": quadratic,
    "SGDClassifier": stochastic,
    "TweedieRegressor": exponential,
}
