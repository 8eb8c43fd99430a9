"""Estimators of scikit-learn, alone or put together: pipelines, columns, unions, votes, one class against the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from mote.errors import MoteError, UnsupportedNodeError
from mote.frontends.build import Builder, Value, classical, elementwise, moves
from mote.frontends.model import Model
from mote.frontends.sklearn import forests, linear, support, transforms, vectors
from mote.frontends.sklearn.found import (
    LABEL,
    OUTPUT,
    PREDICTION,
    PROBABILITIES,
    SCORES,
    Estimator,
    Found,
    Predict,
    Transform,
    classes_of,
)
from mote.frontends.source import Source
from mote.graph.types import DType

PREDICTIONS: Mapping[str, Predict] = {
    **linear.PREDICTIONS,
    **support.PREDICTIONS,
    **vectors.PREDICTIONS,
    **forests.PREDICTIONS,
}
TRANSFORMS: Mapping[str, Transform] = {**transforms.TRANSFORMS, **vectors.TRANSFORMS}
COMPOSITIONS = ("ColumnTransformer", "FeatureUnion", "OneVsRestClassifier", "Pipeline", "VotingClassifier")
"""Estimators that are made of others."""
INPUT = "input"
SHOWN = 12
"""So many classes are listed."""


def read(source: Source) -> Model:
    estimator: Estimator = source.origin
    if estimator is None:
        raise MoteError(
            "an estimator of scikit-learn is read from the object", remedy="give mote.compile the estimator"
        )
    features = getattr(estimator, "n_features_in_", None)
    if features is None:
        raise MoteError("the estimator is not fitted", remedy="call fit before")
    return model_of(estimator, int(features), source.where, dtype=DType(source.features))


def model_of(estimator: Estimator, features: int, where: str, samples: int = 1, dtype: DType = DType.FLOAT32) -> Model:
    """The model of an estimator for so many samples at once. Forests take integers as they are."""
    b = Builder(where)
    x = b.input(INPUT, (samples, features), dtype)
    if known(estimator, forests.PREDICTIONS) is None:
        x = elementwise.cast(b, x, DType.FLOAT32)
    try:
        found = _Reading(b).whole(estimator, x, "model")
    except _NoLayerError:
        return b.finish()
    if found.classes:
        b.warnings.append(f"'{LABEL}' is an index of the classes {_listed(found.classes)}")
    for name, value in found.values.items():
        b.output(_shaped(b, name, value), name, tuple(map(str, found.classes)) if name == LABEL else ())
    return b.finish()


def _listed(classes: Sequence[Any]) -> str:
    more = f", .. ({len(classes)} in all)" if len(classes) > SHOWN else ""
    return ", ".join(f"{c}" for c in classes[:SHOWN]) + more


def _shaped(b: Builder, name: str, value: Value) -> Value:
    """A single number for a sample has no axis of its own, as the estimator gives it."""
    single = name in (PREDICTION, SCORES) and value.shape[1:] == (1,)
    return moves.squeeze(b, value, [1]) if single else value


Made = TypeVar("Made", Value, Found)


class _NoLayerError(Exception):
    """A layer cannot be compiled, and says so itself: nothing follows from it."""


def known(estimator: Estimator, table: Mapping[str, Any]) -> str | None:
    """The name of the first class that an estimator comes from that a table has."""
    kinds = [kind.__name__ for kind in type(estimator).__mro__ if kind.__module__.startswith("sklearn.")]
    return next((name for name in kinds if name in table), None)


@dataclass
class _Reading:
    """A model as far as it was read."""

    b: Builder
    layers: int = 0

    def whole(self, estimator: Estimator, x: Value, name: str) -> Found:
        """An estimator that is a model, or the last step of one."""
        kind = _kind(estimator)
        if kind == "Pipeline":
            *before, (last, final) = estimator.steps
            for step, part in before:
                x = self.transformed(part, x, step)
            return self.whole(final, x, last)
        if kind == "OneVsRestClassifier":
            return self._one_against_rest(estimator, x, name)
        if kind == "VotingClassifier":
            return self._votes(estimator, x, name)
        if (predict := known(estimator, PREDICTIONS)) is not None:
            return self._layer(kind, name, lambda: PREDICTIONS[predict](self.b, estimator, x))
        return Found({OUTPUT: self.transformed(estimator, x, name)})

    def transformed(self, estimator: Estimator, x: Value, name: str) -> Value:
        """What a step makes of its input."""
        kind = _kind(estimator)
        if estimator is None or (isinstance(estimator, str) and estimator == "passthrough"):
            return x
        if kind == "Pipeline":
            for step, part in estimator.steps:
                x = self.transformed(part, x, step)
            return x
        if kind == "ColumnTransformer":
            return self._columns(estimator, x, name)
        if kind == "FeatureUnion":
            return self._union(estimator, x, name)
        transform = known(estimator, TRANSFORMS)
        if transform is None:
            return self._layer(kind, name, _refuse)
        return self._layer(kind, name, lambda: TRANSFORMS[transform](self.b, estimator, x))

    def _columns(self, estimator: Estimator, x: Value, name: str) -> Value:
        """Some columns through each transformer, side by side."""
        parts, names = [], []
        for step, part, _ in estimator.transformers_:
            places = estimator._transformer_to_input_indices.get(step, [])
            if len(places) and not (isinstance(part, str) and part == "drop"):
                parts.append(self.transformed(part, self._taken(x, places, step), step))
                names.append(step)
        return self._joined(estimator, name, parts, names)

    def _taken(self, x: Value, places: Sequence[int], name: str) -> Value:
        """Some columns: a layer of its own."""
        return self._layer("Columns", name, lambda: transforms.columns(self.b, x, places))

    def _union(self, estimator: Estimator, x: Value, name: str) -> Value:
        chosen = [(step, part) for step, part in estimator.transformer_list if part != "drop"]
        parts = [self.transformed(part, x, step) for step, part in chosen]
        return self._joined(estimator, name, parts, [step for step, _ in chosen])

    def _joined(self, estimator: Estimator, name: str, parts: Sequence[Value], names: Sequence[str]) -> Value:
        """What transformers made, each times its weight, side by side."""
        weights = estimator.transformer_weights or {}

        def join() -> Value:
            factors = [float(weights.get(step, 1.0)) for step in names]
            scaled = [elementwise.scaled(self.b, part, w) for part, w in zip(parts, factors, strict=True)]
            return moves.concat(self.b, scaled, -1)

        return self._layer(_kind(estimator), name, join)

    def _one_against_rest(self, estimator: Estimator, x: Value, name: str) -> Found:
        """The scores of estimators that decide for one class each, or between two."""
        if estimator.multilabel_:
            return self._refused(estimator, name, "several labels at once are not supported")
        parts = [self.whole(part, x, f"{name}, class {i}") for i, part in enumerate(estimator.estimators_)]
        if any(part.decision is None and PROBABILITIES not in part.values for part in parts):
            return self._refused(estimator, name, "one of its classifiers gives no scores")
        classes = classes_of(estimator)
        return self._layer(_kind(estimator), name, lambda: _best_of(self.b, parts, classes))

    def _votes(self, estimator: Estimator, x: Value, name: str) -> Found:
        """The mean of the probabilities of several classifiers."""
        if estimator.voting != "soft":
            return self._refused(estimator, name, "only soft voting is supported")
        given = np.ones(len(estimator.estimators)) if estimator.weights is None else np.array(estimator.weights)
        weights = [float(w) for w, (_, part) in zip(given, estimator.estimators, strict=True) if part != "drop"]
        found = [self.whole(part, x, _kind(part)).values for part in estimator.estimators_]
        if any(PROBABILITIES not in values for values in found):
            return self._refused(estimator, name, "one of its classifiers gives no probabilities")
        classes = classes_of(estimator)

        def mean() -> Found:
            total = elementwise.scaled(self.b, found[0][PROBABILITIES], weights[0] / sum(weights))
            for values, weight in zip(found[1:], weights[1:], strict=True):
                own = elementwise.scaled(self.b, values[PROBABILITIES], weight / sum(weights))
                total = elementwise.add(self.b, total, own)
            return Found({LABEL: classical.best(self.b, total), PROBABILITIES: total}, classes)

        return self._layer(_kind(estimator), name, mean)

    def _refused(self, estimator: Estimator, name: str, reason: str) -> Found:
        def refuse() -> Found:
            raise UnsupportedNodeError(reason)

        return self._layer(_kind(estimator), name, refuse)

    def _layer(self, kind: str, name: str, make: Callable[[], Made]) -> Made:
        """One estimator is one layer."""
        made: list[Made] = []
        with self.b.layer(self.layers, kind, name):
            made.append(make())
        self.layers += 1
        if not made:
            raise _NoLayerError
        return made[0]


def _kind(estimator: Estimator) -> str:
    return type(estimator).__name__


def _refuse() -> Value:
    raise UnsupportedNodeError("Mote has no such estimator yet")


def _best_of(b: Builder, parts: Sequence[Found], classes: tuple[Any, ...]) -> Found:
    """The class whose own estimator says most: by what it decides by, else by its probabilities. Of two classes one
    estimator decides."""
    probable = all(PROBABILITIES in part.values for part in parts)
    decisions = [part.decision for part in parts if part.decision is not None]
    by_score = len(decisions) == len(parts)
    chances = [moves.slice_(b, part.values[PROBABILITIES], 1, 1, 1) for part in parts] if probable else []
    shown = moves.concat(b, chances, -1) if probable else None
    deciding = moves.concat(b, decisions, -1) if by_score else shown
    assert deciding is not None
    if len(parts) > 1:
        label = classical.best(b, deciding)
        given = {SCORES: deciding} if shown is None else {PROBABILITIES: classical.shares(b, shown)}
    else:
        label = classical.above(b, deciding, 0.0 if by_score else 0.5)
        both = None if shown is None else moves.concat(b, [elementwise.scaled(b, shown, -1, 1), shown], -1)
        given = {SCORES: deciding} if both is None else {PROBABILITIES: both}
    return Found({LABEL: label, **given}, classes)
