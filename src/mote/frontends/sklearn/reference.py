"""scikit-learn as the reference of `verify`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.base.extras import installed, quiet, require, version_of
from mote.frontends.sklearn.estimators import DISTANCES, LABEL, OUTPUT, PREDICTION, PROBABILITIES, SCORES
from mote.frontends.sklearn.reader import INPUT
from mote.frontends.source import Source
from mote.ir.graph.tensor import Array

Run = Callable[[Mapping[str, Array]], Mapping[str, Array]]


def reference(source: Source, names: Collection[str]) -> tuple[str, Run] | None:
    """The estimator that the model was made from, and a function that computes its outputs."""
    estimator: Any = source.origin
    if estimator is None or not installed("sklearn"):
        return None

    def run(inputs: Mapping[str, Array]) -> dict[str, Array]:
        x = _given(estimator, inputs[INPUT])
        try:
            with quiet():
                return {name: _output(estimator, name, x) for name in names & OUTPUTS.keys()}
        except ValueError as error:
            raise MoteError(
                f"scikit-learn refuses an input that is tried: {' '.join(str(error).split())}",
                where=source.where,
                remedy="compare with samples that the estimator takes: mote.run(compiled, inputs=...)",
            ) from None

    return f"scikit-learn {version_of('scikit-learn')}", run


def _given(estimator: Any, x: Array) -> Any:
    """The input as float64, with column names where the estimator was fitted with them."""
    wide = x.astype(np.float64)
    if hasattr(estimator, "feature_names_in_") and installed("pandas"):
        return require("pandas").DataFrame(wide, columns=estimator.feature_names_in_)
    return wide


def _output(estimator: Any, name: str, x: Any) -> Array:
    return np.asarray(OUTPUTS[name](estimator, x))


def label(estimator: Any, x: Any) -> Array:
    """The index of the class, or of the cluster."""
    predicted = np.asarray(estimator.predict(x))
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        outliers = hasattr(estimator, "offset_")
        return (predicted > 0).astype(np.int32) if outliers else predicted.astype(np.int32)
    return np.searchsorted(classes, predicted).astype(np.int32)


OUTPUTS: Mapping[str, Callable[[Any, Any], Any]] = {
    LABEL: label,
    PROBABILITIES: lambda estimator, x: estimator.predict_proba(x),
    SCORES: lambda estimator, x: estimator.decision_function(x),
    PREDICTION: lambda estimator, x: estimator.predict(x),
    DISTANCES: lambda estimator, x: estimator.transform(x),
    OUTPUT: lambda estimator, x: _dense(estimator.transform(x)),
}
"""Functions that compute each output."""


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else values
