"""Transformers: scalers, encoders, imputers, feature selection, projections and polynomials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.base.integers import repeat
from mote.frontends.build import Builder, Value, classical, elementwise, moves, reductions
from mote.frontends.sklearn.estimators import Estimator, Transform, reals
from mote.ir.graph.types import DType


def standard_scaler(b: Builder, estimator: Estimator, x: Value) -> Value:
    mean = reals(estimator.mean_) if estimator.with_mean else None
    factor = 1 / reals(estimator.scale_) if estimator.with_std else None
    return classical.shifted(b, x, mean, factor)


def robust_scaler(b: Builder, estimator: Estimator, x: Value) -> Value:
    center = reals(estimator.center_) if estimator.with_centering else None
    factor = 1 / reals(estimator.scale_) if estimator.with_scaling else None
    return classical.shifted(b, x, center, factor)


def largest_scaler(b: Builder, estimator: Estimator, x: Value) -> Value:
    """MaxAbsScaler."""
    return classical.shifted(b, x, None, 1 / reals(estimator.scale_))


def range_scaler(b: Builder, estimator: Estimator, x: Value) -> Value:
    """MinMaxScaler: x * scale + min."""
    low, high = estimator.feature_range
    least = reals(estimator.data_min_)
    x = classical.shifted(b, x, least, reals(estimator.scale_))
    x = x if low == 0 else elementwise.add(b, x, elementwise.scalar(b, float(low)))
    return elementwise.clip(b, x, float(low), float(high)) if estimator.clip else x


def normalizer(b: Builder, estimator: Estimator, x: Value) -> Value:
    return classical.normalized(b, x, estimator.norm)


def imputer(b: Builder, estimator: Estimator, x: Value) -> Value:
    """SimpleImputer; columns without any value in the training data are dropped, as the estimator does."""
    if isinstance(estimator.missing_values, str) or estimator.missing_values is None:
        raise UnsupportedNodeError(f"missing values of {estimator.missing_values!r} are not supported (only numbers)")
    missing = float(estimator.missing_values)
    values = reals(estimator.statistics_)
    kept = np.flatnonzero(~np.isnan(values))
    imputed = columns(b, classical.filled(b, x, np.nan_to_num(values), missing), kept)
    indicator = getattr(estimator, "indicator_", None)
    if not estimator.add_indicator or indicator is None:
        return imputed
    if not np.isnan(missing):
        raise UnsupportedNodeError("indicators of missing values that are numbers are not supported")
    absent = elementwise.cast(b, elementwise.not_equal(b, x, x), DType.FLOAT32)
    return moves.concat(b, [imputed, columns(b, absent, np.asarray(indicator.features_))], -1)


def columns(b: Builder, x: Value, places: Sequence[int] | np.ndarray) -> Value:
    """Selected features, in this order."""
    chosen = np.asarray(places, np.int64)
    if np.array_equal(chosen, np.arange(x.shape[-1], dtype=np.int64)):
        return x
    return moves.gather(b, x, x.rank - 1, b.constant(chosen))


def selection(b: Builder, estimator: Estimator, x: Value) -> Value:
    return columns(b, x, estimator.get_support(indices=True))


def _categories(estimator: Estimator) -> list[np.ndarray]:
    categories = [np.asarray(c) for c in estimator.categories_]
    if any(not np.issubdtype(c.dtype, np.number) for c in categories):
        raise UnsupportedNodeError("categories that are not numbers are not supported: encode them before")
    return categories


def one_hot(b: Builder, estimator: Estimator, x: Value) -> Value:
    """OneHotEncoder; unknown categories are all zeros; the first category, or one of two, may be dropped."""
    if getattr(estimator, "_infrequent_enabled", False):
        raise UnsupportedNodeError("infrequent categories are not supported")
    parts = []
    for i, known in enumerate(_categories(estimator)):
        kept = np.arange(known.size, dtype=np.int64)
        dropped = None if estimator.drop_idx_ is None else estimator.drop_idx_[i]
        kept = kept if dropped is None else np.delete(kept, int(dropped))
        if kept.size:
            own = classical.matches(b, columns(b, x, [i]), [float(known[k]) for k in kept])
            parts.append(moves.reshape(b, own, (*x.shape[:-1], kept.size)))
    return moves.concat(b, parts, -1)


def ordinal(b: Builder, estimator: Estimator, x: Value) -> Value:
    """OrdinalEncoder; unknown categories get the estimator's value for them."""
    unknown = estimator.unknown_value if estimator.handle_unknown == "use_encoded_value" else 0
    if unknown is None or np.isnan(float(unknown)):
        raise UnsupportedNodeError("NaN for unknown categories is not supported")
    parts = []
    for i, known in enumerate(_categories(estimator)):
        own = classical.matches(b, columns(b, x, [i]), [float(k) for k in known])
        own = moves.reshape(b, own, (*x.shape[:-1], known.size))
        away = np.arange(known.size, dtype=np.float64) - float(unknown)
        parts.append(classical.affine(b, own, away[None], np.array([float(unknown)])))
    return moves.concat(b, parts, -1)


def bins(b: Builder, estimator: Estimator, x: Value) -> Value:
    """KBinsDiscretizer: the number of inner edges that a feature has reached."""
    if estimator.encode not in ("ordinal", "onehot-dense", "onehot"):
        raise UnsupportedNodeError(f"the encoding {estimator.encode} is not supported")
    parts = []
    for i, edges in enumerate(estimator.bin_edges_):
        inner = b.constant(np.asarray(edges, np.float32)[1:-1])
        own = columns(b, x, [i])
        if inner.size == 0:
            parts.append(elementwise.scaled(b, own, 0.0))
            continue
        reached = elementwise.cast(b, elementwise.greater_equal(b, own, inner), DType.FLOAT32)
        parts.append(reductions.sum_(b, reached, [-1], True))
    if estimator.encode == "ordinal":
        return moves.concat(b, parts, -1)
    wide = []
    for part, count in zip(parts, estimator.n_bins_, strict=True):
        hot = classical.matches(b, part, np.arange(int(count), dtype=np.int64).tolist())
        wide.append(moves.reshape(b, hot, (*x.shape[:-1], int(count))))
    return moves.concat(b, wide, -1)


def polynomial(b: Builder, estimator: Estimator, x: Value) -> Value:
    """PolynomialFeatures: products with as many factors as the largest degree, each a feature or 1."""
    powers = np.asarray(estimator.powers_)
    one = x.shape[-1]
    lists = [repeat(np.arange(one, dtype=np.int64), row) for row in powers]
    most = max((len(factors) for factors in lists), default=0)
    if most == 0:
        return elementwise.full(b, (*x.shape[:-1], len(lists)), 1.0)
    wide = moves.concat(b, [x, elementwise.full(b, (*x.shape[:-1], 1), 1.0)], -1)
    places = np.full((len(lists), most), one, np.int64)
    for i, factors in enumerate(lists):
        places[i, : len(factors)] = factors
    products = columns(b, wide, places[:, 0])
    for k in range(1, most):
        products = elementwise.mul(b, products, columns(b, wide, places[:, k]))
    return products


def components(b: Builder, estimator: Estimator, x: Value) -> Value:
    """PCA and similar projections: minus the mean, times the components, optionally whitened."""
    mean = getattr(estimator, "mean_", None)
    axes = reals(estimator.components_)
    if getattr(estimator, "whiten", False):
        least = np.finfo(np.float64).eps
        axes = axes / np.sqrt(np.maximum(reals(estimator.explained_variance_), least))[:, None]
    x = x if mean is None else classical.shifted(b, x, reals(mean), None)
    return classical.affine(b, x, axes, None)


def discriminant(b: Builder, estimator: Estimator, x: Value) -> Value:
    if estimator.solver == "lsqr":
        raise UnsupportedNodeError("the solver lsqr has no transformation")
    middle = reals(estimator.xbar_) if estimator.solver == "svd" else None
    axes = reals(estimator.scalings_)[:, : estimator._max_components]
    return classical.affine(b, classical.shifted(b, x, middle, None), axes.T, None)


def power(b: Builder, estimator: Estimator, x: Value) -> Value:
    """PowerTransformer (Box-Cox and Yeo-Johnson), optionally standardized."""
    exponents = reals(estimator.lambdas_)
    if estimator.method == "box-cox":
        raised = _raised(b, x, exponents)
    else:
        one = elementwise.scalar(b, 1.0)
        above = _raised(b, elementwise.add(b, elementwise.relu(b, x), one), exponents)
        below = _raised(b, elementwise.add(b, elementwise.relu(b, elementwise.neg(b, x)), one), 2 - exponents)
        raised = elementwise.sub(b, above, below)
    return standard_scaler(b, estimator._scaler, raised) if estimator.standardize else raised


def _raised(b: Builder, x: Value, exponents: np.ndarray) -> Value:
    """(x ** exponent - 1) / exponent, and the logarithm where the exponent is zero."""
    none = np.abs(exponents) < np.finfo(np.float64).eps
    safe = np.where(none, 1.0, exponents)
    raised = elementwise.power(b, x, b.constant(safe.astype(np.float32)))
    powers = classical.shifted(b, raised, np.ones(1), 1 / safe)
    return elementwise.where(b, b.constant(none), elementwise.log(b, x), powers) if none.any() else powers


def nothing(b: Builder, estimator: Estimator, x: Value) -> Value:
    """FunctionTransformer without a function: the identity."""
    if estimator.func is not None:
        raise UnsupportedNodeError("a function of Python is not supported: apply it before the model")
    return x


SELECTIONS = (
    *("GenericUnivariateSelect", "RFE", "RFECV", "SelectFdr", "SelectFpr", "SelectFromModel", "SelectFwe"),
    *("SelectKBest", "SelectPercentile", "SequentialFeatureSelector", "VarianceThreshold"),
)
TRANSFORMS: Mapping[str, Transform] = {
    **dict.fromkeys(SELECTIONS, selection),
    "FunctionTransformer": nothing,
    "IncrementalPCA": components,
    "KBinsDiscretizer": bins,
    "LinearDiscriminantAnalysis": discriminant,
    "MaxAbsScaler": largest_scaler,
    "MinMaxScaler": range_scaler,
    "Normalizer": normalizer,
    "OneHotEncoder": one_hot,
    "OrdinalEncoder": ordinal,
    "PCA": components,
    "PolynomialFeatures": polynomial,
    "PowerTransformer": power,
    "RobustScaler": robust_scaler,
    "SimpleImputer": imputer,
    "StandardScaler": standard_scaler,
    "TruncatedSVD": components,
}
