"""scikit-learn estimators, alone or composed: pipelines, columns, unions, voting, one-against-rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from mote.base.errors import MoteError, UnsupportedNodeError
from mote.frontends.build import Builder, Value, classical, elementwise, moves
from mote.frontends.model import Model
from mote.frontends.sklearn import boosters, ensembles, forests, linear, support, transforms, vectors
from mote.frontends.sklearn.estimators import (
    LABEL,
    OUTPUT,
    PREDICTION,
    PROBABILITIES,
    SCORES,
    Estimator,
    EstimatorOutputs,
    Predict,
    Transform,
    classes_of,
)
from mote.frontends.source import Source
from mote.frontends.trees.sklearn import are_trees, is_forest
from mote.ir.graph.types import DType

PREDICTIONS: Mapping[str, Predict] = {
    **linear.PREDICTIONS,
    **support.PREDICTIONS,
    **vectors.PREDICTIONS,
    **forests.PREDICTIONS,
    **boosters.PREDICTIONS,
}
TRANSFORMS: Mapping[str, Transform] = {**transforms.TRANSFORMS, **vectors.TRANSFORMS}
COMPOSITIONS = (
    *("AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor", "CalibratedClassifierCV"),
    *("ColumnTransformer", "FeatureUnion", "MultiOutputRegressor", "OneVsOneClassifier", "OneVsRestClassifier"),
    *("Pipeline", "RANSACRegressor", "StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor"),
)
"""Estimators that are composed of others."""
INPUT = "input"
PACKAGES = ("lightgbm.", "sklearn.", "xgboost.")
"""Packages whose estimators are read."""
SHOWN = 12
"""Number of classes that a warning lists."""


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
    """The model of an estimator for a number of samples at once. Forests take integers as they are."""
    b = Builder(where)
    x = b.input(
        INPUT, (samples, features), dtype, features=tuple(map(str, getattr(estimator, "feature_names_in_", ())))
    )
    reading = _Reading(b)
    try:
        if not is_forest(estimator):
            x = reading.real(x)
        outputs = reading.whole(estimator, x, "model")
    except _NoLayerError:
        return b.finish()
    if outputs.classes:
        b.warnings.append(f"'{LABEL}' is an index of the classes {_listed(outputs.classes)}")
    for name, value in outputs.values.items():
        shaped = _shaped(b, name, value)
        scores = shaped.shape[-1:] == (len(outputs.classes),)
        b.output(shaped, name, tuple(map(str, outputs.classes)) if name == LABEL or scores else ())
    return b.finish()


def _listed(classes: Sequence[Any]) -> str:
    more = f", .. ({len(classes)} in all)" if len(classes) > SHOWN else ""
    return ", ".join(f"{c}" for c in classes[:SHOWN]) + more


def _shaped(b: Builder, name: str, value: Value) -> Value:
    """An output without its last axis where it has one number per sample, as in scikit-learn."""
    single = name in (PREDICTION, SCORES) and value.shape[1:] == (1,)
    return moves.squeeze(b, value, [1]) if single else value


Made = TypeVar("Made", Value, EstimatorOutputs)


class _NoLayerError(Exception):
    """A layer cannot be compiled, which is recorded already."""


def known(estimator: Estimator, table: Mapping[str, Any]) -> str | None:
    """The first class in an estimator's MRO that a table has."""
    kinds = [kind.__name__ for kind in type(estimator).__mro__ if kind.__module__.startswith(PACKAGES)]
    return next((name for name in kinds if name in table), None)


@dataclass
class _Reading:
    """A model under construction."""

    b: Builder
    layers: int = 0

    def real(self, x: Value) -> Value:
        """Cast an integer input to float: a layer of its own."""
        if x.dtype == DType.FLOAT32:
            return x
        return self._layer("Cast", INPUT, lambda: elementwise.cast(self.b, x, DType.FLOAT32))

    def whole(self, estimator: Estimator, x: Value, name: str) -> EstimatorOutputs:
        """An estimator that is a model, or the last step of one."""
        kind = _kind(estimator)
        if kind == "Pipeline":
            *before, (last, final) = estimator.steps
            if inside := [_kind(part) for _, part in before if part not in (None, "passthrough")]:
                self.b.warnings.append(
                    f"{', '.join(inside)} {'is' if len(inside) == 1 else 'are'} inside of the model:"
                    " give it features as the pipeline takes them, not scaled"
                )
            for step, part in before:
                x = self.transformed(part, x, step)
            return self.whole(final, x, last)
        if kind == "RANSACRegressor":
            return self.whole(estimator.estimator_, x, name)
        composed = {
            "AdaBoostClassifier": self._boosted,
            "AdaBoostRegressor": self._median,
            "BaggingClassifier": self._bagged,
            "BaggingRegressor": self._bagged,
            "CalibratedClassifierCV": self._calibrated,
            "MultiOutputRegressor": self._side_by_side,
            "OneVsOneClassifier": self._one_against_one,
            "OneVsRestClassifier": self._one_against_rest,
            "StackingClassifier": self._stacked,
            "StackingRegressor": self._stacked,
            "VotingClassifier": self._votes,
            "VotingRegressor": self._mean,
        }
        if (composition := known(estimator, composed)) is not None and not is_forest(estimator):
            return composed[composition](estimator, x, name)
        if (predict := known(estimator, PREDICTIONS)) is not None:
            return self._layer(kind, name, lambda: PREDICTIONS[predict](self.b, estimator, x))
        return EstimatorOutputs({OUTPUT: self.transformed(estimator, x, name)})

    def transformed(self, estimator: Estimator, x: Value, name: str) -> Value:
        """The output of a transformer."""
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
        """A ColumnTransformer: columns through each transformer, concatenated."""
        parts, names = [], []
        for step, part, _ in estimator.transformers_:
            places = estimator._transformer_to_input_indices.get(step, [])
            if len(places) and not (isinstance(part, str) and part == "drop"):
                parts.append(self.transformed(part, self._taken(x, places, step), step))
                names.append(step)
        return self._joined(estimator, name, parts, names)

    def _taken(self, x: Value, places: Sequence[int], name: str) -> Value:
        """Selected columns: a layer of its own."""
        return self._layer("Columns", name, lambda: transforms.columns(self.b, x, places))

    def _union(self, estimator: Estimator, x: Value, name: str) -> Value:
        chosen = [(step, part) for step, part in estimator.transformer_list if part != "drop"]
        parts = [self.transformed(part, x, step) for step, part in chosen]
        return self._joined(estimator, name, parts, [step for step, _ in chosen])

    def _joined(self, estimator: Estimator, name: str, parts: Sequence[Value], names: Sequence[str]) -> Value:
        """Outputs of transformers, each multiplied by its weight, concatenated."""
        weights = estimator.transformer_weights or {}

        def join() -> Value:
            factors = [float(weights.get(step, 1.0)) for step in names]
            scaled = [elementwise.scaled(self.b, part, w) for part, w in zip(parts, factors, strict=True)]
            return moves.concat(self.b, scaled, -1)

        return self._layer(_kind(estimator), name, join)

    def _one_against_rest(self, estimator: Estimator, x: Value, name: str) -> EstimatorOutputs:
        """The scores of binary estimators, one for each class or one for two."""
        if estimator.multilabel_:
            return self._refused(estimator, name, "several labels at once are not supported")
        parts = [self.whole(part, x, f"{name}, class {i}") for i, part in enumerate(estimator.estimators_)]
        if any(part.decision is None and PROBABILITIES not in part.values for part in parts):
            return self._refused(estimator, name, "one of its classifiers has no scores")
        classes = classes_of(estimator)
        return self._layer(_kind(estimator), name, lambda: ensembles.best_of(self.b, parts, classes))

    def _votes(self, estimator: Estimator, x: Value, name: str) -> EstimatorOutputs:
        """Soft voting is the mean of the probabilities of several classifiers; in hard voting each decides for a
        class."""
        members = [self.whole(part, x, _kind(part)) for part in estimator.estimators_]
        weights, kind = ensembles.weights_of(estimator), _kind(estimator)
        if estimator.voting == "hard":
            return self._layer(kind, name, lambda: ensembles.majority(self.b, members, classes_of(estimator), weights))
        return self._layer(kind, name, lambda: ensembles.average(self.b, members, classes_of(estimator), weights))

    def _boosted(self, estimator: Estimator, x: Value, name: str) -> EstimatorOutputs:
        """AdaBoost of classifiers that are not trees."""
        members = [self.whole(part, x, f"{name}, {i}") for i, part in enumerate(estimator.estimators_)]
        weights = [float(w) for w in estimator.estimator_weights_[: len(members)]]
        return self._layer(
            _kind(estimator), name, lambda: ensembles.boosted(self.b, members, classes_of(estimator), weights)
        )

    def _median(self, estimator: Estimator, x: Value, name: str) -> EstimatorOutputs:
        """AdaBoost of regressors: the median of their predictions, by weight."""
        parts = estimator.estimators_
        weights = [float(w) for w in estimator.estimator_weights_[: len(parts)]]
        if are_trees(parts):
            members = [self._layer(_kind(estimator), name, lambda: forests.predictions(self.b, parts, x))]
        else:
            members = [self.whole(part, x, f"{name}, {i}") for i, part in enumerate(parts)]
        return self._layer(_kind(estimator), name, lambda: ensembles.median(self.b, members, weights))

    def _bagged(self, estimator: Estimator, x: Value, name: str) -> EstimatorOutputs:
        """The mean of estimators, each of some of the features."""
        members = [
            self.whole(part, self._taken(x, places, f"{name}, {i}"), f"{name}, {i}")
            for i, (part, places) in enumerate(zip(estimator.estimators_, estimator.estimators_features_, strict=True))
        ]
        if not hasattr(estimator, "classes_"):
            weights = [1.0] * len(members)
            return self._layer(_kind(estimator), name, lambda: ensembles.mean_prediction(self.b, members, weights))
        voting = [not hasattr(part, "predict_proba") for part in estimator.estimators_]
        return self._layer(
            _kind(estimator), name, lambda: ensembles.bagged(self.b, members, classes_of(estimator), voting)
        )

    def _stacked(self, estimator: Estimator, x: Value, name: str) -> EstimatorOutputs:
        """Estimators whose outputs are the features of a final one, with those of the model where `passthrough`."""
        members = [self.whole(part, x, _kind(part)) for part in estimator.estimators_]
        given = [x] if estimator.passthrough else []
        classifies = hasattr(estimator, "classes_")

        def join() -> Value:
            count = len(classes_of(estimator)) if classifies else 0
            pairs = zip(members, estimator.stack_method_, strict=True)
            return moves.concat(self.b, [*(ensembles.stacked(self.b, *pair, count) for pair in pairs), *given], -1)

        joined = self._layer(_kind(estimator), name, join)
        outputs = self.whole(estimator.final_estimator_, joined, "final_estimator")
        return replace(outputs, classes=classes_of(estimator)) if classifies else outputs

    def _mean(self, estimator: Estimator, x: Value, name: str) -> EstimatorOutputs:
        """The mean of several regressors."""
        members = [self.whole(part, x, _kind(part)) for part in estimator.estimators_]
        weights = ensembles.weights_of(estimator)
        return self._layer(_kind(estimator), name, lambda: ensembles.mean_prediction(self.b, members, weights))

    def _side_by_side(self, estimator: Estimator, x: Value, name: str) -> EstimatorOutputs:
        """A regressor for each output."""
        members = [self.whole(part, x, f"{name}, output {i}") for i, part in enumerate(estimator.estimators_)]

        def join() -> EstimatorOutputs:
            return EstimatorOutputs({PREDICTION: moves.concat(self.b, ensembles.predictions(members), -1)})

        return self._layer(_kind(estimator), name, join)

    def _one_against_one(self, estimator: Estimator, x: Value, name: str) -> EstimatorOutputs:
        """One-against-one: an estimator for every pair of classes, which decides for the second one where its score is
        above zero."""
        if estimator.n_features_in_ != x.shape[-1] or estimator.pairwise_indices_ is not None:
            return self._refused(estimator, name, "kernels that are computed before are not supported")
        parts = [self.whole(part, x, f"{name}, pair {i}").decision for i, part in enumerate(estimator.estimators_)]
        scores = [part for part in parts if part is not None]
        if len(scores) < len(parts):
            return self._refused(estimator, name, "one of its classifiers has no decision_function")
        classes = classes_of(estimator)

        def choose() -> EstimatorOutputs:
            decided = elementwise.neg(self.b, moves.concat(self.b, scores, -1))
            if len(classes) == 2:
                return EstimatorOutputs(
                    {LABEL: classical.above(self.b, scores[0]), SCORES: scores[0]}, classes, scores[0]
                )
            votes = classical.one_against_rest(self.b, decided, classical.votes(self.b, decided, len(classes)))
            return EstimatorOutputs({LABEL: classical.best(self.b, votes), SCORES: votes}, classes, votes)

        return self._layer(_kind(estimator), name, choose)

    def _calibrated(self, estimator: Estimator, x: Value, name: str) -> EstimatorOutputs:
        """The mean of calibrated classifiers, whose scores become probabilities by a logistic function for each
        class."""
        parts = estimator.calibrated_classifiers_
        if any(type(c).__name__ != "_SigmoidCalibration" for part in parts for c in part.calibrators):
            return self._refused(estimator, name, "only the method sigmoid is supported")
        scores = [self._response(part.estimator, x, f"{name}, fold {i}") for i, part in enumerate(parts)]
        if any(score is None for score in scores):
            return self._refused(estimator, name, "its classifier has no scores")
        classes = classes_of(estimator)

        def mean() -> EstimatorOutputs:
            pairs = zip(scores, parts, strict=True)
            chances = [ensembles.logistic(self.b, score, part.calibrators) for score, part in pairs if score]
            total = ensembles.mean(self.b, chances, [1.0] * len(chances))
            return EstimatorOutputs({LABEL: classical.best(self.b, total), PROBABILITIES: total}, classes)

        return self._layer(_kind(estimator), name, mean)

    def _response(self, estimator: Estimator, x: Value, name: str) -> Value | None:
        """The `decision_function`, else the probabilities: for two classes that of the second one."""
        outputs = self.whole(estimator, x, name)
        chances = outputs.values.get(PROBABILITIES)
        if outputs.decision is not None or chances is None or len(outputs.classes) > 2:
            return outputs.decision if outputs.decision is not None else chances
        return self._layer(_kind(estimator), name, lambda: moves.slice_(self.b, chances, 1, 1, 1))

    def _refused(self, estimator: Estimator, name: str, reason: str) -> EstimatorOutputs:
        def refuse() -> EstimatorOutputs:
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
