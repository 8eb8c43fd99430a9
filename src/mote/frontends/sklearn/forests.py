"""Decision trees, forests and boosting."""

from __future__ import annotations

from collections.abc import Mapping

from mote.frontends.build import Builder, Value
from mote.frontends.sklearn.estimators import Estimator, EstimatorOutputs, Predict
from mote.frontends.trees.build import forest
from mote.frontends.trees.sklearn import READERS, forest_of


def predict(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    described = forest_of(estimator)
    assert described is not None
    answer = forest(b, x, described)
    return EstimatorOutputs(answer.values, described.classes or ())


PREDICTIONS: Mapping[str, Predict] = dict.fromkeys(READERS, predict)
