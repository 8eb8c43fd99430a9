"""Decision trees, forests and boosting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mote.frontends.build import Builder, Value, elementwise
from mote.frontends.sklearn.estimators import Estimator, EstimatorOutputs, Predict
from mote.frontends.trees.build import forest
from mote.frontends.trees.sklearn import READERS, forest_of, side_by_side


def predict(b: Builder, estimator: Estimator, x: Value) -> EstimatorOutputs:
    described = forest_of(estimator)
    made = forest(b, x, described)
    decision = made.decision if hasattr(estimator, "decision_function") else None
    if decision is not None and hasattr(estimator, "estimator_weights_") and decision.shape[-1] > 1:
        others = decision.shape[-1] - 1
        decision = elementwise.scaled(b, decision, others, -1 / others)
    return EstimatorOutputs(made.values, described.classes or (), decision)


def predictions(b: Builder, trees: Sequence[Estimator], x: Value) -> EstimatorOutputs:
    """The prediction of each of some regression trees, side by side."""
    return EstimatorOutputs(forest(b, x, side_by_side(trees)).values)


PREDICTIONS: Mapping[str, Predict] = dict.fromkeys(READERS, predict)
