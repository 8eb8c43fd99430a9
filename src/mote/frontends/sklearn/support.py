"""Support vector machines as in libsvm: one-against-one voting."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, classical, elementwise
from mote.frontends.sklearn.estimators import (
    LABEL,
    SCORES,
    Estimator,
    EstimatorOutputs,
    Predict,
    classes_of,
    reals,
    regression,
)


def _decisions(b: Builder, estimator: Estimator, x: Value, counts: list[int]) -> Value:
    """[1, pairs]: decision values as in libsvm, positive for the first class."""
    kernel = estimator.kernel
    if kernel not in ("linear", "poly", "rbf", "sigmoid"):
        raise UnsupportedNodeError(f"the kernel {kernel} is not supported (only linear, poly, rbf, sigmoid)")
    degree = estimator.degree if kernel == "poly" else 0
    if degree != int(degree):
        raise UnsupportedNodeError(f"a polynomial of degree {degree} is not supported (only integers)")
    return classical.decisions(
        b,
        x,
        kernel,
        reals(estimator.support_vectors_),
        reals(estimator._dual_coef_),
        reals(estimator._intercept_),
        counts,
        gamma=float(estimator._gamma),
        offset=float(estimator.coef0) if kernel != "rbf" else 0.0,
        degree=int(degree),
    )


def classifier(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    classes = classes_of(estimator)
    decided = _decisions(b, estimator, x, [int(n) for n in estimator._n_support])
    if len(classes) == 2:
        scores = elementwise.neg(b, decided)
        return EstimatorOutputs({LABEL: classical.above(b, scores), SCORES: scores}, classes, scores)
    won = classical.votes(b, decided, len(classes))
    rest = estimator.decision_function_shape == "ovr"
    scores = classical.one_against_rest(b, decided, won) if rest else decided
    label = classical.best(b, scores if rest and estimator.break_ties else won)
    return EstimatorOutputs({LABEL: label, SCORES: scores}, classes, scores)


def regressor(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    return regression(b, _alone(b, estimator, x))


def _alone(b: Builder, estimator: Estimator, x: Value) -> Value:
    """A single decision value over all support vectors."""
    return _decisions(b, estimator, x, [len(estimator.support_vectors_), 0])


def one_class(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    """OneClassSVM: inliers are above zero; classes are -1 and 1."""
    scores = _alone(b, estimator, x)
    return EstimatorOutputs({LABEL: classical.above(b, scores), SCORES: scores}, (-1, 1))


def linear_one_class(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    scores = classical.affine(b, x, np.atleast_2d(reals(estimator.coef_)), -reals(estimator.offset_).reshape(-1))
    return EstimatorOutputs({LABEL: classical.above(b, scores), SCORES: scores}, (-1, 1))


PREDICTIONS: Mapping[str, Predict] = {
    "SVC": classifier,
    "NuSVC": classifier,
    "SVR": regressor,
    "NuSVR": regressor,
    "OneClassSVM": one_class,
    "SGDOneClassSVM": linear_one_class,
}
