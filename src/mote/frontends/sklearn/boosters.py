"""Estimators of XGBoost and LightGBM as parts of estimators of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value
from mote.frontends.sklearn.estimators import Estimator, EstimatorOutputs, Predict, classes_of
from mote.frontends.source import Source
from mote.frontends.trees import boosters as sources
from mote.frontends.trees import lightgbm, xgboost
from mote.frontends.trees.build import forest
from mote.frontends.trees.files import checked
from mote.frontends.trees.forest import TreeEnsemble


def _reader(source_of: Callable[[Estimator], Source], forest_of: Callable[[Source], TreeEnsemble]) -> Predict:
    def predict(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
        source = source_of(estimator)
        described = checked(source, lambda: forest_of(source))
        if not hasattr(estimator, "classes_"):
            return EstimatorOutputs(forest(b, x, replace(described, classes=None)).values)
        if described.classes is None:
            raise UnsupportedNodeError("a classifier with an objective that is none of classes is not supported")
        made = forest(b, x, described)
        decision = made.decision if hasattr(estimator, "decision_function") else None
        return EstimatorOutputs(made.values, classes_of(estimator), decision)

    return predict


PREDICTIONS: Mapping[str, Predict] = {
    "LGBMModel": _reader(sources.of_lightgbm, lightgbm.forest_of),
    "XGBModel": _reader(sources.of_xgboost, xgboost.forest_of),
}
