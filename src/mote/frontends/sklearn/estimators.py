"""The outputs of an estimator, and helpers that its readers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, classical, elementwise, moves
from mote.ir.graph.tensor import Array

LABEL, PROBABILITIES, SCORES, PREDICTION, DISTANCES, OUTPUT = (
    "label",
    "probabilities",
    "scores",
    "prediction",
    "distances",
    "output",
)
"""Names of model outputs."""

Estimator = Any
"""An estimator of a package that need not be installed."""


@dataclass(frozen=True)
class EstimatorOutputs:
    """The outputs by name, and the classes that labels are indices of."""

    values: Mapping[str, Value]
    classes: tuple[Any, ...] = ()
    decision: Value | None = None
    """The `decision_function` of the estimator, if it has one: a single score for two classes."""
    odds: Value | None = None
    """The log-odds of the second of two classes, where probabilities are their logistic function."""


Predict = Callable[[Builder, Estimator, Value], EstimatorOutputs]
Transform = Callable[[Builder, Estimator, Value], Value]


def reals(values: Any) -> Array:
    """Fitted attributes as float64."""
    if hasattr(values, "toarray"):
        values = values.toarray()
    return np.asarray(values, np.float64)


def classes_of(estimator: Estimator) -> tuple[Any, ...]:
    """The classes as Python objects."""
    classes = estimator.classes_
    if isinstance(classes, list):
        raise UnsupportedNodeError("a classifier with several outputs is not supported: compile one for each of them")
    return tuple(np.asarray(classes).tolist())


def scored(
    b: Builder, estimator: Estimator, scores: Value, probabilities: Value | None = None, *, logistic: bool = True
) -> EstimatorOutputs:
    """The outputs of a classifier from its scores: one per class, or a single one for two classes. `logistic`: whether
    probabilities are a logistic function of them."""
    label = classical.above(b, scores) if scores.shape[-1] == 1 else classical.best(b, scores)
    outputs = {SCORES: scores} if probabilities is None else {PROBABILITIES: probabilities}
    single = scores if scores.shape[-1] != 2 else _difference(b, scores)
    return EstimatorOutputs(
        {LABEL: label, **outputs},
        classes_of(estimator),
        single if hasattr(estimator, "decision_function") else None,
        single if logistic and probabilities is not None and single.shape[-1] == 1 else None,
    )


def _difference(b: Builder, scores: Value) -> Value:
    first, second = moves.split(b, scores, 1, [1, 1])
    return elementwise.sub(b, second, first)


def regression(b: Builder, values: Value) -> EstimatorOutputs:
    return EstimatorOutputs({PREDICTION: values})
