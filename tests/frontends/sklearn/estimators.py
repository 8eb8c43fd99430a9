"""Fitted estimators of scikit-learn, on data that decides something: the cases of tests and of the page about them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn import (
    calibration,
    cluster,
    compose,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    impute,
    linear_model,
    mixture,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
)

Array = np.ndarray[Any, Any]
FEATURES = 6


@cache
def data(classes: int) -> tuple[Array, Array]:
    """Clouds of points, that overlap a little, and which one each belongs to."""
    rng = np.random.default_rng(classes)
    centers = rng.normal(size=(classes, FEATURES)) * 1.6 + 2
    labels = rng.integers(0, classes, 400)
    points = centers[labels] + rng.normal(size=(400, FEATURES)) * rng.uniform(0.5, 1.5, FEATURES)
    return points.astype(np.float32).astype(np.float64), labels


def samples(count: int, seed: int = 7) -> Array:
    """Inputs to compare on, near and far."""
    rng = np.random.default_rng(seed)
    return (2 + rng.normal(size=(count, FEATURES)) * rng.choice([0.5, 2.0, 6.0], (count, 1))).astype(np.float32)


def classified(estimator: Any, classes: int = 3) -> Callable[[], Any]:
    return lambda: estimator.fit(*data(classes))


def named(estimator: Any) -> Callable[[], Any]:
    """With names for classes."""
    return lambda: estimator.fit(data(3)[0], np.array(["rest", "walk", "run"])[data(3)[1]])


def regressed(estimator: Any, outputs: int = 1) -> Callable[[], Any]:
    def fit() -> Any:
        x, labels = data(3)
        y = x @ np.arange(1, FEATURES + 1) / 5 + labels + 10
        return estimator.fit(x, y if outputs == 1 else np.stack([y, -2 * y + x[:, 0]], axis=1))

    return fit


def counted(estimator: Any) -> Callable[[], Any]:
    """Of numbers that are not negative."""
    return lambda: estimator.fit(np.abs(data(3)[0]), data(3)[1])


def transformed(estimator: Any) -> Callable[[], Any]:
    return lambda: estimator.fit(*data(3))


def gaps(estimator: Any) -> Callable[[], Any]:
    """With values that are missing."""

    def fit() -> Any:
        x = data(3)[0].copy()
        x[np.random.default_rng(0).random(x.shape) < 0.1] = np.nan
        return estimator.fit(x)

    return fit


def categories(estimator: Any) -> Callable[[], Any]:
    """Of categories from zero on."""
    return lambda: estimator.fit(np.clip(np.round(data(3)[0]), 0, 3), data(3)[1])


def positive(estimator: Any) -> Callable[[], Any]:
    return lambda: estimator.fit(np.abs(data(3)[0]) + 0.1)


def grid(estimator: Any) -> Callable[[], Any]:
    """With categories, which are whole numbers."""
    return lambda: estimator.fit(np.round(data(3)[0][:, :3]), data(3)[1])


CASES: dict[str, Callable[[], Any]] = {
    "linear": regressed(linear_model.LinearRegression()),
    "linear, two outputs": regressed(linear_model.LinearRegression(), 2),
    "ridge": regressed(linear_model.Ridge()),
    "lasso": regressed(linear_model.Lasso(alpha=0.1)),
    "elastic net": regressed(linear_model.ElasticNet(alpha=0.1)),
    "bayesian ridge": regressed(linear_model.BayesianRidge()),
    "huber": regressed(linear_model.HuberRegressor(max_iter=1000)),
    "sgd regressor": regressed(linear_model.SGDRegressor(random_state=0)),
    "linear svr": regressed(svm.LinearSVR(random_state=0)),
    "poisson": regressed(linear_model.PoissonRegressor(max_iter=500)),
    "partial least squares": regressed(cross_decomposition.PLSRegression(3), 2),
    "tweedie": regressed(linear_model.TweedieRegressor(power=0, link="identity")),
    "logistic": classified(linear_model.LogisticRegression(max_iter=500)),
    "logistic, two classes": classified(linear_model.LogisticRegression(max_iter=500), 2),
    "logistic, names": named(linear_model.LogisticRegression(max_iter=500)),
    "linear svc": classified(svm.LinearSVC(), 5),
    "linear svc, two classes": classified(svm.LinearSVC(), 2),
    "sgd": classified(linear_model.SGDClassifier(random_state=0)),
    "sgd, log": classified(linear_model.SGDClassifier(loss="log_loss", alpha=0.1, random_state=0)),
    "sgd, log, two classes": classified(linear_model.SGDClassifier(loss="log_loss", alpha=0.1, random_state=0), 2),
    "sgd, huber": classified(linear_model.SGDClassifier(loss="modified_huber", alpha=0.3, random_state=0)),
    "sgd, huber, two classes": classified(linear_model.SGDClassifier(loss="modified_huber", random_state=0), 2),
    "perceptron": classified(linear_model.Perceptron(random_state=0)),
    "ridge classifier": classified(linear_model.RidgeClassifier()),
    "lda": classified(discriminant_analysis.LinearDiscriminantAnalysis()),
    "lda, two classes": classified(discriminant_analysis.LinearDiscriminantAnalysis(), 2),
    "qda": classified(discriminant_analysis.QuadraticDiscriminantAnalysis()),
    "mlp": classified(neural_network.MLPClassifier((9, 5), max_iter=60, random_state=0)),
    "mlp, two classes": classified(
        neural_network.MLPClassifier((7,), activation="tanh", max_iter=60, random_state=0), 2
    ),
    "mlp regressor": regressed(
        neural_network.MLPRegressor(hidden_layer_sizes=(8,), activation="logistic", max_iter=60, random_state=0)
    ),
    "svc": classified(svm.SVC(), 4),
    "svc, two classes": classified(svm.SVC(C=3.0), 2),
    "svc, linear": classified(svm.SVC(kernel="linear"), 4),
    "svc, poly": classified(svm.SVC(kernel="poly", degree=3, coef0=0.5), 3),
    "svc, sigmoid": classified(svm.SVC(kernel="sigmoid", gamma=0.02, coef0=-0.1), 3),
    "svc, one against one": classified(svm.SVC(decision_function_shape="ovo"), 4),
    "svc, ties broken": classified(svm.SVC(break_ties=True), 5),
    "nu svc": classified(svm.NuSVC(nu=0.2), 3),
    "svr": regressed(svm.SVR(C=5.0)),
    "nu svr": regressed(svm.NuSVR(kernel="poly", degree=2)),
    "one class": transformed(svm.OneClassSVM(nu=0.2)),
    "sgd, one class": transformed(linear_model.SGDOneClassSVM(random_state=0)),
    "k-means": transformed(cluster.KMeans(5, random_state=0, n_init=2)),
    "mini-batch k-means": transformed(cluster.MiniBatchKMeans(4, random_state=0, n_init=2)),
    "neighbours": classified(neighbors.KNeighborsClassifier(5)),
    "neighbours by distance": classified(neighbors.KNeighborsClassifier(4, weights="distance", p=1)),
    "neighbours, regression": regressed(neighbors.KNeighborsRegressor(3, weights="distance"), 2),
    "nearest centroid": classified(neighbors.NearestCentroid(), 4),
    "gaussian bayes": classified(naive_bayes.GaussianNB(), 4),
    "categorical bayes": categories(naive_bayes.CategoricalNB()),
    "mixture": transformed(mixture.GaussianMixture(4, random_state=0)),
    "mixture, tied": transformed(mixture.GaussianMixture(3, covariance_type="tied", random_state=0)),
    "mixture, diagonal": transformed(mixture.GaussianMixture(3, covariance_type="diag", random_state=0)),
    "mixture, spherical": transformed(mixture.GaussianMixture(3, covariance_type="spherical", random_state=0)),
    "bernoulli bayes": classified(naive_bayes.BernoulliNB(binarize=1.5)),
    "multinomial bayes": counted(naive_bayes.MultinomialNB()),
    "complement bayes": counted(naive_bayes.ComplementNB()),
    "standard scaler": transformed(preprocessing.StandardScaler()),
    "min-max scaler": transformed(preprocessing.MinMaxScaler((-1, 2), clip=True)),
    "max-abs scaler": transformed(preprocessing.MaxAbsScaler()),
    "robust scaler": transformed(preprocessing.RobustScaler()),
    "normalizer": transformed(preprocessing.Normalizer()),
    "normalizer, l1": transformed(preprocessing.Normalizer("l1")),
    "normalizer, max": transformed(preprocessing.Normalizer("max")),
    "binarizer": transformed(preprocessing.Binarizer(threshold=1.2)),
    "polynomials": transformed(preprocessing.PolynomialFeatures(3)),
    "interactions": transformed(preprocessing.PolynomialFeatures(2, interaction_only=True, include_bias=False)),
    "bins": transformed(preprocessing.KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf")),
    "powers": transformed(preprocessing.PowerTransformer()),
    "powers, box-cox": positive(preprocessing.PowerTransformer("box-cox", standardize=False)),
    "imputer": gaps(impute.SimpleImputer(strategy="median", add_indicator=True)),
    "one-hot": grid(preprocessing.OneHotEncoder(handle_unknown="ignore", drop="first")),
    "ordinal": grid(preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)),
    "pca": transformed(decomposition.PCA(3, whiten=True)),
    "truncated svd": transformed(decomposition.TruncatedSVD(3)),
    "best features": transformed(feature_selection.SelectKBest(k=3)),
    "pipeline": classified(pipeline.make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(4), svm.SVC()), 4),
    "columns": classified(
        pipeline.make_pipeline(
            compose.ColumnTransformer(
                [("a", preprocessing.StandardScaler(), [0, 3]), ("b", preprocessing.MinMaxScaler(), slice(4, 6))],
                remainder="passthrough",
            ),
            linear_model.LogisticRegression(max_iter=500),
        )
    ),
    "union": classified(
        pipeline.make_pipeline(
            pipeline.FeatureUnion(
                [("lda", discriminant_analysis.LinearDiscriminantAnalysis()), ("k", cluster.KMeans(3, n_init=1))],
                transformer_weights={"k": 0.5},
            ),
            naive_bayes.GaussianNB(),
        )
    ),
    "one against the rest": classified(multiclass.OneVsRestClassifier(svm.LinearSVC()), 4),
    "one against the rest, probabilities": classified(
        multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), 4
    ),
    "one against the rest, two classes": classified(
        multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), 2
    ),
    "one against the rest, bayes": classified(multiclass.OneVsRestClassifier(naive_bayes.GaussianNB()), 4),
    "one against the rest, qda": classified(
        multiclass.OneVsRestClassifier(discriminant_analysis.QuadraticDiscriminantAnalysis()), 3
    ),
    "one against one": classified(multiclass.OneVsOneClassifier(svm.LinearSVC()), 4),
    "calibrated": classified(calibration.CalibratedClassifierCV(svm.SVC(), cv=2), 3),
    "calibrated, two classes": classified(calibration.CalibratedClassifierCV(naive_bayes.GaussianNB(), cv=2), 2),
    "outputs side by side": regressed(multioutput.MultiOutputRegressor(svm.SVR()), 2),
    "consensus": regressed(linear_model.RANSACRegressor(random_state=0)),
    "mean of regressions": regressed(
        ensemble.VotingRegressor([("a", linear_model.Ridge()), ("b", svm.SVR())], weights=[2, 1])
    ),
    "mean of a bag": regressed(ensemble.BaggingRegressor(svm.SVR(), 4, max_features=4, random_state=0)),
    "bag": classified(ensemble.BaggingClassifier(linear_model.LogisticRegression(), 5, max_features=3, random_state=0)),
    "bag of votes": classified(ensemble.BaggingClassifier(svm.LinearSVC(), 5, max_samples=0.1, random_state=0)),
    "bag of some classes": classified(
        ensemble.BaggingClassifier(linear_model.LogisticRegression(C=0.01), 9, max_samples=5, random_state=4), 4
    ),
    "bag of trees": classified(
        ensemble.BaggingClassifier(n_estimators=7, max_samples=6, max_features=4, random_state=1), 4
    ),
    "mean of a bag of trees": regressed(ensemble.BaggingRegressor(n_estimators=6, max_features=4, random_state=1)),
    "ada boost": classified(ensemble.AdaBoostClassifier(n_estimators=12, random_state=0), 4),
    "ada boost, two classes": classified(ensemble.AdaBoostClassifier(n_estimators=13, random_state=0), 2),
    "ada boost, lines": classified(ensemble.AdaBoostClassifier(linear_model.Perceptron(), n_estimators=5), 3),
    "ada boost, lines, two classes": classified(
        ensemble.AdaBoostClassifier(linear_model.LogisticRegression(), n_estimators=4), 2
    ),
    "ada boost, numbers": regressed(ensemble.AdaBoostRegressor(n_estimators=9, random_state=0)),
    "ada boost, numbers, lines": regressed(
        ensemble.AdaBoostRegressor(linear_model.LinearRegression(), n_estimators=6, random_state=0)
    ),
    "stack": classified(
        ensemble.StackingClassifier(
            [
                ("a", svm.SVC()),
                ("b", naive_bayes.GaussianNB()),
                ("c", ensemble.AdaBoostClassifier(n_estimators=5, random_state=0)),
                ("d", linear_model.Perceptron()),
            ],
            linear_model.LogisticRegression(max_iter=500),
            cv=2,
        )
    ),
    "stack, labels and the input": named(
        ensemble.StackingClassifier(
            [("a", svm.LinearSVC()), ("b", pipeline.make_pipeline(preprocessing.StandardScaler(), svm.SVC()))],
            linear_model.LogisticRegression(max_iter=500),
            cv=2,
            stack_method="predict",
            passthrough=True,
        )
    ),
    "stack, two classes": classified(
        ensemble.StackingClassifier([("a", svm.SVC()), ("b", naive_bayes.GaussianNB())], cv=2), 2
    ),
    "stack of numbers": regressed(
        ensemble.StackingRegressor([("a", linear_model.Ridge()), ("b", svm.SVR())], linear_model.Ridge(), cv=2)
    ),
    "calibrated boosting": classified(
        calibration.CalibratedClassifierCV(ensemble.GradientBoostingClassifier(n_estimators=4, random_state=0), cv=2), 3
    ),
    "calibrated ada boost": classified(
        calibration.CalibratedClassifierCV(ensemble.AdaBoostClassifier(n_estimators=4, random_state=0), cv=2), 3
    ),
    "calibrated boosting, exponential": classified(
        calibration.CalibratedClassifierCV(
            ensemble.GradientBoostingClassifier(loss="exponential", n_estimators=4, random_state=0), cv=2
        ),
        2,
    ),
    "majority": named(
        ensemble.VotingClassifier(
            [("a", naive_bayes.GaussianNB()), ("b", svm.SVC()), ("c", linear_model.Perceptron(random_state=0))],
            weights=[1, 1, 2],
        )
    ),
    "votes": classified(
        ensemble.VotingClassifier(
            [("a", naive_bayes.GaussianNB()), ("b", linear_model.LogisticRegression())], voting="soft", weights=[1, 3]
        )
    ),
}
"""What is fitted when it is asked for."""


@cache
def fitted(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[name]()


def inputs(name: str, estimator: Any, count: int) -> Array:
    """Samples that mean something to an estimator."""
    x = samples(count)[:, : estimator.n_features_in_]
    if name in ("multinomial bayes", "complement bayes"):
        return np.abs(x)
    if name == "powers, box-cox":
        return np.abs(x) + np.float32(0.125)
    if name == "categorical bayes":
        return np.clip(np.round(x), 0, 3)
    if name in ("one-hot", "ordinal"):
        return np.round(x)
    if name == "imputer":
        x[np.random.default_rng(1).random(x.shape) < 0.2] = np.nan
    return x


def all_cases() -> Iterator[tuple[str, Any]]:
    for name in CASES:
        yield name, fitted(name)
