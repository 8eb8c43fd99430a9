"""Outputs of composed estimators, from those of their members: means, votes, medians, calibrated probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, classical, elementwise, indexing, moves, norms, reductions
from mote.frontends.sklearn.estimators import (
    LABEL,
    PREDICTION,
    PROBABILITIES,
    SCORES,
    Estimator,
    EstimatorOutputs,
    regression,
)

EXACT = 1 << 24
"""Sums of whole numbers up to this are exact in float32."""


def weights_of(estimator: Estimator) -> list[float]:
    """The weight of each estimator."""
    given = np.ones(len(estimator.estimators)) if estimator.weights is None else np.array(estimator.weights)
    return [float(w) for w, (_, part) in zip(given, estimator.estimators, strict=True) if part != "drop"]


def mean(b: Builder, values: Sequence[Value], weights: Sequence[float]) -> Value:
    """The weighted mean of values."""
    total = elementwise.scaled(b, values[0], weights[0] / sum(weights))
    for value, weight in zip(values[1:], weights[1:], strict=True):
        total = elementwise.add(b, total, elementwise.scaled(b, value, weight / sum(weights)))
    return total


def logistic(b: Builder, scores: Value, calibrators: Sequence[Any]) -> Value:
    """Calibrated probabilities from scores, one per class or one for the second of two."""
    slopes, offsets = (np.array([float(getattr(c, name)) for c in calibrators]) for name in ("a_", "b_"))
    steep = classical.shifted(b, scores, None, -slopes)
    moved = elementwise.sub(b, steep, b.constant(offsets.astype(np.float32)))
    return classical.pair(b, moved) if len(calibrators) == 1 else classical.shares(b, elementwise.sigmoid(b, moved))


def best_of(b: Builder, parts: Sequence[EstimatorOutputs], classes: tuple[Any, ...]) -> EstimatorOutputs:
    """The class whose own estimator has the largest decision value, or else probability. One estimator decides between
    two classes."""
    decisions, odds = _all([part.decision for part in parts]), _all([part.odds for part in parts])
    probable = all(PROBABILITIES in part.values for part in parts)
    chances = [moves.slice_(b, part.values[PROBABILITIES], 1, 1, 1) for part in parts] if probable and not odds else []
    deciding = moves.concat(b, decisions or odds or chances, -1)
    if not probable:
        shown = None
    elif odds:
        joined = moves.concat(b, odds, -1)
        shown = classical.pair(b, joined) if len(parts) == 1 else classical.shares_of_odds(b, joined)
    else:
        joined = moves.concat(b, chances, -1)
        both = [elementwise.scaled(b, joined, -1, 1), joined]
        shown = moves.concat(b, both, -1) if len(parts) == 1 else classical.shares(b, joined)
    single = classical.above(b, deciding, 0.0 if decisions or odds else 0.5) if len(parts) == 1 else None
    label = classical.best(b, deciding) if single is None else single
    return EstimatorOutputs(
        {LABEL: label, **({SCORES: deciding} if shown is None else {PROBABILITIES: shown})}, classes
    )


def _all(values: Sequence[Value | None]) -> list[Value]:
    """The values, if none is missing; else an empty list."""
    present = [value for value in values if value is not None]
    return present if len(present) == len(values) else []


def voted(b: Builder, members: Sequence[EstimatorOutputs], classes: Sequence[Any], weights: Sequence[float]) -> Value:
    """[samples, classes]: the sum of the weights of the members that decide for a class."""
    chosen = [classical.matches(b, part.values[LABEL], _places(part.classes, classes)) for part in members]
    total = elementwise.scaled(b, chosen[0], weights[0])
    for value, weight in zip(chosen[1:], weights[1:], strict=True):
        total = elementwise.add(b, total, elementwise.scaled(b, value, weight))
    return total


def _places(own: Sequence[Any], classes: Sequence[Any]) -> list[int]:
    """The index that each class has in a member; -1 where the member was fitted without it."""
    return [list(own).index(c) if c in own else -1 for c in classes]


def shares_of(b: Builder, member: EstimatorOutputs, classes: Sequence[Any]) -> Value:
    """The probabilities of a member, or its vote where it has none, for all classes of the ensemble."""
    if PROBABILITIES not in member.values:
        return voted(b, [member], classes, [1.0])
    chances, places = member.values[PROBABILITIES], _places(member.classes, classes)
    if places == list(range(chances.shape[-1])):
        return chances
    matrix = np.array([[float(place == column) for column in range(chances.shape[-1])] for place in places])
    return classical.affine(b, chances, matrix, None)


def majority(
    b: Builder, members: Sequence[EstimatorOutputs], classes: tuple[Any, ...], weights: Sequence[float]
) -> EstimatorOutputs:
    """The class that most of the weights decide for: the first of equal ones."""
    return EstimatorOutputs({LABEL: classical.best(b, voted(b, members, range(len(classes)), weights))}, classes)


def average(
    b: Builder, members: Sequence[EstimatorOutputs], classes: tuple[Any, ...], weights: Sequence[float]
) -> EstimatorOutputs:
    """The weighted mean of the probabilities of members that were fitted on indices of classes."""
    if any(PROBABILITIES not in part.values for part in members):
        raise UnsupportedNodeError("one of its classifiers has no probabilities")
    total = mean(b, [shares_of(b, part, range(len(classes))) for part in members], weights)
    return EstimatorOutputs({LABEL: classical.best(b, total), PROBABILITIES: total}, classes)


def bagged(
    b: Builder, members: Sequence[EstimatorOutputs], classes: tuple[Any, ...], voting: Sequence[bool]
) -> EstimatorOutputs:
    """The mean of the probabilities of classifiers; those that have none vote."""
    if any(PROBABILITIES not in part.values and not votes for part, votes in zip(members, voting, strict=True)):
        raise UnsupportedNodeError("Mote does not compute the probabilities of one of its classifiers")
    weights = [1.0] * len(members)
    total = mean(b, [shares_of(b, part, range(len(classes))) for part in members], weights)
    decisions = _all([part.decision for part in members if len(part.classes) == len(classes)])
    decision = mean(b, decisions, weights) if len(decisions) == len(members) else None
    return EstimatorOutputs({LABEL: classical.best(b, total), PROBABILITIES: total}, classes, decision)


def mean_prediction(b: Builder, members: Sequence[EstimatorOutputs], weights: Sequence[float]) -> EstimatorOutputs:
    """The weighted mean of regressors."""
    return regression(b, mean(b, predictions(members), weights))


def predictions(members: Sequence[EstimatorOutputs]) -> list[Value]:
    """The predictions of members that are regressors."""
    if any(PREDICTION not in part.values for part in members):
        raise UnsupportedNodeError("one of its estimators is not a regressor")
    return [part.values[PREDICTION] for part in members]


def boosted(
    b: Builder, members: Sequence[EstimatorOutputs], classes: tuple[Any, ...], weights: Sequence[float]
) -> EstimatorOutputs:
    """AdaBoost: each member votes for its class, and against each other one with an equal share of its weight."""
    others = len(classes) - 1
    if not others:
        raise UnsupportedNodeError("a classifier of a single class is not supported")
    votes = voted(b, members, classes, [w / sum(weights) for w in weights])
    if others == 1:
        first, second = moves.split(b, votes, 1, [1, 1])
        scores = elementwise.scaled(b, elementwise.sub(b, second, first), 2.0)
        label, chances = classical.above(b, scores), classical.pair(b, scores)
        return EstimatorOutputs({LABEL: label, PROBABILITIES: chances}, classes, scores, scores)
    scores = elementwise.scaled(b, votes, len(classes) / others, -1 / others)
    chances = norms.softmax(b, elementwise.scaled(b, scores, 1 / others))
    return EstimatorOutputs({LABEL: classical.best(b, votes), PROBABILITIES: chances}, classes, scores)


def median(b: Builder, members: Sequence[EstimatorOutputs], weights: Sequence[float]) -> EstimatorOutputs:
    """The smallest prediction at which the weights of it and of all smaller ones add up to half of all. The weights are
    whole numbers here, so that equal ones add up to exactly one half."""
    values = moves.concat(b, predictions(members), -1)
    parts = np.array(weights) / sum(weights)
    whole = np.round(parts * (EXACT / 2)).astype(np.float32)
    ascending, order = reductions.top_k(b, values, len(weights), largest=False)
    reached = reductions.cumulative_sum(b, indexing.gather(b, b.constant(whole), 0, order), -1)
    half = elementwise.scalar(b, float(whole.sum(dtype=np.float64)) / 2)
    beyond = elementwise.scalar(b, float(np.finfo(np.float32).max))
    candidates = elementwise.where(b, elementwise.less(b, reached, half), beyond, ascending)
    return regression(b, reductions.minimum(b, candidates, [-1], True))


def stacked(b: Builder, member: EstimatorOutputs, method: str, classes: int) -> Value:
    """The features that a member gives to the final estimator. `classes`: how many the ensemble has, or 0."""
    if method == "predict_proba" and PROBABILITIES in member.values:
        chances = member.values[PROBABILITIES]
        return moves.slice_(b, chances, 1, 1, chances.shape[1] - 1) if classes == 2 else chances
    if method == "decision_function" and member.decision is not None:
        return member.decision
    if method == "predict" and PREDICTION in member.values:
        return member.values[PREDICTION]
    if method == "predict" and member.classes:
        return _numbers(b, member)
    raise UnsupportedNodeError(f"one of its estimators has no {method}")


def _numbers(b: Builder, member: EstimatorOutputs) -> Value:
    """[samples, 1]: the class that a member decides for, as the number that it is."""
    if not all(isinstance(c, int | float) for c in member.classes):
        raise UnsupportedNodeError("one of its estimators predicts classes that are no numbers")
    numbers = b.constant(np.array(member.classes, np.float32))
    return moves.unsqueeze(b, indexing.gather(b, numbers, 0, member.values[LABEL]), [1])
